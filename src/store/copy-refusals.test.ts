import { sql } from 'kysely'
import { Client } from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { CopyFailed, CopyUnconfirmed, copyStore } from './copy-store.ts'
import { PROGRAM_SCHEMA } from './migrations/migrations.ts'
import { acquireServeLock, ServeLockHeld } from './sqlite/sqlite-connection.ts'
import {
  ACCOUNT,
  copy,
  onSqliteFile,
  onStore,
  ROWS,
  storesOfFile,
} from './testing/copied-stores.ts'
import { type RawRows, readRawRows } from './testing/raw-rows.ts'
import { startSeveringProxy } from './testing/severing-proxy.ts'
import { MADE_DATABASES } from './testing/test-databases.ts'

const { newStore, closeAfter } = storesOfFile()

async function proxyTo(url: string) {
  const proxy = await startSeveringProxy(url)
  closeAfter(() => proxy.close())
  return proxy
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

describe.each(MADE_DATABASES)('to $engine', ({ engine }) => {
  let from: string
  let to: string
  let shown: string

  beforeEach(async () => {
    from = await newStore('SQLite', ROWS)
    to = await newStore(engine)
    shown = to.replace(/:[^:@/]+@/, '@')
  })

  /** The error of a copy, which must leave the target empty. */
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
    const refused = `${shown}: the store has schema 1000, and this program knows only schemas up to`
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
  closeAfter(() => server.end())
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
