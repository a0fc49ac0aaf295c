import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { actionsQuery, type OperatorAction } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { listTime } from '../../format/time.ts'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useAccountId } from '../../shell/use-account.ts'

const HEADS = [
  { text: 'Change' },
  { text: 'Amount', className: 'num' },
  { text: 'Of' },
  { text: 'Time, operator' },
] as const

/** What operators changed: on one account, or at all. */
export function Actions({ accountId }: { accountId: string | null }) {
  const query = useInfiniteQuery(actionsQuery(accountId))
  const actions = query.data?.pages.flatMap(({ data }) => data)
  return (
    <ListCard
      label="What operators did"
      header={
        <header className="pb-2">
          <h2>What operators did</h2>
        </header>
      }
      query={query}
      rows={actions}
      failed="What operators did could not be read."
      empty={
        <Empty title="Nothing yet">
          <p>Each change by an operator on this page is recorded here, with its name and time.</p>
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
  const account = useAccountId()
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
          <Link
            className="hover:underline"
            to="/$account/operator/accounts/$id"
            params={{ account, id }}
          >
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

const WORDS: Readonly<Record<string, string>> = {
  createAccount: 'Account created',
  createOwnAccount: 'Own account created',
  createKey: 'Key created',
  changeKey: 'Key changed',
  deleteKey: 'Key deleted',
  createCode: 'Code created',
  revokeCode: 'Code revoked',
  playground: 'Playground used',
  redeemCode: 'Code redeemed',
  creditPurchase: 'Purchase credited',
  dismissPurchase: 'Purchase dismissed',
  settleRequest: 'Request settled',
  createAdminToken: 'Admin token created',
  revokeAdminToken: 'Admin token revoked',
  createWebhook: 'Webhook created',
  deleteWebhook: 'Webhook deleted',
  testWebhook: 'Test message sent',
}

const REFRESH_WORDS: Readonly<Record<string, string>> = {
  asked: 'Catalog refresh asked for',
  refreshed: 'Catalog refreshed',
  failed: 'Catalog refresh failed',
}

/** What was done, in words; an operation without words of its own is named. */
function actionWords({ action, amount, detail }: OperatorAction): string {
  switch (action) {
    case 'addCredit':
      return (amount ?? 0) < 0 ? 'Credit taken back' : 'Credit added'
    case 'changeAccount':
      if (detail['disabled'] === undefined) return 'Account changed'
      return detail['disabled'] === true ? 'Account suspended' : 'Account let go on'
    case 'changeWebhook':
      if (detail['disabled'] === undefined) return 'Webhook changed'
      return detail['disabled'] === true ? 'Webhook disabled' : 'Webhook enabled'
    case 'setMaintenance':
      return detail['enabled'] === true ? 'Maintenance switched on' : 'Maintenance switched off'
    case 'refreshCatalog':
      return REFRESH_WORDS[String(detail['outcome'])] ?? 'Catalog refresh'
    default:
      return WORDS[action] ?? action
  }
}

const SHOWN: readonly (readonly [field: string, word: string])[] = [
  ['name', ''],
  ['email', ''],
  ['reference', ''],
  ['note', ''],
  ['purse', ''],
  ['provider_cost', 'cost $'],
  ['credit_limit', 'limit '],
  ['expires_at', 'until '],
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
