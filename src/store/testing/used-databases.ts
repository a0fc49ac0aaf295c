import { Client } from 'pg'
import { createPostgresDatabase } from './postgres.ts'
import type { TestDatabase } from './test-databases.ts'

const USES_MAX = 20
// Deleted rows stay in the file of their table, and more of them change how queries are planned.
const GROWTH_BYTES_MAX = 1024 * 1024

// Everything of a database that is not a row: tables, columns, indexes, triggers, functions, settings, statistics that a
// test has had taken, and connections that it has left open.
const SHAPE = `
  select pg_database_size(current_database())::int as bytes, concat_ws(' ',
    (select md5(string_agg(
        concat_ws(' ', c.relname, c.reltuples, c.relrowsecurity, a.attname), ',' order by c.oid, a.attnum))
     from pg_class c join pg_attribute a on a.attrelid = c.oid where c.relnamespace = 'public'::regnamespace),
    (select md5(string_agg(concat_ws(' ', tgname, tgenabled), ',' order by oid)) from pg_trigger),
    (select count(*) from pg_class), (select count(*) from pg_proc), (select count(*) from pg_constraint),
    (select count(*) from pg_statistic), (select count(*) from pg_db_role_setting),
    (select datconnlimit from pg_database where datname = current_database()),
    (select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid())
  ) as kinds`

interface Shape {
  readonly bytes: number
  readonly kinds: string
}

interface UsedDatabase extends TestDatabase {
  readonly uses: number
}

const idle: UsedDatabase[] = []
let untouched: Promise<Shape> | undefined

/**
 * A database as `createPostgresDatabase` makes them, for tests that change nothing but rows: one of an earlier test of
 * this worker, emptied, where there is one. Emptying it takes a tenth of the work of making another. One that was
 * changed otherwise is used by no other test.
 */
export async function takePostgresDatabase(): Promise<TestDatabase> {
  const database: UsedDatabase = idle.pop() ?? { ...(await createPostgresDatabase()), uses: 0 }
  untouched ??= onDatabase(database, shapeOf)
  await untouched
  return { url: database.url, remove: () => giveBack(database) }
}

async function giveBack(database: UsedDatabase): Promise<void> {
  const uses = database.uses + 1
  const isEmptied = uses < USES_MAX && (await onDatabase(database, emptied))
  if (isEmptied) idle.push({ ...database, uses })
  else await database.remove()
}

/** Deletes all rows of a database that has only rows more than a new one; answers whether it has. */
async function emptied(client: Client): Promise<boolean> {
  const [shape, first] = [await shapeOf(client), await untouched]
  if (shape.kinds !== first?.kinds || shape.bytes > first.bytes + GROWTH_BYTES_MAX) return false
  const { rows } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'migrations'`,
  )
  const deletions = rows.map(({ name }) => `delete from "${name}"`)
  // Without triggers, which check foreign keys row by row.
  await client.query(['set session_replication_role = replica', ...deletions].join(';'))
  return true
}

async function shapeOf(client: Client): Promise<Shape> {
  const { rows } = await client.query<Shape>(SHAPE)
  const [shape] = rows
  if (shape === undefined) throw new Error('a database has no shape')
  return shape
}

async function onDatabase<T>(
  { url }: TestDatabase,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client(url)
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}
