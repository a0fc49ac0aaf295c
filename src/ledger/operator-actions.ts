import { type Kysely, sql } from 'kysely'
import { containsText } from '../store/conditions.ts'
import { type ListPage, type Page, readPage } from '../store/list-page.ts'
import { OPERATOR_ACTIONS, type OperatorActionRow } from '../store/people-tables.ts'
import type { RequestRow, Tables } from '../store/schema.ts'
import { hasRow } from '../store/store.ts'
import { firstIdOf, ID_AGE_MS_MAX } from '../vocabulary/ids.ts'

/** The operator or the admin token that changes something, for the audit log. */
export type OperatorAction = ActionBy & {
  /** The ID of the record, with the prefix `act`. */
  readonly id: string
  /** The name of the operation. */
  readonly action: string
}

type ActionBy =
  /** An operator, who made the change on the page. */
  | { readonly userId: string }
  /** An admin token; its id is null for the token of the settings. */
  | { readonly token: { readonly id: string | null; readonly name: string } }

/** The change by an operator: the account, the thing, the amount and the fields. */
export interface ActionSubject {
  /** The account that the change is about; null: none. */
  readonly accountId: string | null
  /** The ID of the changed or created thing; null: the thing has no ID. */
  readonly targetId: string | null
  /** The amount that was added, removed or set; null: the change has none. */
  readonly amountMicros: OperatorActionRow['amountMicros']
  /** Fields as the API names them. Never a secret. */
  readonly detail: ActionFields
}

/** Fields of a recorded change, as the API names them. */
export type ActionFields = Readonly<Record<string, string | number | boolean | null>>

/** The row of the audit log for an action. */
export function operatorActionRow(
  by: OperatorAction,
  {
    detail,
    before = {},
    nowMs,
    ...subject
  }: ActionSubject & {
    /** The fields before the change. Default: they are not recorded. */
    readonly before?: ActionFields | undefined
    readonly nowMs: number
  },
): OperatorActionRow {
  const { id, action } = by
  const actor =
    'userId' in by
      ? { userId: by.userId, tokenId: null, tokenName: null }
      : { userId: null, tokenId: by.token.id, tokenName: by.token.name }
  return {
    id,
    ...actor,
    action,
    ...subject,
    // No field of the API is called `before`.
    detailJson: JSON.stringify(Object.keys(before).length === 0 ? detail : { ...detail, before }),
    createdAtMs: nowMs,
  }
}

/** An action that is no command of the ledger. */
type OtherAction = Partial<Pick<ActionSubject, 'accountId' | 'targetId'>> &
  Pick<ActionSubject, 'detail'> & {
    readonly before?: ActionFields
    readonly by: OperatorAction | null
    readonly nowMs: number
  }

/** Records a change that is no command of the ledger. If `by` is null, nothing is recorded. */
export async function recordAction(
  db: Kysely<Tables>,
  { by, accountId = null, targetId = null, detail, before = {}, nowMs }: OtherAction,
): Promise<void> {
  if (by === null) return
  const subject = { accountId, targetId, amountMicros: null, detail }
  const row = operatorActionRow(by, { ...subject, before, nowMs })
  await db.insertInto('operator_actions').values(OPERATOR_ACTIONS.record(row)).execute()
}

/** An action with the names of its operator and its account. */
export interface NamedAction extends OperatorActionRow {
  /** The name of the operator; null: a token made the change. */
  readonly userName: string | null
  /** The email address of the operator; null: a token made the change. */
  readonly userEmail: string | null
  /** The name of the account that was changed; null: none was. */
  readonly accountName: string | null
}

/** Filters a list of actions; undefined fields filter nothing. */
export interface ActionFilter {
  readonly accountId?: string | undefined
  /** Ids of users and of admin tokens, or the name of the token of the settings, which has no id. */
  readonly actorIds?: readonly string[] | undefined
  /** Names of operations, such as `updateAccount`. */
  readonly actions?: readonly string[] | undefined
  /** Names of fields, such as `fee_basis_points`: one of them was set, or removed. */
  readonly fields?: readonly string[] | undefined
  /** Recorded at this moment or later. */
  readonly sinceMs?: number | undefined
  /** Recorded before this moment. */
  readonly untilMs?: number | undefined
}

/** One page of the changes by operators and admin tokens, newest first. */
export function listOperatorActions(
  db: Kysely<Tables>,
  { accountId, actorIds, actions: kinds, fields, sinceMs, untilMs, ...page }: Page & ActionFilter,
): Promise<ListPage<NamedAction>> {
  let query = db
    .selectFrom('operator_actions')
    .leftJoin('users', 'users.id', 'operator_actions.user_id')
    .leftJoin('accounts', 'accounts.id', 'operator_actions.account_id')
    .selectAll('operator_actions')
    .select([
      'users.name as user_name',
      'users.email as user_email',
      'accounts.name as account_name',
    ])
  if (sinceMs !== undefined) {
    query = query
      .where('operator_actions.created_at_ms', '>=', sinceMs)
      .where('operator_actions.id', '>=', firstActionId(sinceMs))
  }
  if (untilMs !== undefined) {
    query = query
      .where('operator_actions.created_at_ms', '<', untilMs)
      .where('operator_actions.id', '<', lastActionId(untilMs))
  }
  if (accountId !== undefined) query = query.where('operator_actions.account_id', '=', accountId)
  if (kinds !== undefined) query = query.where('operator_actions.action', 'in', kinds)
  if (fields !== undefined) {
    const text = sql.ref('operator_actions.detail_json')
    const isSet = fields.map((field) => {
      // Values that have this text have a backslash before its quotation marks.
      const named = `${JSON.stringify(field)}:`
      return containsText(named, sql`replace(${text}, ${`${named}null`}, '')`)
    })
    query = query.where(({ or }) => or(isSet))
  }
  if (actorIds !== undefined) {
    query = query.where(({ eb, or }) =>
      or([
        eb('operator_actions.user_id', 'in', actorIds),
        eb('operator_actions.token_id', 'in', actorIds),
        eb.and([
          eb('operator_actions.token_id', 'is', null),
          eb('operator_actions.token_name', 'in', actorIds),
        ]),
      ]),
    )
  }
  return readPage(query, {
    ...page,
    idColumn: 'operator_actions.id',
    read: (row) => ({
      ...OPERATOR_ACTIONS.read(row),
      userName: row.user_name,
      userEmail: row.user_email,
      accountName: row.account_name,
    }),
  })
}

/** Whether an operator settled a request, or an admin by token. */
export async function isSettledByOperator(
  db: Kysely<Tables>,
  { id, accountId, settledAtMs }: Pick<RequestRow, 'id' | 'accountId' | 'settledAtMs'>,
): Promise<boolean> {
  if (settledAtMs === null) return false
  const settled = db
    .selectFrom('operator_actions')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '>=', firstActionId(settledAtMs))
    .where('id', '<', lastActionId(settledAtMs))
    .where('action', '=', 'settleRequest')
    .where('target_id', '=', id)
  return hasRow(settled.limit(1))
}

/** No record of this moment or later has a lower ID. The bound spares a search of the whole log. */
export function firstActionId(timeMs: number): string {
  return firstIdOf({ prefix: 'act', timeMs: timeMs - ID_AGE_MS_MAX })
}

/** No record before this moment has an ID from this one on. */
function lastActionId(timeMs: number): string {
  return firstIdOf({ prefix: 'act', timeMs: timeMs + ID_AGE_MS_MAX })
}
