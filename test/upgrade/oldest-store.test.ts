import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { auditStore, auditView } from '../../src/ledger/audit/audit.ts'
import { AUDIT_CHECKS } from '../../src/operations/gateway/upkeep.ts'
import { copyStore } from '../../src/store/copy-store.ts'
import { openStore } from '../../src/store/open-store.ts'
import { UNCOPIED_TABLES } from '../../src/store/schema.ts'
import { readRawRows } from '../../src/store/testing/raw-rows.ts'
import { TEST_DATABASES, type TestDatabase } from '../../src/store/testing/test-databases.ts'

/**
 * A store of 0.2.0, the oldest that is migrated: its tables as that version made them, and rows that it wrote or
 * migrated, of requests in every state, both purses, a refund, a limited key, a redeemed credit code, users and a
 * purchase on hold. These files never change.
 */

const ENGINES = ['SQLite', 'PostgreSQL'] as const
type Engine = (typeof ENGINES)[number]

async function databaseOf(engine: Engine): Promise<TestDatabase> {
  const found = TEST_DATABASES.find((one) => one.engine === engine)
  if (found === undefined) throw new Error(`no engine ${engine}`)
  return found.create()
}

const auditChecked = (view: Parameters<typeof auditView>[0]) =>
  auditView(view, { checks: AUDIT_CHECKS })

const read = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8')
const ROWS = read('of-0.2.0.rows.sql')

/** A database as that version left it. */
async function storeOf020(engine: Engine): Promise<TestDatabase> {
  const database = await databaseOf(engine)
  const statements = read(`of-0.2.0.${engine.toLowerCase()}.sql`) + ROWS
  if (engine === 'SQLite') {
    const file = new DatabaseSync(database.url.replace('sqlite:', ''))
    file.exec(statements)
    file.close()
  } else {
    const client = new Client({ connectionString: database.url })
    await client.connect()
    // A test's database has the tables of today.
    await client.query('drop schema public cascade; create schema public')
    await client.query(statements)
    await client.end()
  }
  return database
}

/** The columns and values of each row as that version wrote them, as text, by table. */
function writtenRows(): Record<string, Record<string, string | null>[]> {
  const tables: Record<string, Record<string, string | null>[]> = {}
  const file = new DatabaseSync(':memory:')
  file.exec(read('of-0.2.0.sqlite.sql') + ROWS)
  for (const [, name = ''] of ROWS.matchAll(/^insert into (\w+) /gm)) {
    if (name === 'migrations' || tables[name] !== undefined) continue
    const columns = file.prepare(`select name from pragma_table_info('${name}')`).all()
    const texts = columns.map(({ name: column }) => `cast("${column}" as text) as "${column}"`)
    const rows = file.prepare(`select ${texts.join(', ')} from "${name}"`).all()
    tables[name] = rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([column, value]) => [column, value === null ? null : `${value}`]),
      ),
    )
  }
  file.close()
  return tables
}

/** A row without `updated_at_ms`, which nothing read, and with the column that later versions have for `disputed`. */
function migrated({ disputed, updated_at_ms: _, ...row }: Record<string, string | null>) {
  if (disputed === undefined) return row
  return { ...row, dispute: disputed === '1' ? 'open' : null }
}

/** Each row that was written is there, with every column that it had; others may have been added. */
function expectSameRows(read: Record<string, string[]>): void {
  const written = writtenRows()
  expect(Object.keys(written)).toContain('requests')
  for (const [table, rows] of Object.entries(written)) {
    // Marks of roll-ups, which are made again with the costs that 0.2.0 did not know.
    if (table === 'usage_rolled') continue
    const found = (read[table] ?? []).map((row) => JSON.parse(row))
    expect(found, table).toHaveLength(rows.length)
    for (const row of rows) {
      expect(found, table).toContainEqual(expect.objectContaining(migrated(row)))
    }
  }
}

test.each(ENGINES)('on %s it is migrated, exact, and every row is unchanged', async (engine) => {
  const database = await storeOf020(engine)
  const store = await openStore({ url: database.url, migrateStore: 'always' })
  const { checked, differences } = await auditStore(store, { checks: AUDIT_CHECKS })
  await store.close()
  expect(differences).toEqual([])
  expect(checked).toMatchObject({ accounts: 2, apiKeys: 4, requests: 14, creditCodes: 2 })
  expectSameRows(await readRawRows(database.url))
  await database.remove()
})

test.each([
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
] as const)(
  'copied from %s to %s and back it is exact and equal, row by row',
  async (one, other) => {
    const source = await storeOf020(one)
    await openStore({ url: source.url, migrateStore: 'always' }).then((store) => store.close())
    const [there, back] = [await databaseOf(other), await databaseOf(one)]
    for (const [from, to] of [
      [source, there],
      [there, back],
    ] as const) {
      const { verified } = await copyStore({ from: from.url, to: to.url, verify: auditChecked })
      expect(verified.differences).toEqual([])
    }
    const [rows, sourceRows] = [await readRawRows(back.url), await readRawRows(source.url)]
    const uncopied = Object.fromEntries(
      UNCOPIED_TABLES.map(({ name }) => [name, sourceRows[name] ?? []]),
    )
    expect({ ...rows, ...uncopied }).toEqual({ ...sourceRows, ...uncopied })
    expectSameRows({ ...rows, ...uncopied })
    for (const database of [source, there, back]) await database.remove()
  },
)
