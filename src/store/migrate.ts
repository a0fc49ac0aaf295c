import { type Kysely, sql } from 'kysely'
import { DATABASE_MS, isPostgres } from './is-postgres.ts'
import { type Migration, newestOf } from './migrations/migrations.ts'
import type { Tables } from './schema.ts'

/** This program can't use the store's schema or its encoding; the message says what to do. */
export class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch'
}

/** A PostgreSQL database has no tables, and the caller must not make them. */
export class StoreMissing extends SchemaMismatch {
  constructor() {
    super('there is no store in this database: correct its address')
  }
}

// A number that no other program on the same database uses: "tollgate" in ASCII, its first six letters.
const MIGRATION_LOCK = 0x746f6c6c6761

/** The number of the newest migration that the store has; 0 for an empty store. */
async function schemaVersion(db: Kysely<Tables>): Promise<number> {
  if (!(await hasMigrations(db))) return 0
  const newest = await db
    .selectFrom('migrations')
    .select(({ fn }) => fn.max('number').as('number'))
    .executeTakeFirst()
  return newest?.number ?? 0
}

/**
 * Migrates the schema, all steps or none, under SQLite's write lock or PostgreSQL's advisory lock: of several
 * programs that start at once, one migrates. Throws `SchemaMismatch` if the store is newer than the program.
 */
async function migrate(
  db: Kysely<Tables>,
  migrations: readonly Migration[],
  nowMs: number,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    if (isPostgres(trx)) await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(trx)
    await trx.schema
      .createTable('migrations')
      .ifNotExists()
      .addColumn('number', 'integer', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('applied_at_ms', 'bigint', (column) => column.notNull())
      .execute()
    const version = await schemaVersion(trx)
    refuseNewer(version, migrations)
    if (isPostgres(trx) && version > 0 && version < newestOf(migrations)) {
      await refuseWithRunningGateways(trx)
    }
    for (const { number, name, up } of migrations) {
      if (number <= version) continue
      await up(trx)
      await trx.insertInto('migrations').values({ number, name, applied_at_ms: nowMs }).execute()
    }
    const newest = newestOf(migrations)
    if (isPostgres(trx) && version < newest) await refuseOlderPrograms(trx, newest)
  })
}

/**
 * Throws `SchemaMismatch` if the store has migrations that the program does not know. `copy`: the file of a copy
 * that was made before one of them; null if none is known.
 */
function refuseNewer(
  version: number,
  migrations: readonly Migration[],
  copy: string | null = null,
): void {
  const newest = newestOf(migrations)
  if (version <= newest) return
  const restored =
    copy === null
      ? 'the backup that was made before the upgrade'
      : `${copy}, the copy that was made before the store was migrated`
  throw new SchemaMismatch(
    `the store has schema ${version}, and this program knows only schemas up to ${newest}: ` +
      `run the newer program, or stop it and restore ${restored}; what was charged since is lost`,
  )
}

/** Throws `SchemaMismatch` if the store is older than the schema that the first migration makes. */
function refuseOlder(version: number, migrations: readonly Migration[]): void {
  const first = migrations[0]?.number ?? 0
  if (version === 0 || version >= first) return
  throw new SchemaMismatch(
    `the store has schema ${version}, and this program migrates only stores of schema ${first} (release 0.2.0) or newer: ` +
      'start `tollgate serve` of 0.2.0 once, which migrates the store, and then this program',
  )
}

// A gateway writes a heartbeat every 5 seconds, and without one it opens no hold after 20.
const STOPPED_AFTER_MS = 30_000

/**
 * Throws `SchemaMismatch` while gateways work with a PostgreSQL store: their program is an older one, and would write
 * rows without what the migrations add. None starts or beats until the transaction has ended, and an older one never
 * again: see {@link refuseOlderPrograms}.
 */
async function refuseWithRunningGateways(trx: Kysely<Tables>): Promise<void> {
  // Nor is an hour rolled up meanwhile.
  await sql`lock table instances, usage_rolled in exclusive mode`.execute(trx)
  const { rows } = await sql<{ readonly age_ms: number }>`
    select ${DATABASE_MS} - max(heartbeat_at_ms) as age_ms
    from instances where stopped_at_ms is null`.execute(trx)
  const ageMs = rows[0]?.age_ms ?? null
  if (ageMs === null || ageMs > STOPPED_AFTER_MS) return
  throw new SchemaMismatch(
    'a gateway of an older version uses this store, and cannot use it after the migration: stop all gateways of older ' +
      'versions, then start this one again. Nothing was changed. ' +
      `A killed gateway counts as stopped ${STOPPED_AFTER_MS / 1_000} seconds after its last heartbeat`,
  )
}

// Older stores do not have the column.
const SCHEMA_OF_ROLLED_BY = 41

/**
 * From now on the database refuses each heartbeat of a program that knows no schema so new: a gateway that was taken
 * for stopped opens no hold without one. Nor may it say of an hour or a day that it is rolled up, because it knows
 * nothing of sums that were added since. On SQLite no two programs serve from one store.
 */
export async function refuseOlderPrograms(trx: Kysely<Tables>, schema: number): Promise<void> {
  await allowOlderPrograms(trx)
  // Rows of a copy have heartbeats by the clock of another store.
  const { rows } = await sql<{ readonly latest: string }>`
    select greatest((extract(epoch from clock_timestamp()) * 1000)::bigint, max(heartbeat_at_ms))::text as latest
    from instances where program_schema < ${schema} and stopped_at_ms is null`.execute(trx)
  // Earlier programs stay in the table: their instances must still be marked as stopped, which is not a heartbeat.
  await sql`alter table instances add constraint instances_program_schema
    check (program_schema >= ${sql.lit(schema)} or stopped_at_ms is not null
      or heartbeat_at_ms <= ${sql.lit(rows[0]?.latest ?? '0')}::bigint)`.execute(trx)
  if (schema < SCHEMA_OF_ROLLED_BY) return
  // Existing rows are not checked: each migration corrects the rows that it leaves.
  await sql`alter table usage_rolled add constraint usage_rolled_program_schema
    check (program_schema >= ${sql.lit(schema)}) not valid`.execute(trx)
}

/** Until {@link refuseOlderPrograms}, a PostgreSQL store takes what earlier programs wrote elsewhere. */
export async function allowOlderPrograms(trx: Kysely<Tables>): Promise<void> {
  await sql`alter table instances drop constraint if exists instances_program_schema`.execute(trx)
  await sql`alter table usage_rolled drop constraint if exists usage_rolled_program_schema`.execute(
    trx,
  )
}

// The second stores bytes as they are.
const ENCODINGS: ReadonlySet<string> = new Set(['UTF8', 'SQL_ASCII'])

/**
 * Throws `SchemaMismatch` if a PostgreSQL database can't hold every character: names would be refused, and API keys,
 * because the shown part of a key has an ellipsis.
 */
async function refuseOtherEncodings(db: Kysely<Tables>): Promise<void> {
  const { rows } = await sql<{
    readonly encoding: string
  }>`select current_setting('server_encoding') as encoding`.execute(db)
  const { encoding = '' } = rows[0] ?? {}
  if (ENCODINGS.has(encoding)) return
  throw new SchemaMismatch(
    `the database is encoded as ${encoding}, which lacks most characters: drop it, and create it again with ` +
      '`createdb --encoding=UTF8 --template=template0`',
  )
}

async function hasMigrations(db: Kysely<Tables>): Promise<boolean> {
  if (isPostgres(db)) {
    // Looks along the search path only, and not in the schema of another program on the same database.
    const { rows } = await sql<{ readonly found: boolean }>`
      select to_regclass('migrations') is not null as found`.execute(db)
    return rows[0]?.found === true
  }
  const tables = await db.introspection.getTables()
  return tables.some(({ name }) => name === 'migrations')
}

/** The schema that a store must have, and whether it may be migrated. */
export interface UpToDateInput {
  readonly migrateStore: 'never' | 'ifEmpty' | 'always'
  readonly migrations: readonly Migration[]
  readonly nowMs: number
  /** Called before a store with tables is copied aside and migrated, which can take minutes. */
  readonly onMigration?: (schemas: MigratedSchemas) => void
}

/** The schema of a store before and after a migration. */
export interface MigratedSchemas {
  readonly from: number
  readonly to: number
}

/** Makes the tables of an empty store, and migrates an older one, if `migrateStore` says so. Throws `SchemaMismatch`. */
export async function bringUpToDate(
  db: Kysely<Tables>,
  input: UpToDateInput & {
    /** Called with the store's schema before it is migrated. */
    readonly beforeMigration?: (version: number) => Promise<unknown>
    /** Finds the newest copy from before a migration that a program of a schema can use; null: none. */
    readonly findCopy?: (version: number) => string | null
  },
): Promise<void> {
  const { migrations, migrateStore, nowMs } = input
  const newest = newestOf(migrations)
  const version = await schemaVersion(db)
  refuseNewer(version, migrations, input.findCopy?.(newest))
  refuseOlder(version, migrations)
  if (version === newest) return
  if (version === 0 && isPostgres(db)) {
    if (migrateStore === 'never') throw new StoreMissing()
    await refuseOtherEncodings(db)
  }
  if (version > 0) {
    if (migrateStore !== 'always') {
      throw new SchemaMismatch(
        `the store has schema ${version} and this program needs ${newest}: ` +
          'start `tollgate serve` once, which migrates it',
      )
    }
    input.onMigration?.({ from: version, to: newest })
    await input.beforeMigration?.(version)
  }
  await migrate(db, migrations, nowMs)
}
