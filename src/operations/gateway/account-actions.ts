import type { Kysely } from 'kysely'
import { z } from 'zod'
import { OWN_LIMITS } from '../../ledger/ledger.ts'
import { listOperatorActions, type NamedAction } from '../../ledger/operator-actions.ts'
import type { ListPage, Page } from '../../store/list-page.ts'
import type { Tables } from '../../store/schema.ts'
import { GATEWAY, type RecordedOperation } from '../../vocabulary/recorded-operation.ts'
import { idCursor, listAnswer, listShape, pageQuery, timeAnswer } from '../fields.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { fieldsOfAction, operatorActionShape } from './operator-desk.ts'

/** The audit log of one account, as its owners read it. */
export function accountActionOperations({ store }: OperationParts) {
  return [
    operation({
      name: 'listAccountActions',
      method: 'GET',
      needsOwner: true,
      paths: { member: '/app/api/accounts/{account_id}/actions' },
      summary:
        'Changes by operators, admin tokens and commands in the account, newest first, without fees, costs and the names of operators.',
      query: pageQuery('account_actions', {}),
      answers: { 200: listShape(accountActionShape) },
      async run({ reader, accountId, query: { limit, cursor } }) {
        const page = await listAccountActions(store.pages(reader), { accountId, limit, cursor })
        return listAnswer(page.rows, idCursor('account_actions', page.nextCursor))
      },
    }),
  ]
}

const LIMIT_FIELDS = [
  'allowance',
  'allowance_period',
  'allowance_time_zone',
  ...OWN_LIMITS.map(({ name }) => name),
]
const TERMS = ['name', 'models_allow', 'models_deny', 'metadata', ...LIMIT_FIELDS]
const ACCOUNT_FIELDS = [...TERMS, 'disabled', 'note', 'low_balance', 'billing']
const KEY_FIELDS = [...TERMS, 'disabled', 'credit_limit', 'expires_at']

/**
 * The recorded fields that owners of the account read, by operation; null: they don't read that it was done. No email
 * address is among them: it may be that of an operator.
 */
const SHOWN_FIELDS: Readonly<Record<RecordedOperation, readonly string[] | null>> = {
  addCredit: ['purse', 'reference', 'expires_at', 'balance'],
  changeAccount: ACCOUNT_FIELDS,
  changeBilling: ['billing'],
  changeEmail: null,
  changeKey: KEY_FIELDS,
  changeMember: ['name', 'role'],
  changeName: null,
  changeWebhook: null,
  checkSale: null,
  createAccount: ACCOUNT_FIELDS,
  createAdminToken: null,
  createCode: null,
  createInvitation: ['role'],
  createKey: KEY_FIELDS,
  createOwnAccount: ACCOUNT_FIELDS,
  createPurchase: [],
  createResetLink: null,
  createWebhook: null,
  creditPurchase: [],
  deleteKey: ['name'],
  deleteWebhook: null,
  // Its note is for operators.
  dismissPurchase: [],
  endSignIn: null,
  failedSignIn: null,
  inviteMember: ['role'],
  leaveAccount: null,
  playground: [],
  redeemCode: [],
  refreshCatalog: null,
  removeMember: ['name'],
  removeUser: ['name'],
  revokeAdminToken: null,
  revokeCode: null,
  rotateKey: ['name', 'grace_seconds'],
  setMaintenance: null,
  settleRequest: ['state', 'charge'],
  signIn: null,
  testWebhook: null,
  withdrawInvitation: [],
}

const SHOWN_FIELDS_BY_NAME = new Map<string, readonly string[] | null>(Object.entries(SHOWN_FIELDS))
const SHOWN = [...SHOWN_FIELDS_BY_NAME].flatMap(([name, fields]) => (fields === null ? [] : [name]))

/** The operations that are nothing but their fields: without one that owners read, a record of them is left out. */
const CHANGES: readonly string[] = ['changeAccount', 'changeBilling', 'changeKey', 'changeMember']

/** The most records that one read takes: some of them are left out. */
const ROWS_AT_ONCE = 200

/** One page of the changes by operators in an account, newest first. It is full unless it is the last page. */
export async function listAccountActions(
  db: Kysely<Tables>,
  { accountId, limit, cursor: start = null }: Page & { readonly accountId: string },
): Promise<ListPage<AccountAction>> {
  const found: AccountAction[] = []
  let cursor: string | null = start
  do {
    const page = await listOperatorActions(db, {
      accountId,
      actions: SHOWN,
      limit: ROWS_AT_ONCE,
      cursor,
    })
    found.push(...page.rows.flatMap((row) => shownAction(row) ?? []))
    cursor = page.nextCursor
  } while (cursor !== null && found.length <= limit)
  const rows = found.slice(0, limit)
  return { rows, nextCursor: found.length > limit ? (rows.at(-1)?.id ?? null) : null }
}

/** A change in an account by an operator. */
const accountActionShape = operatorActionShape
  .pick({ id: true, target_id: true, amount: true, detail: true, before: true, created_at: true })
  .extend({
    object: z.literal('account_action'),
    by: z.literal('operator').describe('An operator, an admin token or a command of `tollgate`.'),
    action: z.string().describe('The name of the operation.'),
  })
  .meta({ id: 'AccountAction' })

type AccountAction = z.infer<typeof accountActionShape>

/** A record as the owners of its account read it. Null: they do not read it. */
function shownAction(row: NamedAction): AccountAction | null {
  const { id, action, targetId, amountMicros, tokenId, tokenName, createdAtMs } = row
  // What a gateway repeats after a failover may be a change by an owner.
  if (tokenId === null && tokenName === GATEWAY) return null
  const change = shownChange(row)
  if (CHANGES.includes(action) && Object.keys(change.detail).length === 0) return null
  return {
    id,
    object: 'account_action',
    by: 'operator',
    action,
    target_id: targetId,
    amount: amountMicros,
    ...change,
    created_at: timeAnswer(createdAtMs),
  }
}

/** The fields of a record that owners read, without those that stayed the same. */
function shownChange(row: NamedAction): Pick<AccountAction, 'detail' | 'before'> {
  const { detail, before } = fieldsOfAction(row)
  const shown = SHOWN_FIELDS_BY_NAME.get(row.action) ?? []
  const isShown = (field: string): boolean =>
    shown.includes(field) &&
    !(before !== null && field in detail && before[field] === detail[field]) &&
    // Members read the reason of a suspension, and operators alone that of its end.
    (field !== 'note' || detail['disabled'] === true)
  const pick = (fields: AccountAction['detail']) =>
    Object.fromEntries(Object.entries(fields).filter(([field]) => isShown(field)))
  return { detail: pick(detail), before: before === null ? null : pick(before) }
}
