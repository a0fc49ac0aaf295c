import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../open-store.ts'
import { TEST_DATABASES, type TestDatabase } from '../testing/test-databases.ts'
import { EXPORTED_TABLES } from './exported-tables.ts'

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

  test('every table and column that the migrations make is exported, but which were applied', async () => {
    const tables = await store.db.introspection.getTables()
    const made = tables
      .filter(({ name }) => name !== 'migrations')
      .map(({ name, columns }) => [name, columns.map((column) => column.name).sort()])
    const exported = EXPORTED_TABLES.map(({ name, columns }) => [
      name,
      columns.map((column) => column.name).sort(),
    ])
    expect(exported.sort()).toEqual(made.sort())
  })

  test('columns that are exported as integers are integers, and as text are text', async () => {
    const tables = await store.db.introspection.getTables()
    const made = tables.flatMap(({ name, columns }) =>
      columns.map((column) => [
        `${name}.${column.name}`,
        column.dataType.toLowerCase() === 'text' ? 'text' : 'integer',
      ]),
    )
    const kinds = new Map(made.map(([name, kind]) => [name, kind]))
    for (const { name, columns } of EXPORTED_TABLES) {
      for (const column of columns) {
        expect([`${name}.${column.name}`, column.kind]).toEqual([
          `${name}.${column.name}`,
          kinds.get(`${name}.${column.name}`),
        ])
      }
    }
  })

  test('no column counts by itself, so that none has to be told where to go on after an import', async () => {
    const counters =
      store.location.kind === 'postgres'
        ? sql`select sequence_name from information_schema.sequences`
        : sql`select name from sqlite_master where name = 'sqlite_sequence'`
    expect((await counters.execute(store.db)).rows).toEqual([])
  })
})

test('rows are exported in the order of their primary key', async () => {
  const database = await TEST_DATABASES[0]?.create()
  const store = await openStore({ url: database?.url })
  for (const { name, key } of EXPORTED_TABLES) {
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
