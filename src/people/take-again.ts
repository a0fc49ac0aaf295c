import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import { type ActionFields, recordAction } from '../ledger/operator-actions.ts'
import { TAKEN_ACCESS, type TakenAccessRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import { RAISE_CALLERS_VERSION } from '../store/settings.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { Problem } from '../vocabulary/problem.ts'
import { GATEWAY, type RecordedOperation } from '../vocabulary/recorded-operation.ts'
import { lockOwners } from './members.ts'
import { endOperator } from './removal.ts'
import { PASSWORD_PROVIDER } from './users.ts'

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

/** Takes access again whose removal the database has lost, and records it in the audit log. */
export function takeAgain(
  { db, ...input }: TakeAgainInput & { readonly db: Kysely<Tables> },
  row: TakenAccessRow,
): Promise<TakenAgain> {
  return db.transaction().execute(async (trx) => {
    if (!(await addRow(trx, row)) || (await hasNewer(trx, row))) return 'absent'
    const became = await change(trx, row, input.nowMs)
    if (became !== 'taken') return became
    await record(trx, row, input)
    if (row.tableName === 'admin_tokens') await sql.raw(RAISE_CALLERS_VERSION).execute(trx)
    return 'taken'
  })
}

/** Returns whether the row was missing. If two gateways add it at once, one waits for the other. */
async function addRow(trx: Transaction<Tables>, row: TakenAccessRow): Promise<boolean> {
  const added = await trx
    .insertInto('taken_access')
    .values(TAKEN_ACCESS.record(row))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst()
  return added !== undefined
}

/** Whether the same row was changed or removed later: later changes are kept. */
async function hasNewer(
  trx: Transaction<Tables>,
  { id, tableName, keyJson }: TakenAccessRow,
): Promise<boolean> {
  const newer = trx
    .selectFrom('taken_access')
    .select('id')
    .where('id', '>', id)
    .where('table_name', '=', tableName)
    .where('key_json', '=', keyJson)
    .limit(1)
  return (await newer.executeTakeFirst()) !== undefined
}

type Fields = Readonly<Record<string, string | number | null>>

function fieldsOf({ keyJson, setJson }: TakenAccessRow): {
  readonly rowKey: Fields
  /** Null: the row is removed. */
  readonly set: Fields | null
} {
  return { rowKey: JSON.parse(keyJson), set: setJson === null ? null : JSON.parse(setJson) }
}

async function change(
  trx: Transaction<Tables>,
  row: TakenAccessRow,
  nowMs: number,
): Promise<TakenAgain> {
  const { rowKey, set } = fieldsOf(row)
  if (row.tableName === 'users') return takeOperator(trx, String(rowKey['id']), nowMs)
  if (row.tableName === 'members' && set?.['role'] !== 'owner' && (await isLastOwner(trx, rowKey)))
    return 'last'
  const table = sql.table(row.tableName)
  const where = sql.join([...equalities(rowKey), ...unlessSet(set)], sql` and `)
  const statement =
    set === null
      ? sql`delete from ${table} where ${where}`
      : sql`update ${table} set ${sql.join(equalities(set))} where ${where}`
  return Number((await statement.execute(trx)).numAffectedRows) > 0 ? 'taken' : 'absent'
}

async function takeOperator(
  trx: Transaction<Tables>,
  userId: string,
  nowMs: number,
): Promise<TakenAgain> {
  try {
    // If two gateways remove the last two at the same time, one stays.
    return (await endOperator(trx, { userId, nowMs })) ? 'taken' : 'absent'
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

/** The columns say whether the change was made. A token is revoked once. */
function unlessSet(set: Fields | null): RawBuilder<unknown>[] {
  return Object.entries(set ?? {}).map(([name, value]) =>
    name === 'revoked_at_ms'
      ? sql`${sql.ref(name)} is null`
      : sql`${sql.ref(name)} is distinct from ${value}`,
  )
}

/** Changes by operators are in the audit log, also when a gateway repeats them. */
async function record(
  trx: Transaction<Tables>,
  row: TakenAccessRow,
  { ids, nowMs }: TakeAgainInput,
): Promise<void> {
  const { rowKey, set } = fieldsOf(row)
  const { action } = kindOf(row)
  if (action === undefined || (rowKey['provider'] ?? PASSWORD_PROVIDER) !== PASSWORD_PROVIDER)
    return
  const targetId = String(rowKey['user_id'] ?? rowKey['id'])
  const accountId = rowKey['account_id'] ?? null
  const detail: ActionFields =
    accountId === null ? await namesOf(trx, { row, targetId }) : { role: set?.['role'] ?? null }
  await recordAction(trx, {
    by: { id: ids.next('act'), action, token: { id: null, name: GATEWAY } },
    accountId: accountId === null ? null : String(accountId),
    targetId,
    detail: { ...detail, repeated: true },
    nowMs,
  })
}

async function namesOf(
  trx: Transaction<Tables>,
  { row: { tableName }, targetId }: { readonly row: TakenAccessRow; readonly targetId: string },
): Promise<ActionFields> {
  if (tableName === 'admin_tokens') {
    const tokens = trx.selectFrom('admin_tokens').select('name').where('id', '=', targetId)
    return { name: (await tokens.executeTakeFirst())?.name ?? null }
  }
  const users = trx.selectFrom('users').select('email').where('id', '=', targetId)
  const email = (await users.executeTakeFirst())?.email ?? null
  return { email, operator: tableName === 'users', everything: tableName !== 'users' }
}

interface TakenKind {
  readonly words: string
  /** The operation in the audit log. Absent: operators have none that does this alone. */
  readonly action?: RecordedOperation
}

const NEW_ROLE: TakenKind = { words: 'the new role of a member', action: 'changeMember' }

/** By table. */
const KINDS: Readonly<Record<string, TakenKind>> = {
  members: { words: 'the removal of a member', action: 'removeMember' },
  users: { words: 'the removal of an operator', action: 'removeUser' },
  sign_ins: { words: 'the removal of a sign-in', action: 'removeUser' },
  authenticator_apps: { words: 'the removal of an authenticator app' },
  passkeys: { words: 'the removal of a passkey' },
  sessions: { words: 'a sign-out' },
  admin_tokens: { words: 'the revocation of an admin token', action: 'revokeAdminToken' },
}

function kindOf({ tableName, setJson }: TakenAccessRow): TakenKind {
  if (tableName === 'members' && setJson !== null) return NEW_ROLE
  return KINDS[tableName] ?? { words: `a change of ${tableName}` }
}

/** Taken access in words, such as `a sign-out`. */
export function takenWords(row: TakenAccessRow): string {
  return kindOf(row).words
}

/** The row that access was taken by, for the log: its ID and that of its user. */
export function takenKey(row: TakenAccessRow): Fields {
  const { created_at_ms: _, ...shown } = fieldsOf(row).rowKey
  return shown
}
