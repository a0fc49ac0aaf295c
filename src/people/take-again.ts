import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import { type ActionFields, recordAction } from '../ledger/operator-actions.ts'
import { isAny } from '../store/conditions.ts'
import { TAKEN_ACCESS, type TakenAccessRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import { RAISE_CALLERS_VERSION } from '../store/settings.ts'
import { hasRow } from '../store/store.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { Problem } from '../vocabulary/problem.ts'
import { GATEWAY } from '../vocabulary/recorded-operation.ts'
import {
  endLostFactor,
  endLostPassword,
  keepAskingForFactor,
  replaceLostApp,
} from './end-lost-secrets.ts'
import { lockOwners } from './members.ts'
import { endOperator } from './removal.ts'
import {
  type Fields,
  fieldsOf,
  isBookedAgain,
  kindOf,
  type RowFields,
  SECRETS,
} from './taken-kinds.ts'

/** The result of repeating the removals that the database had lost. */
type TakenAgain =
  /** It was there again, and is taken again. */
  | 'taken'
  /** It was not there, was changed since, or another gateway has taken it again. */
  | 'absent'
  /** It stays: neither a store is left without operators, nor an account without owners. */
  | 'last'

interface TakeAgainInput {
  readonly ids: IdSource
  readonly nowMs: number
}

/** Repeats a change that took access and that the database has lost, and records it in the audit log. */
export function takeAgain(
  { db, ...input }: TakeAgainInput & { readonly db: Kysely<Tables> },
  row: TakenAccessRow,
): Promise<TakenAgain> {
  return db.transaction().execute(async (trx) => {
    // The added row is the note of what is repeated here.
    await sql`select set_config('tollgate.notes', 'off', true)`.execute(trx)
    if (!(await addRow(trx, row)) || (await hasNewer(trx, row))) return 'absent'
    const became = await change(trx, row, input.nowMs)
    if (became !== 'taken') return became
    await record(trx, row, input)
    if (CALLERS.has(row.tableName)) await sql.raw(RAISE_CALLERS_VERSION).execute(trx)
    return 'taken'
  })
}

/** Returns whether the row was missing. If two gateways add it at once, one waits for the other. */
function addRow(trx: Transaction<Tables>, row: TakenAccessRow): Promise<boolean> {
  const added = trx
    .insertInto('taken_access')
    .values(TAKEN_ACCESS.record(row))
    .onConflict((conflict) => conflict.column('id').doNothing())
  return hasRow(added.returning('id'))
}

/** The tables by which gateways know callers, whom they keep in memory. */
const CALLERS: ReadonlySet<string> = new Set(['admin_tokens', 'api_keys', 'accounts'])

/**
 * Whether a column that was set was set to another value later, which is kept. A removal is repeated even so, and a
 * secret is ended: whoever had the access back may have changed the row.
 */
async function hasNewer(trx: Transaction<Tables>, row: TakenAccessRow): Promise<boolean> {
  const { set } = fieldsOf(row)
  if (set === null || Object.keys(set).some((name) => SECRETS.has(name))) return false
  const newer = await trx
    .selectFrom('taken_access')
    .selectAll()
    .where('id', '>', row.id)
    .where('table_name', '=', row.tableName)
    .where('key_json', '=', row.keyJson)
    .where('set_json', 'is not', null)
    .execute()
  return newer.some((record) => {
    const later = fieldsOf(TAKEN_ACCESS.read(record)).set ?? {}
    return Object.keys(set).some((name) => name in later)
  })
}

async function change(
  trx: Transaction<Tables>,
  row: TakenAccessRow,
  nowMs: number,
): Promise<TakenAgain> {
  const fields = fieldsOf(row)
  const { rowKey, set } = fields
  const { tableName } = row
  if (tableName === 'users') return takeOperator(trx, String(rowKey['id']))
  if (tableName === 'members' && set?.['role'] !== 'owner' && (await isLastOwner(trx, rowKey)))
    return 'last'
  const isDone =
    set === null
      ? await removeRow(trx, { tableName, rowKey, nowMs })
      : isBookedAgain(row)
        ? await endEarlierText(trx, { rowKey, set, takenAtMs: row.takenAtMs })
        : await setColumns(trx, { tableName, rowKey, set, nowMs })
  return isDone ? 'taken' : 'absent'
}

/** Returns whether the row was there. */
async function removeRow(
  trx: Transaction<Tables>,
  {
    tableName,
    rowKey,
    nowMs,
  }: Pick<RowFields, 'rowKey'> & { readonly tableName: string; readonly nowMs: number },
): Promise<boolean> {
  if (tableName === 'webhooks') {
    const webhookId = String(rowKey['id'])
    await trx.deleteFrom('webhook_deliveries').where('webhook_id', '=', webhookId).execute()
  }
  const where = sql.join(equalities(rowKey), sql` and `)
  const removed = await sql`delete from ${sql.table(tableName)} where ${where}`.execute(trx)
  const isRemoved = Number(removed.numAffectedRows) > 0
  if (tableName !== 'passkeys' && tableName !== 'authenticator_apps') return isRemoved
  // An app with the ID of a passkey asks for a factor in place of one that was lost.
  const inPlace = await trx
    .deleteFrom('authenticator_apps')
    .where('id', '=', String(rowKey['id']))
    .where('user_id', '=', String(rowKey['user_id']))
    .executeTakeFirst()
  await keepAskingForFactor(trx, { userId: String(rowKey['user_id']), nowMs })
  return isRemoved || inPlace.numDeletedRows > 0n
}

/** Ends a key whose new text is lost, as the earlier one was to end. Returns false if the key was rotated again. */
function endEarlierText(
  trx: Transaction<Tables>,
  {
    rowKey,
    set,
    takenAtMs,
  }: { readonly rowKey: Fields; readonly set: Fields; readonly takenAtMs: number },
): Promise<boolean> {
  const endsAtMs = Number(set['previous_expires_at_ms'] ?? takenAtMs)
  const ended = trx
    .updateTable('api_keys')
    .set({ expires_at_ms: endsAtMs })
    .where('id', '=', String(rowKey['id']))
    .where('display_prefix', '<>', String(set['display_prefix']))
    .where(({ eb, or }) =>
      or([eb('expires_at_ms', 'is', null), eb('expires_at_ms', '>', endsAtMs)]),
    )
  return hasRow(ended.returning('id'))
}

/** Returns whether anything has changed. The values of secrets are not known: what has them is ended. */
async function setColumns(
  trx: Transaction<Tables>,
  {
    tableName,
    rowKey,
    set,
    nowMs,
  }: RowFields & { readonly tableName: string; readonly set: Fields; readonly nowMs: number },
): Promise<boolean> {
  const own = { id: String(rowKey['id']), userId: String(rowKey['user_id']), nowMs }
  if ('password_hash' in set) return endLostPassword(trx, own)
  if ('secret' in set && 'id' in set) {
    return replaceLostApp(trx, { ...own, newId: String(set['id']) })
  }
  if ('secret' in set || 'public_key' in set) return endLostFactor(trx, own)
  const values = 'url' in set ? { disabled: 1 } : set
  // A store that has never been in maintenance has no row.
  if (tableName === 'settings') {
    const row = { name: String(rowKey['name']), value: '' }
    await trx
      .insertInto('settings')
      .values(row)
      .onConflict((on) => on.doNothing())
      .execute()
  }
  const where = sql.join(equalities(rowKey), sql` and `)
  const changed = await sql`update ${sql.table(tableName)} set ${sql.join(equalities(values))}
    where ${where} and ${isAny(unlessSet(values))}`.execute(trx)
  return Number(changed.numAffectedRows) > 0
}

async function takeOperator(trx: Transaction<Tables>, userId: string): Promise<TakenAgain> {
  try {
    // If two gateways remove the last two at the same time, one stays.
    return (await endOperator(trx, userId)) ? 'taken' : 'absent'
  } catch (error) {
    if (error instanceof Problem && error.code === 'last_operator') return 'last'
    throw error
  }
}

async function isLastOwner(trx: Transaction<Tables>, rowKey: Fields): Promise<boolean> {
  const [owner, ...others] = await lockOwners(trx, String(rowKey['account_id']))
  return (
    others.length === 0 &&
    owner?.id === rowKey['user_id'] &&
    owner?.created_at_ms === rowKey['created_at_ms']
  )
}

function equalities(fields: Fields): RawBuilder<unknown>[] {
  return Object.entries(fields).map(([name, value]) => sql`${sql.ref(name)} = ${value}`)
}

/** The columns say whether the change was made. A token is revoked once, and a code of an app counts no earlier ones. */
function unlessSet(set: Fields): RawBuilder<unknown>[] {
  return Object.entries(set).map(([name, value]) => {
    if (ONCE.has(name)) return sql`${sql.ref(name)} is null`
    if (name === 'last_step') return sql`${sql.ref(name)} < ${value}`
    return sql`${sql.ref(name)} is distinct from ${value}`
  })
}

/** Columns that are set once. */
const ONCE: ReadonlySet<string> = new Set(['revoked_at_ms', 'used_at_ms', 'deleted_at_ms'])

/** Changes by operators are in the audit log, also when a gateway repeats them. */
async function record(
  trx: Transaction<Tables>,
  row: TakenAccessRow,
  { ids, nowMs }: TakeAgainInput,
): Promise<void> {
  const { rowKey } = fieldsOf(row)
  const { action } = kindOf(row)
  if (action === undefined) return
  const accountId = row.tableName === 'accounts' ? rowKey['id'] : (rowKey['account_id'] ?? null)
  const isMember = row.tableName === 'members'
  const targetId = isMember ? rowKey['user_id'] : (rowKey['id'] ?? rowKey['user_id'] ?? null)
  const isSignIn = ['sign_ins', 'authenticator_apps', 'passkeys'].includes(row.tableName)
  const changedId = isSignIn ? rowKey['user_id'] : targetId
  await recordAction(trx, {
    by: { id: ids.next('act'), action, token: { id: null, name: GATEWAY } },
    accountId: accountId == null ? null : String(accountId),
    targetId: changedId == null ? null : String(changedId),
    detail: { ...(await detailOf(trx, row, changedId)), repeated: true },
    nowMs,
  })
}

/** The fields of a change in the audit log. By position: the store, the change, and the ID of the changed thing. */
async function detailOf(
  trx: Transaction<Tables>,
  row: TakenAccessRow,
  changedId: Fields[string] | undefined,
): Promise<ActionFields> {
  const { tableName } = row
  const set = fieldsOf(row).set ?? {}
  const targetId = String(changedId)
  if (tableName === 'members') return { role: set['role'] ?? null }
  if (tableName === 'settings') return { enabled: set['value'] === 'on' }
  if (tableName === 'admin_tokens' || tableName === 'accounts' || tableName === 'api_keys') {
    const named = trx.selectFrom(tableName).select('name').where('id', '=', targetId)
    const name = (await named.executeTakeFirst())?.name ?? null
    return 'disabled' in set ? { name, disabled: set['disabled'] === 1 } : { name }
  }
  if (tableName === 'webhooks') {
    if ('url' in set) return { disabled: true }
    return 'disabled' in set ? { disabled: set['disabled'] === 1 } : {}
  }
  if (tableName === 'credit_codes') return {}
  const users = trx.selectFrom('users').select('email').where('id', '=', targetId)
  const email = (await users.executeTakeFirst())?.email ?? null
  if (kindOf(row).action === 'endSignIn') return { email }
  return { email, operator: tableName === 'users', everything: tableName !== 'users' }
}
