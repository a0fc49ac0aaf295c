import { CompiledQuery, Kysely, sql } from 'kysely'
import { type DatabaseLocation, parseDatabaseUrl, showDatabaseUrl } from './database-url.ts'
import { allowOlderPrograms, refuseOlderPrograms, SchemaMismatch } from './migrate.ts'
import { PROGRAM_SCHEMA } from './migrations/migrations.ts'
import { openStore } from './open-store.ts'
import { postgresPoolDialect } from './postgres/postgres-store.ts'
import { TABLES, type Tables } from './schema.ts'
import { acquireServeLock, type ServeLock, ServeLockHeld } from './sqlite/sqlite-connection.ts'
import { sqliteThreadDialect } from './sqlite/sqlite-store.ts'
import { StoreRefused, StoreUnavailable } from './store-failure.ts'
import { insertText } from './table.ts'

/** Nothing was copied; the message names the store at fault. */
export class CopyFailed extends Error {
  override readonly name = 'CopyFailed'
}

/** The target did not confirm the commit: the copy has every row or none. */
export class CopyUnconfirmed extends Error {
  override readonly name = 'CopyUnconfirmed'
}

interface CopyStoreInput<Verified> {
  /** The address of the store to read. A server may be working with it. */
  readonly from: string
  /** The address of the store to fill. Its tables are made where there are none. */
  readonly to: string
  /** Checks the copy before it is committed; if it rejects, nothing is copied. */
  readonly verify: (copy: Kysely<Tables>) => Promise<Verified>
  /** Called after each page with the number of rows copied so far. */
  readonly onRows?: (rows: number) => void
  /** Called when all rows are copied and verified, before they are committed. */
  readonly onCommit?: () => void
}

/** The result of a copy. */
export interface Copied<Verified> {
  /** The number of rows of each table. */
  readonly rows: Readonly<Record<string, number>>
  readonly verified: Verified
}

/**
 * Copies every row of one snapshot of a store to an empty store, in one transaction and a page of rows at
 * a time. Rejects with `CopyFailed` if the target has rows or is in use, or if either store has another schema
 * or fails, and with the error of `verify`: the target is then unchanged. Rejects with `CopyUnconfirmed` if
 * the target fails during the commit.
 */
export async function copyStore<Verified>(
  input: CopyStoreInput<Verified>,
): Promise<Copied<Verified>> {
  const source = await namingStore(
    input.from,
    openStore({ url: input.from, migrateStore: 'never' }),
  )
  try {
    // Makes the tables.
    await namingStore(
      input.to,
      openStore({ url: input.to }).then((store) => store.close()),
    )
    const location = parseDatabaseUrl(input.to)
    const lock = location.kind === 'sqlite' ? lockFile(location.file) : null
    let isCommitting = false
    const copying = inLongTransaction(location, async (target) => {
      await lockTables(target, location)
      await refuseUnlessEmpty(target, input.to)
      if (location.kind === 'postgres') await allowOlderPrograms(target)
      // Ends the snapshot before the audit, because a server can't shorten its log while a snapshot is open.
      const rows = await namingStore(
        input.from,
        source.snapshot((view) => copyRows(view, { ...input, target, location })),
      )
      if (location.kind === 'postgres') await refuseOlderPrograms(target, PROGRAM_SCHEMA)
      await compareCounts(target, rows)
      await gatherStatistics(target, location)
      const verified = await input.verify(target)
      isCommitting = true
      input.onCommit?.()
      return { rows, verified }
    })
    return await namingStore(input.to, copying)
      .catch((error: unknown) => {
        throw isCommitting && error instanceof CopyFailed ? unconfirmed(error) : error
      })
      .finally(() => lock?.release())
  } finally {
    await source.close()
  }
}

const ADVICE = {
  postgres: 'Check that the database is running, then copy again',
  sqlite:
    'Check that this is a file, that this user can read and write it, and that its disk has room, then copy again',
} as const

/** Turns a failure of a store into `CopyFailed`, whose message names the store. */
async function namingStore<T>(url: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const isStoreFault =
      error instanceof StoreUnavailable ||
      error instanceof StoreRefused ||
      error instanceof SchemaMismatch
    if (!isStoreFault) throw error
    const advice =
      error instanceof StoreUnavailable ? `. ${ADVICE[parseDatabaseUrl(url).kind]}` : ''
    throw new CopyFailed(`${showDatabaseUrl(url)}: ${error.message}${advice}`, { cause: error })
  }
}

function unconfirmed(failure: CopyFailed): CopyUnconfirmed {
  const { cause } = failure
  const reason = cause instanceof Error ? cause.message : failure.message
  return new CopyUnconfirmed(
    'the commit was not confirmed, so the copy has every row or none: ' +
      `\`tollgate audit\` on it shows which; if it is empty, copy again (${reason})`,
    { cause: failure },
  )
}

function lockFile(file: string): ServeLock {
  try {
    return acquireServeLock(file)
  } catch (error) {
    if (!(error instanceof ServeLockHeld)) throw error
    throw new CopyFailed(`a server uses sqlite:${file}: stop it, or copy to another store`, {
      cause: error,
    })
  }
}

/**
 * Runs `write` in one transaction on a separate connection, whose statements have no time-out. On SQLite no
 * other connection can write during it.
 */
async function inLongTransaction<T>(
  location: DatabaseLocation,
  write: (target: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  const dialect =
    location.kind === 'postgres'
      ? postgresPoolDialect({ url: location.url, connectionsMax: 1, use: 'migrations' })
      : sqliteThreadDialect({ file: location.file })
  const db = new Kysely<Tables>({ dialect })
  try {
    return await db.transaction().execute(write)
  } finally {
    await db.destroy()
  }
}

/** Makes a server that starts during the copy wait, so that it finds the store whole or empty, and notes nothing. */
async function lockTables(target: Kysely<Tables>, { kind }: DatabaseLocation): Promise<void> {
  // SQLite's transaction has the write lock already.
  if (kind === 'sqlite') return
  // Copied factors and settings are no changes to repeat after a failover.
  await sql`select set_config('tollgate.notes', 'off', true)`.execute(target)
  const names = TABLES.map(({ name }) => `"${name}"`).join(', ')
  await sql.raw(`lock table ${names} in share row exclusive mode`).execute(target)
}

async function refuseUnlessEmpty(target: Kysely<Tables>, url: string): Promise<void> {
  for (const { name } of TABLES) {
    const { rows } = await sql.raw(`select 1 from "${name}" limit 1`).execute(target)
    if (rows.length === 0) continue
    throw new CopyFailed(
      `${showDatabaseUrl(url)} is not empty, it has ${name}: copy to a file that does not exist yet, or to ` +
        'an empty database, before `tollgate serve` is started on it',
    )
  }
}

async function compareCounts(
  target: Kysely<Tables>,
  copied: Readonly<Record<string, number>>,
): Promise<void> {
  for (const { name } of TABLES) {
    const { rows } = await sql
      .raw<{ readonly count: unknown }>(`select count(*) as count from "${name}"`)
      .execute(target)
    if (Number(rows[0]?.count) === copied[name]) continue
    throw new StoreRefused(
      `it has ${String(rows[0]?.count)} rows of ${name} after ${copied[name]} were inserted`,
    )
  }
}

/** Without statistics, PostgreSQL may scan a table that was just filled for each page of it. */
async function gatherStatistics(target: Kysely<Tables>, { kind }: DatabaseLocation): Promise<void> {
  if (kind === 'sqlite') return
  for (const { name } of TABLES) await sql.raw(`analyze "${name}"`).execute(target)
}

async function copyRows(
  view: Kysely<Tables>,
  {
    target,
    location,
    to,
    onRows,
  }: Pick<CopyStoreInput<unknown>, 'to' | 'onRows'> & {
    readonly target: Kysely<Tables>
    readonly location: DatabaseLocation
  },
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  let all = 0
  for (const table of TABLES) {
    let count = 0
    for await (const page of readPages(view, table)) {
      await namingStore(to, target.executeQuery(insertOf(table, { page, kind: location.kind })))
      count += page.length
      onRows?.(all + count)
    }
    counts[table.name] = count
    all += count
  }
  return counts
}

type CopiedTable = Pick<(typeof TABLES)[number], 'name' | 'key' | 'columns'>

// One statement inserts a page, and SQLite takes 32,766 parameters in a statement.
const PAGE_ROWS = 500

/** The statement that inserts a page of rows. PostgreSQL takes a column as one array in less time than its values one by one. */
function insertOf(
  table: CopiedTable,
  {
    page,
    kind,
  }: { readonly page: readonly (string | null)[][]; readonly kind: DatabaseLocation['kind'] },
): CompiledQuery {
  if (kind === 'sqlite') {
    return CompiledQuery.raw(insertText({ table, rows: page.length, kind }), page.flat())
  }
  const { name, columns } = table
  const names = columns.map((column) => `"${column.name}"`).join(',')
  const arrays = columns.map(({ type }, place) =>
    type === 'integer' ? `$${place + 1}::bigint[]` : `$${place + 1}::text[]`,
  )
  return CompiledQuery.raw(
    `insert into "${name}" (${names}) select * from unnest(${arrays.join(',')})`,
    columns.map(({ type }, place) =>
      arrayText(
        page.map((row) => row[place] ?? null),
        type,
      ),
    ),
  )
}

/** An array as PostgreSQL reads it. */
function arrayText(
  values: readonly (string | null)[],
  type: CopiedTable['columns'][number]['type'],
): string {
  const texts = values.map((value) => {
    if (value === null) return 'NULL'
    return type === 'integer' ? value : `"${value.replace(/["\\]/g, '\\$&')}"`
  })
  return `{${texts.join(',')}}`
}

/**
 * All rows of a table, in the order of its key. Values are in the order of the columns: text or null, and
 * integers as decimal text, so that each is exact.
 */
async function* readPages(
  view: Kysely<Tables>,
  table: CopiedTable,
): AsyncGenerator<(string | null)[][]> {
  const { name, key, columns } = table
  const selected = columns.map(({ name: column, type }) =>
    type === 'integer' ? `cast("${column}" as text) as "${column}"` : `"${column}"`,
  )
  const order = sql.raw(key.map((column) => `"${name}"."${column.name}"`).join(', '))
  let after = sql``
  for (;;) {
    const { rows } = await sql<Readonly<Record<string, unknown>>>`
      select ${sql.raw(selected.join(', '))} from ${sql.table(name)} ${after}
      order by ${order} limit ${sql.lit(PAGE_ROWS)}`.execute(view)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map((row) => exactValues(table, row))
    const values = key.map((column) =>
      column.type === 'integer'
        ? sql`cast(${last[column.name]} as bigint)`
        : sql`${last[column.name]}`,
    )
    after = sql`where (${order}) > (${sql.join(values)})`
  }
}

/** Throws `StoreRefused` for a value of another type than its column has, which SQLite can hold. */
function exactValues(
  { name, columns }: CopiedTable,
  row: Readonly<Record<string, unknown>>,
): (string | null)[] {
  return columns.map((column) => {
    const value = row[column.name]
    if (value === null) return null
    if (typeof value === 'string' && (column.type === 'text' || /^-?\d{1,19}$/.test(value))) {
      return value
    }
    throw new StoreRefused(`a row of ${name} has a ${column.name} that is not ${column.type}`)
  })
}
