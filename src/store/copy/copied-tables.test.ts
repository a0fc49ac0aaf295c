import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../open-store.ts'
import { TEST_DATABASES, type TestDatabase } from '../testing/test-databases.ts'
import { COPIED_TABLES } from './copied-tables.ts'

describe.each(TEST_DATABASES)('on $engine', ({ create }) => {
  let database: TestDatabase
  let store: Store

  beforeEach(async () => {
    database = await create()
    store = await openStore({ url: database.url })
  })
  afterEach(async () => {
    await store.close()
    await database.remove()
  })

  test('every table and column that the migrations make is copied, except the list of migrations', async () => {
    const tables = await store.db.introspection.getTables()
    const made = tables
      .filter(({ name }) => name !== 'migrations')
      .map(({ name, columns }) => [name, columns.map((column) => column.name).sort()])
    const copied = COPIED_TABLES.map(({ name, columns }) => [
      name,
      columns.map((column) => column.name).sort(),
    ])
    expect(copied.sort()).toEqual(made.sort())
  })

  test('columns that are copied as integers are integers, and as text are text', async () => {
    const tables = await store.db.introspection.getTables()
    const made = tables.flatMap(({ name, columns }) =>
      columns.map((column) => [
        `${name}.${column.name}`,
        column.dataType.toLowerCase() === 'text' ? 'text' : 'integer',
      ]),
    )
    const kinds = new Map(made.map(([name, kind]) => [name, kind]))
    for (const { name, columns } of COPIED_TABLES) {
      for (const column of columns) {
        expect([`${name}.${column.name}`, column.kind]).toEqual([
          `${name}.${column.name}`,
          kinds.get(`${name}.${column.name}`),
        ])
      }
    }
  })

  test('no column counts by itself, so that a copy leaves no sequence behind', async () => {
    const counters =
      store.location.kind === 'postgres'
        ? sql`select sequence_name from information_schema.sequences`
        : sql`select name from sqlite_master where name = 'sqlite_sequence'`
    expect((await counters.execute(store.db)).rows).toEqual([])
  })
})

test('the key of each table is its primary key, in order', async () => {
  const database = await TEST_DATABASES[0]?.create()
  const store = await openStore({ url: database?.url })
  for (const { name, key } of COPIED_TABLES) {
    const { rows } = await sql<{ readonly name: string }>`
      select name from pragma_table_info(${name}) where pk > 0 order by pk`.execute(store.db)
    expect([name, ...key.map((column) => column.name)]).toEqual([
      name,
      ...rows.map((row) => row.name),
    ])
  }
  await store.close()
  await database?.remove()
})
