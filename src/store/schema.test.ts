import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { micros } from '../vocabulary/money.ts'
import { EACH_COUNT } from '../vocabulary/testing/token-usage.ts'
import { REQUESTS, type RequestRow, TABLES, UNCOPIED_TABLES } from './schema.ts'
import type { Store } from './store.ts'
import type { NamedColumn, StoredRow } from './table.ts'
import { COMPUTED } from './testing/raw-rows.ts'
import { createMadeSqliteFile, storeOfTest, TEST_DATABASES } from './testing/test-databases.ts'

const ALL_TABLES = [...TABLES, ...UNCOPIED_TABLES]

describe.each(TEST_DATABASES)('on $engine', ({ create }) => {
  let store: Store

  beforeEach(async () => {
    store = await storeOfTest(create)
  })

  test('the schema has every table and column that the migrations make, and no others', async () => {
    const tables = await store.db.introspection.getTables()
    const made = tables.flatMap(({ name, columns, isView }) =>
      isView
        ? []
        : columns
            .filter((column) => !COMPUTED.has(`${name}.${column.name}`))
            .map((column) => columnText(name, { ...column, type: typeOf(column.dataType) })),
    )
    expect(ALL_TABLES.flatMap(columnTexts).sort()).toEqual(made.sort())
  })

  test('no column is a sequence, which a copy would leave behind', async () => {
    const counters =
      store.location.kind === 'postgres'
        ? sql`select sequence_name from information_schema.sequences`
        : sql`select name from sqlite_master where name = 'sqlite_sequence'`
    expect((await counters.execute(store.db)).rows).toEqual([])
  })
})

test('the key of each table is its primary key, in order', async () => {
  const store = await storeOfTest(createMadeSqliteFile)
  for (const { name, key } of ALL_TABLES) {
    const { rows } = await sql<{ readonly name: string }>`
      select name from pragma_table_info(${name}) where pk > 0 order by pk`.execute(store.db)
    expect([name, ...key.map((column) => column.name)]).toEqual([
      name,
      ...rows.map((row) => row.name),
    ])
  }
})

const REQUEST: RequestRow = {
  ...REQUESTS.start,
  id: 'req_1',
  accountId: 'acct_1',
  apiKeyId: 'key_1',
  instanceId: 'inst_1',
  endpoint: 'chat',
  upstream: 'openrouter',
  modelId: 'acme/text',
  stream: true,
  state: 'open',
  backedGrantedMicros: micros(5),
  freeGrantedMicros: micros(6),
  backedHeldMicros: micros(5),
  freeHeldMicros: micros(6),
  priceSnapshotId: 'price_1',
  feeBasisPoints: 500,
  openedAtMs: 9,
}

describe('a row', () => {
  test('reads back unchanged, with or without the columns that are null together', () => {
    for (const row of [
      REQUEST,
      { ...REQUEST, usage: EACH_COUNT, costUsd: '0.1', httpStatus: 200 },
    ]) {
      const record: StoredRow = REQUESTS.record(row)
      expect(REQUESTS.read(record)).toEqual(row)
      expect(REQUESTS.values(row)).toEqual(REQUESTS.columns.map(({ name }) => record[name]))
    }
  })

  test('is written with its moving columns and its key where it has changed', () => {
    const names = [...REQUESTS.moving, ...REQUESTS.key].map(({ name }) => name)
    const record: StoredRow = REQUESTS.record(REQUEST)
    expect(REQUESTS.changedRecord(REQUEST)).toEqual(
      Object.fromEntries(names.map((name) => [name, record[name]])),
    )
    expect(REQUESTS.changedValues(REQUEST)).toEqual(names.map((name) => record[name]))
  })

  test.each([
    ['state', 'lost'],
    ['model_id', null],
    ['late_reports', 1.5],
    ['late_reports', 2n],
    ['opened_at_ms', '9'],
    ['backed_held_micros', Number.MAX_SAFE_INTEGER + 1],
    ['cost_usd', 0.1],
  ])('whose %s is %s is not read', (name, value) => {
    const record = { ...REQUESTS.record(REQUEST), [name]: value }
    expect(() => REQUESTS.read(record)).toThrow(TypeError)
    expect(() => REQUESTS.read(record)).toThrow(name)
  })

  test('with some of the columns that are null together is not read', () => {
    const record = { ...REQUESTS.record({ ...REQUEST, usage: EACH_COUNT }), searches: null }
    expect(() => REQUESTS.read(record)).toThrow('searches')
  })
})

function columnTexts({ name, columns }: (typeof ALL_TABLES)[number]): string[] {
  return columns.map((column) => columnText(name, column))
}

function columnText(table: string, { name, type, isNullable }: NamedColumn): string {
  // SQLite does not say of a key that is an integer that it can't be null.
  const isKey = ALL_TABLES.some(
    (some) => some.name === table && some.key.some((column) => column.name === name),
  )
  return `${table}.${name} ${type}${isNullable && !isKey ? ' or null' : ''}`
}

function typeOf(dataType: string): NamedColumn['type'] {
  return dataType.toLowerCase() === 'text' ? 'text' : 'integer'
}
