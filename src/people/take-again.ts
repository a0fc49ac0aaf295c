import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import { type ActionFields, recordAction } from '../ledger/operator-actions.ts'
import { TAKEN_ACCESS, type TakenAccessRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import { RAISE_CALLERS_VERSION } from '../store/settings.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { Problem } from '../vocabulary/problem.ts'
import { GATEWAY, type RecordedOperation } from '../vocabulary/recorded-operation.ts'
import { endOperator } from './removal.ts'
import { PASSWORD_PROVIDER } from './users.ts'

/** What became of access whose removal the database had lost. */
type TakenAgain =
  /** It was there again, and is taken again. */
  | 'taken'
  /** It was not there, or another gateway has taken it again. */
  | 'absent'
  /** It stays: a store is not left without operators. */
  | 'lastOperator'

interface TakeAgainInput {
  readonly db: Kysely<Tables>
  readonly ids: IdSource
  readonly nowMs: number
}

/** Takes access again whose removal the database has lost, and records it in the audit log. */
export async function takeAgain(
  { db, ids, nowMs }: TakeAgainInput,
  row: TakenAccessRow,
): Promise<TakenAgain> {
  const change = changeOf(row)
  try {
    return await db.transaction().execute(async (trx) => {
      const wasThere = await change.run(trx, nowMs)
      await keepTaken(trx, row)
      if (!wasThere) return 'absent'
      await record(trx, { row, change, ids, nowMs })
      if (row.tableName === 'admin_tokens') await sql.raw(RAISE_CALLERS_VERSION).execute(trx)
      return 'taken'
    })
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'last_operator')) throw error
    await keepTaken(db, row)
    return 'lastOperator'
  }
}

/** Other gateways find the removal by it, and do not repeat it too. */
async function keepTaken(db: Kysely<Tables>, row: TakenAccessRow): Promise<void> {
  await db
    .insertInto('taken_access')
    .values(TAKEN_ACCESS.record(row))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}

type Fields = Readonly<Record<string, string | number | null>>

/** A change of one row. */
interface Change {
  readonly rowKey: Fields
  /** Null: the row is removed. */
  readonly set: Fields | null
  /** Returns whether there was something to change. Throws Problem `last_operator`. */
  run(trx: Transaction<Tables>, nowMs: number): Promise<boolean>
}

function changeOf({ tableName, keyJson, setJson }: TakenAccessRow): Change {
  const rowKey: Fields = JSON.parse(keyJson)
  const set: Fields | null = setJson === null ? null : JSON.parse(setJson)
  return {
    rowKey,
    set,
    async run(trx, nowMs) {
      // Of two that two gateways remove at the same time, one stays.
      if (tableName === 'users') return endOperator(trx, { userId: String(rowKey['id']), nowMs })
      const table = sql.table(tableName)
      const where = sql.join([...equalities(rowKey), ...unlessSet(set)], sql` and `)
      const statement =
        set === null
          ? sql`delete from ${table} where ${where}`
          : sql`update ${table} set ${sql.join(equalities(set))} where ${where}`
      return Number((await statement.execute(trx)).numAffectedRows) > 0
    },
  }
}

function equalities(fields: Fields): RawBuilder<unknown>[] {
  return Object.entries(fields).map(([name, value]) => sql`${sql.ref(name)} = ${value}`)
}

/** The first column says whether the change was made. What is used up or revoked is that once. */
function unlessSet(set: Fields | null): RawBuilder<unknown>[] {
  const [first] = Object.entries(set ?? {})
  if (first === undefined) return []
  const [name, value] = first
  const column = sql.ref(name)
  return [
    name.endsWith('_at_ms') ? sql`${column} is null` : sql`${column} is distinct from ${value}`,
  ]
}

/** What operators do is in the audit log, also when a gateway repeats it. */
async function record(
  trx: Transaction<Tables>,
  {
    row,
    change: { rowKey, set },
    ids,
    nowMs,
  }: Pick<TakeAgainInput, 'ids' | 'nowMs'> & {
    readonly row: TakenAccessRow
    readonly change: Change
  },
): Promise<void> {
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

/** By table: rows that are removed, and rows that are changed. */
const KINDS: Readonly<
  Record<string, { readonly removed?: TakenKind; readonly changed?: TakenKind }>
> = {
  members: {
    removed: { words: 'the removal of a member', action: 'removeMember' },
    changed: { words: 'the new role of a member', action: 'changeMember' },
  },
  users: { changed: { words: 'the removal of an operator', action: 'removeUser' } },
  sign_ins: {
    removed: { words: 'the removal of a sign-in', action: 'removeUser' },
    changed: { words: 'a new password' },
  },
  authenticator_apps: {
    removed: { words: 'the removal of an authenticator app' },
    changed: { words: 'the replacement of an authenticator app' },
  },
  passkeys: { removed: { words: 'the removal of a passkey' } },
  recovery_codes: {
    removed: { words: 'the replacement of a recovery code' },
    changed: { words: 'the use of a recovery code' },
  },
  sessions: { removed: { words: 'a sign-out' } },
  links: { changed: { words: 'the use or withdrawal of a link' } },
  admin_tokens: {
    changed: { words: 'the revocation of an admin token', action: 'revokeAdminToken' },
  },
}

function kindOf({ tableName, setJson }: TakenAccessRow): TakenKind {
  const kinds = KINDS[tableName]
  const kind = setJson === null ? kinds?.removed : kinds?.changed
  return kind ?? { words: `a change of ${tableName}` }
}

/** Taken access in words, such as `a sign-out`. */
export function takenWords(row: TakenAccessRow): string {
  return kindOf(row).words
}

/** The row that access was taken by, for the log: its ID and that of its user. */
export function takenKey(row: TakenAccessRow): Fields {
  const { code_hash: _, created_at_ms: __, ...shown } = changeOf(row).rowKey
  return shown
}
