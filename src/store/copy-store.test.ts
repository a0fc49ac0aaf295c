import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { copyStore } from './copy-store.ts'
import {
  ACCOUNT,
  copy,
  ENTRY,
  type Engine,
  onSqliteFile,
  onStore,
  ROWS,
  storesOfFile,
} from './testing/copied-stores.ts'
import { insertRawRows, type RawRows, readRawRows } from './testing/raw-rows.ts'

const { newStore } = storesOfFile()

// PostgreSQL has no text with a zero character in it, and neither engine has half a surrogate pair.
const text = fc.string({ unit: 'binary', maxLength: 12 }).filter((value) => !value.includes('\0'))
const integer = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(0n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)),
)

const anyRows: fc.Arbitrary<RawRows> = fc.record({
  settings: fc.uniqueArray(fc.record({ name: text, value: text }), { selector: (row) => row.name }),
  price_snapshots: fc.uniqueArray(
    fc.record({ id: text, model_id: text, prices_json: text, created_at_ms: integer }),
    { selector: (row) => row.id },
  ),
  instances: fc.uniqueArray(
    fc.record({
      id: text,
      started_at_ms: integer,
      heartbeat_at_ms: integer,
      program_schema: fc.integer(),
      stopped_at_ms: fc.option(integer, { nil: null }),
    }),
    { selector: (row) => row.id },
  ),
})

const DIRECTIONS: readonly [Engine, Engine][] = [
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
  ['SQLite', 'SQLite'],
  ['PostgreSQL', 'PostgreSQL'],
]

describe.each(DIRECTIONS)('from %s to %s', (fromEngine, toEngine) => {
  test('any text and any integer arrives exactly', async () => {
    await fc.assert(
      fc.asyncProperty(anyRows, async (rows) => {
        const [from, to] = [await newStore(fromEngine, rows), await newStore(toEngine)]
        await copy(from, to)
        expect(await readRawRows(to)).toEqual(await readRawRows(from))
      }),
      { numRuns: 3 },
    )
  })

  test("a text of megabytes arrives with an integer that exceeds JavaScript's numbers", async () => {
    const row = { id: 'p', model_id: 'a/b', created_at_ms: 2n ** 63n - 1n }
    const prices_json = '\n"\\x'.repeat(1_000_000)
    const from = await newStore(fromEngine, { price_snapshots: [{ ...row, prices_json }] })
    const to = await newStore(toEngine)
    await copy(from, to)
    const [arrived, sent] = [await readRawRows(to), await readRawRows(from)]
    expect(arrived['price_snapshots']?.[0] === sent['price_snapshots']?.[0]).toBe(true)
  })

  test('every page of every key arrives, once, and is counted', async () => {
    const accounts = ['acct_1', 'acct_2'].map((id) => ({ ...ACCOUNT, id }))
    const entries = accounts.flatMap(({ id }) =>
      Array.from({ length: 450 }, (_, place) => ({
        ...ENTRY,
        account_id: id,
        number: place + 1,
        reference: null,
      })),
    )
    const settings = Array.from({ length: 400 }, (_, place) => ({ name: `n${place}`, value: 'v' }))
    const from = await newStore(fromEngine, { accounts, settings, entries })
    const to = await newStore(toEngine)
    const counts: number[] = []
    const { rows } = await copyStore({
      from,
      to,
      verify: async () => {},
      onRows: (count) => counts.push(count),
    })
    expect(await readRawRows(to)).toEqual(await readRawRows(from))
    expect(rows).toMatchObject({ accounts: 2, settings: 400, entries: 900, requests: 0 })
    expect(counts).toEqual([2, 402, 902, 1_302])
  })
})

test('a PostgreSQL database that orders text as a language does is copied whole', async () => {
  const from = await newStore('PostgreSQL')
  await onStore(from, 'alter table settings alter column name type text collate "und-x-icu"')
  const settings = Array.from({ length: 500 }, (_, place) => ({
    name: `${'aBbÄ'[place % 4]}${place}`,
    value: 'v',
  }))
  await insertRawRows(from, { settings })
  const to = await newStore('SQLite')
  await copy(from, to)
  expect(await readRawRows(to)).toEqual(await readRawRows(from))
})

test('heartbeats of older programs arrive with any clock, and are the last of such programs', async () => {
  const aheadMs = 2n ** 53n + 1n
  const older = { started_at_ms: 1, heartbeat_at_ms: aheadMs, program_schema: 0 }
  const from = await newStore('SQLite', {
    instances: [
      { id: 'inst_1', ...older, stopped_at_ms: null },
      { id: 'inst_2', ...older, stopped_at_ms: aheadMs },
    ],
  })
  const to = await newStore('PostgreSQL')
  await copy(from, to)
  expect(await readRawRows(to)).toEqual(await readRawRows(from))
  const wake = 'update instances set heartbeat_at_ms = heartbeat_at_ms + 1, stopped_at_ms = null'
  await expect(onStore(to, wake)).rejects.toThrow('instances_program_schema')
})

test('rows that are written during a copy are not in it', async () => {
  const from = await newStore('SQLite', ROWS)
  const before = await readRawRows(from)
  const to = await newStore('SQLite')
  let writes = 0
  await copyStore({
    from,
    to,
    verify: async () => {},
    onRows() {
      if (writes === 10) return
      writes += 1
      onSqliteFile(
        from,
        `insert into entries (account_id, number, kind, purse, amount_micros, created_at_ms)
         values ('acct_1', ${writes + 1}, 'top_up', 'backed', 1, 1)`,
      )
    },
  })
  expect(writes).toBe(3)
  expect((await readRawRows(from))['entries']).toHaveLength(4)
  expect(await readRawRows(to)).toEqual(before)
})

test('a value of another type than its column has is not copied', async () => {
  for (const [statement, said] of [
    [`update accounts set created_at_ms = 'soon'`, 'has a created_at_ms that is not integer'],
    ['update accounts set created_at_ms = 1.5', 'has a created_at_ms that is not integer'],
    [`update accounts set name = x'00ff'`, 'has a name that is not text'],
  ] as const) {
    const from = await newStore('SQLite', ROWS)
    onSqliteFile(from, statement)
    await expect(copy(from, await newStore('SQLite'))).rejects.toThrow(
      `${from}: a row of accounts ${said}`,
    )
  }
})

test('a zero character arrives on SQLite, and is refused whole by PostgreSQL', async () => {
  const from = await newStore('SQLite', { settings: [{ name: 'n', value: 'a\0b' }] })
  const [sqlite, postgres] = [await newStore('SQLite'), await newStore('PostgreSQL')]
  await copy(from, sqlite)
  expect((await readRawRows(sqlite))['settings']).toEqual(['{"name":"n","value":"a\\u0000b"}'])
  await expect(copy(from, postgres)).rejects.toThrow(/test_\w+: invalid byte sequence.+0x00/)
})
