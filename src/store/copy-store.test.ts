import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { sql } from 'kysely'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CopyFailed, CopyUnconfirmed, copyStore } from './copy-store.ts'
import { PROGRAM_SCHEMA } from './migrations/migrations.ts'
import { openStore } from './open-store.ts'
import { acquireServeLock, ServeLockHeld } from './sqlite/sqlite-connection.ts'
import { insertRawRows, type RawRow, type RawRows, readRawRows } from './testing/raw-rows.ts'
import { startSeveringProxy } from './testing/severing-proxy.ts'
import { MADE_DATABASES, type TestDatabase } from './testing/test-databases.ts'

let closing: (() => unknown)[]

beforeEach(() => {
  closing = []
})
afterEach(async () => {
  for (const close of closing.toReversed()) await close()
})

type Engine = 'SQLite' | 'PostgreSQL'

/** The address of an empty store with its tables. */
async function newStore(engine: string, rows: RawRows = {}): Promise<string> {
  const database: TestDatabase | undefined = await MADE_DATABASES.find(
    (one) => one.engine === engine,
  )?.create()
  if (database === undefined) throw new Error(`no engine ${engine}`)
  closing.push(() => database.remove())
  await insertRawRows(database.url, rows)
  return database.url
}

function copy(from: string, to: string) {
  return copyStore({ from, to, verify: async () => {} })
}

async function proxyTo(url: string) {
  const proxy = await startSeveringProxy(url)
  closing.push(() => proxy.close())
  return proxy
}

/** Runs statements that no command would, on a SQLite store. */
function onSqliteFile(url: string, statements: string): void {
  const connection = new DatabaseSync(url.replace('sqlite:', ''), {
    enableForeignKeyConstraints: false,
  })
  connection.exec(statements)
  connection.close()
}

async function onStore(url: string, statement: string): Promise<void> {
  const store = await openStore({ url })
  await sql.raw(statement).execute(store.db)
  await store.close()
}

const ACCOUNT: RawRow = {
  id: 'acct_1',
  name: 'Ada',
  created_at_ms: 1,
  backed_balance_micros: 5,
  has_backed_credit: 1,
  entry_count: 1,
}
const ENTRY: RawRow = {
  account_id: 'acct_1',
  number: 1,
  kind: 'top_up',
  purse: 'backed',
  amount_micros: 5,
  reference: 'r',
  created_at_ms: 1,
}
const ROWS: RawRows = {
  accounts: [ACCOUNT],
  entries: [ENTRY],
  settings: [{ name: 'maintenance', value: 'off' }],
}

/** Stores that are empty but for one row, by the table that has it. */
const ONE_ROW_EACH: RawRows = {
  accounts: [ACCOUNT],
  settings: [{ name: 'maintenance', value: 'off' }],
  instances: [{ id: 'inst_1', started_at_ms: 1, heartbeat_at_ms: 1, program_schema: 0 }],
  catalog_state: [{ upstream: 'openrouter', source: 'simulator', place: 0, refreshed_at_ms: 1 }],
  credit_codes: [
    { id: 'code_1', code_hash: 'h', display_suffix: 's', amount_micros: 1, created_at_ms: 1 },
  ],
}

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

  test('a text of megabytes arrives beside an integer that no number of JavaScript is', async () => {
    const row = { id: 'p', model_id: 'a/b', created_at_ms: 2n ** 63n - 1n }
    const prices_json = '\n"\\x'.repeat(3_500_000)
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
    expect(counts).toEqual([2, 202, 402, 602, 802, 1_002, 1_202, 1_302])
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

test('heartbeats of older programs arrive whatever their clock said, and are the last of such programs', async () => {
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

describe.each(MADE_DATABASES)('to $engine', ({ engine }) => {
  let from: string
  let to: string
  let shown: string

  beforeEach(async () => {
    from = await newStore('SQLite', ROWS)
    to = await newStore(engine)
    shown = to.replace(/:[^:@/]+@/, '@')
  })

  /** What a copy rejects with, which must leave the target empty. */
  async function refusal(): Promise<unknown> {
    const refused = await copy(from, to).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(CopyFailed)
    expect(Object.values(await readRawRows(to)).flat()).toEqual([])
    return refused
  }

  test('rows that the store refuses leave it empty', async () => {
    onSqliteFile(from, `insert into deposit_addresses values (1, '0x01', 'gone', 1)`)
    expect(await refusal()).toMatchObject({
      message: expect.stringMatching(/foreign key constraint/i),
    })
  })

  test('a store that takes other rows than it was given stays empty', async () => {
    await onStore(
      to,
      engine === 'SQLite'
        ? `create trigger t before insert on settings begin select raise(ignore); end`
        : 'create rule t as on insert to settings do instead nothing',
    )
    expect(await refusal()).toMatchObject({
      message: `${shown}: it has 0 rows of settings after 1 were inserted`,
    })
  })

  test('a check of the copy that fails leaves the store empty', async () => {
    const refused = copyStore({
      from,
      to,
      async verify(view) {
        const { rows } = await sql<{ readonly name: string }>`
          select name from accounts`.execute(view)
        throw new Error(`not ${rows[0]?.name}`)
      },
    })
    await expect(refused).rejects.toThrow('not Ada')
    expect(Object.values(await readRawRows(to)).flat()).toEqual([])
  })

  test('a store that has any row is refused, and keeps its rows', async () => {
    for (const [name, rows] of Object.entries(ONE_ROW_EACH)) {
      const target = await newStore(engine, { [name]: rows })
      const before = await readRawRows(target)
      await expect(copy(from, target)).rejects.toThrow(`is not empty, it has ${name}: `)
      expect(await readRawRows(target)).toEqual(before)
    }
  })

  test('a store of another schema is refused on either side, and named', async () => {
    const statement = 'update migrations set number = 1000 where number = 26'
    await onStore(to, statement)
    const refused = `${shown}: the store has schema 1000 and this program knows none above`
    await expect(copy(from, to)).rejects.toThrow(refused)
    await expect(copy(to, from)).rejects.toThrow(refused)
    await onStore(from, 'delete from migrations where number > 26')
    await expect(copy(from, await newStore(engine))).rejects.toThrow(
      `${from}: the store has schema 26 and this program needs ${PROGRAM_SCHEMA}: start`,
    )
  })
})

test('a SQLite store that a server uses is refused', async () => {
  const [from, to] = [await newStore('SQLite', ROWS), await newStore('SQLite')]
  const lock = acquireServeLock(to.replace('sqlite:', ''))
  await expect(copy(from, to)).rejects.toThrow(`a server uses ${to}: stop it`)
  lock.release()
  await copy(from, to)
})

test('no server can start on the target while it is filled', async () => {
  const from = await newStore('SQLite', ROWS)
  const sqlite = await newStore('SQLite')
  await copyStore({
    from,
    to: sqlite,
    verify: async () =>
      expect(() => acquireServeLock(sqlite.replace('sqlite:', ''))).toThrow(ServeLockHeld),
  })
  const postgres = await newStore('PostgreSQL')
  const server = new Client(postgres)
  closing.push(() => server.end())
  await server.connect()
  await server.query('set lock_timeout = 1')
  const begin = () =>
    server.query(`insert into instances (id, started_at_ms, heartbeat_at_ms, program_schema)
      values ('i', 1, 1, 0)`)
  await copyStore({
    from,
    to: postgres,
    verify: () => expect(begin()).rejects.toThrow('lock timeout'),
  })
  await begin()
})

test('the lock of the target ends with the copy, however it ends', async () => {
  const [from, to] = [await newStore('SQLite', ROWS), await newStore('SQLite')]
  await copy(from, to)
  await expect(copy(from, to)).rejects.toThrow('is not empty')
  acquireServeLock(to.replace('sqlite:', '')).release()
})

describe('a connection that is lost', () => {
  test.each([['insert into "settings"'], ['insert into "entries"'], ['analyze "accounts"']])(
    'by the target at %s leaves it empty',
    async (statement) => {
      const [from, to] = [await newStore('SQLite', ROWS), await newStore('PostgreSQL')]
      const proxy = await proxyTo(to)
      proxy.severAfter(statement)
      await expect(copy(from, proxy.url)).rejects.toThrow(
        /^postgres:\/\/tollgate@127\.0\.0\.1:\d+\/test_\w+: [\d.:]+ Connection terminated/,
      )
      expect(Object.values(await readRawRows(to)).flat()).toEqual([])
      await copy(from, proxy.url)
      expect(await readRawRows(to)).toEqual(await readRawRows(from))
    },
  )

  test('by the source leaves the target empty', async () => {
    const [from, to] = [await newStore('PostgreSQL', ROWS), await newStore('SQLite')]
    const proxy = await proxyTo(from)
    proxy.severAfter('from "entries"')
    await expect(copy(proxy.url, to)).rejects.toThrow(
      /^postgres:\/\/tollgate@127\.0\.0\.1:\d+\/test_\w+: [\d.:]+ Connection terminated/,
    )
    expect(Object.values(await readRawRows(to)).flat()).toEqual([])
  })

  test('at the commit is reported as a copy that has every row or none', async () => {
    const [from, to] = [await newStore('SQLite', ROWS), await newStore('PostgreSQL')]
    const proxy = await proxyTo(to)
    const copying = copyStore({
      from,
      to: proxy.url,
      verify: async () => proxy.severAfter('commit'),
    })
    await expect(copying).rejects.toThrow(CopyUnconfirmed)
    const { accounts = [], settings = [], entries = [] } = await readRawRows(to)
    expect([0, 1]).toContain(accounts.length)
    expect([settings.length, entries.length]).toEqual([accounts.length, accounts.length])
  })
})
