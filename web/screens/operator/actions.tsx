import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { RecordedOperation } from '../../../src/vocabulary/recorded-operation.ts'
import { actionsQuery, type OperatorAction } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { listTime } from '../../format/time.ts'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useTitle } from '../../parts/use-title.ts'

const HEADS = [
  { text: 'Change' },
  { text: 'Amount', className: 'num' },
  { text: 'Of' },
  { text: 'Time, operator' },
] as const

/** Every change by operators, newest first. */
export function AuditLogScreen() {
  useTitle('Audit log')
  return (
    <>
      <div className="top">
        <h1>Audit log</h1>
      </div>
      <Actions accountId={null} />
    </>
  )
}

/** What operators changed: on one account, or at all. */
export function Actions({ accountId }: { accountId: string | null }) {
  const query = useInfiniteQuery(actionsQuery(accountId))
  const actions = query.data?.pages.flatMap(({ data }) => data)
  return (
    <ListCard
      label="Audit log"
      {...(accountId === null
        ? {}
        : {
            header: (
              <header className="pb-2">
                <h2>Audit log</h2>
              </header>
            ),
          })}
      query={query}
      rows={actions}
      failed="The audit log could not be loaded."
      empty={
        <Empty title="No changes recorded yet.">
          <p>Changes made by operators appear here.</p>
        </Empty>
      }
      heads={HEADS}
      greyRows={4}
      row={(action) => <ActionRow key={action.id} action={action} />}
    >
      <Older query={query} shown={`The newest ${actions?.length}`} text="Older changes" />
    </ListCard>
  )
}

function ActionRow({ action }: { action: OperatorAction }) {
  const at = new Date(action.created_at)
  const { target_id: targetId, account_id: id } = action
  return (
    <tr>
      <td>
        <b>{actionWords(action)}</b>
        <span className="two">{detailWords(action)}</span>
      </td>
      <td className="num">
        {action.amount !== null && money(action.amount, action.action === 'settleRequest' ? 4 : 2)}
      </td>
      <td className="mono wide break-all">
        {id === null ? (
          targetId
        ) : (
          <Link className="hover:underline" to="/operator/accounts/$id" params={{ id }}>
            {targetId ?? id}
          </Link>
        )}
      </td>
      <td className="text-ink-2">
        <Time at={at}>{listTime(at, new Date())}</Time>
        <span className="two">{action.user_name ?? `token ${action.token_name}`}</span>
      </td>
    </tr>
  )
}

type Words = string | ((action: Pick<OperatorAction, 'amount' | 'detail'>) => string)

// Total: a new operation without words does not compile.
const WORDS: Readonly<Record<RecordedOperation, Words>> = {
  addCredit: ({ amount }) => ((amount ?? 0) < 0 ? 'Credit removed' : 'Credit added'),
  changeAccount: ({ detail }) =>
    detail['disabled'] === undefined
      ? 'Account changed'
      : detail['disabled'] === true
        ? 'Account suspended'
        : 'Account resumed',
  changeKey: ({ detail }) =>
    detail['disabled'] === undefined
      ? 'Key changed'
      : detail['disabled'] === true
        ? 'Key disabled'
        : 'Key enabled',
  changeMember: 'Role changed',
  changeWebhook: ({ detail }) =>
    detail['disabled'] === undefined
      ? 'Webhook changed'
      : detail['disabled'] === true
        ? 'Webhook disabled'
        : 'Webhook enabled',
  checkSale: 'Sale of credit checked',
  createAccount: 'Account created',
  createAdminToken: 'Admin token created',
  createCode: 'Credit code created',
  createInvitation: 'Invitation link created',
  createKey: 'Key created',
  createOwnAccount: 'Own account created',
  createPurchase: 'Purchase started',
  createResetLink: 'Password link created',
  createWebhook: 'Webhook created',
  creditPurchase: 'Purchase approved',
  deleteKey: 'Key deleted',
  deleteWebhook: 'Webhook deleted',
  dismissPurchase: 'Purchase dismissed',
  inviteMember: 'Member invited',
  leaveAccount: 'Account left',
  playground: 'Playground used',
  redeemCode: 'Credit code redeemed',
  refreshCatalog: ({ detail }) =>
    REFRESH_WORDS[String(detail['outcome'])] ?? 'Catalog refresh requested',
  removeMember: 'Member removed',
  removeUser: 'User removed',
  revokeAdminToken: 'Admin token revoked',
  revokeCode: 'Credit code revoked',
  setMaintenance: ({ detail }) =>
    detail['enabled'] === true ? 'Maintenance turned on' : 'Maintenance turned off',
  settleRequest: 'Request settled',
  testWebhook: 'Test message sent',
  withdrawInvitation: 'Invitation withdrawn',
}

const REFRESH_WORDS: Readonly<Record<string, string>> = {
  refreshed: 'Catalog refreshed',
  failed: 'Catalog refresh failed',
}

/** The change in words. A name of an older or newer release that has none is shown as it is. */
function actionWords(action: OperatorAction): string {
  const words = isRecorded(action.action) ? WORDS[action.action] : action.action
  return typeof words === 'string' ? words : words(action)
}

function isRecorded(name: string): name is RecordedOperation {
  return Object.hasOwn(WORDS, name)
}

const SHOWN: readonly (readonly [field: string, word: string])[] = [
  ['name', ''],
  ['email', ''],
  ['reference', ''],
  ['note', ''],
  ['purse', ''],
  ['provider_cost', 'cost $'],
  ['credit_limit', 'limit '],
  ['expires_at', 'expires '],
  ['models', 'models: '],
  ['host', ''],
  ['events', ''],
]

function detailWords({ action, detail }: OperatorAction): string {
  return SHOWN.flatMap(([field, word]) => {
    const value = detail[field]
    if (value === undefined) return []
    if (value === null) return action === 'changeKey' ? [`no ${field.replace('_', ' ')}`] : []
    return [word + valueWords(field, value)]
  }).join(', ')
}

function valueWords(field: string, value: unknown): string {
  switch (field) {
    case 'credit_limit':
      return money(Number(value))
    case 'expires_at':
      return String(value).slice(0, 10)
    case 'events':
      return String(value).replaceAll(',', ', ')
    default:
      return String(value)
  }
}
