import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startWorld, type World } from '../../test/world.ts'
import { createLedger } from '../ledger/engines/create-ledger.ts'
import { Presence } from '../ledger/instances/presence.ts'
import { randomScriptOfHours, SETUP } from '../ledger/testing/random-script.ts'
import { runScript } from '../ledger/testing/script.ts'
import { createSqliteBench } from '../ledger/testing/sqlite-bench.ts'
import { openStore } from '../store/open-store.ts'
import { claimUpstream, UpstreamMismatch } from '../store/settings.ts'
import { createPostgresDatabase } from '../store/testing/postgres.ts'
import { readRawRows } from '../store/testing/raw-rows.ts'
import { TEST_DATABASES, type TestDatabase } from '../store/testing/test-databases.ts'
import { type CommandLine, failed, openCommandLine } from './testing/command-line.ts'

let folder: string
let closing: (() => unknown)[]
let files: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-moving-'))
  closing = [() => rmSync(folder, { recursive: true })]
  files = 0
})
afterEach(async () => {
  for (const close of closing.toReversed()) await close()
})

function commandsOn(storeUrl: string): CommandLine {
  const line = openCommandLine({ storeUrl })
  closing.push(() => line.close())
  return line
}

async function databaseOf(create: () => Promise<TestDatabase>): Promise<string> {
  const database = await create()
  closing.push(() => database.remove())
  return database.url
}

const newSqlite = () => `sqlite:${join(folder, `${++files}.db`)}`

/** Copies a store to another. */
async function move(from: string, to: string): Promise<void> {
  const moved = await commandsOn(from).run('copy', '--to', to)
  expect(moved).toMatchObject({ exitCode: 0, out: expect.stringContaining('audit is exact') })
  expect(await readRawRows(to)).toEqual(await readRawRows(from))
}

async function chat(world: World, apiKey: string): Promise<Response> {
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const answer = await fetch(world.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: 'sim/text', max_tokens: 16, user: 'someone', messages }),
  })
  await answer.text()
  await world.gateway.settled()
  return answer
}

/** The body of the last chat request that reached the provider. */
function lastChat({ simulator }: World): unknown {
  const last = simulator.requests.findLast(({ path }) => path.endsWith('/chat/completions'))
  if (last === undefined) throw new Error('no chat request came')
  return last.body
}

test('a store with every kind of row moves to PostgreSQL and back, and stays exact', async () => {
  await fc.assert(
    fc.asyncProperty(randomScriptOfHours, async (script) => {
      const bench = await createSqliteBench()
      try {
        await runScript(bench, `${SETUP}\ncode C 70\ncode D 5 revoked\nredeem C A2\n${script}`)
        const [postgres, sqlite] = [await databaseOf(createPostgresDatabase), newSqlite()]
        await move(`sqlite:${bench.file}`, postgres)
        await move(postgres, sqlite)
        expect(await readRawRows(sqlite)).toEqual(await readRawRows(`sqlite:${bench.file}`))
        const audit = await commandsOn(`sqlite:${bench.file}`).json('audit')
        expect(await commandsOn(sqlite).json('audit')).toEqual(audit)
      } finally {
        await bench.close()
      }
    }),
    { numRuns: 2 },
  )
})

describe.each(TEST_DATABASES)('to $engine', ({ create }) => {
  test('a gateway continues with the same keys, balances, tags, models and Activity', async () => {
    const before = await startWorld()
    closing.push(() => before.close())
    const { id, apiKey } = await before.account()
    await chat(before, apiKey)
    const balanceMicros = await before.backedBalanceMicros(id)
    const tag = lastChat(before)
    await before.gateway.close()
    const url = await databaseOf(create)
    await move(before.config.DATABASE_URL ?? '', url)

    const after = await startWorld({ settings: { DATABASE_URL: url } })
    closing.push(() => after.close())
    expect(await after.backedBalanceMicros(id)).toBe(balanceMicros)
    expect(await commandsOn(url).json('request', 'list')).toMatchObject({
      data: [{ account_id: id, state: expect.stringMatching(/^(provisional|final)$/) }],
    })
    expect((await chat(after, apiKey)).status).toBe(200)
    expect(lastChat(after)).toEqual(tag)
    expect(await after.backedBalanceMicros(id)).toBe(2 * balanceMicros - 10_000_000)
    expect(await after.audit()).toMatchObject({ ok: true, checked: { requests: 2 } })
  })

  test('play money of the simulator stays play money', async () => {
    const from = commandsOn(newSqlite())
    await from.run('account', 'create', 'Ada')
    const store = await openStore({ url: from.storeUrl })
    await claimUpstream(store.db, 'simulator')
    await store.close()
    const url = await databaseOf(create)
    expect((await from.run('copy', '--to', url)).notes).toBe(
      'all money of the store is play money\n',
    )
    const copy = await openStore({ url })
    const claim = claimUpstream(copy.db, 'https://provider.example/v1')
    await expect(claim).rejects.toThrow(UpstreamMismatch)
    await copy.close()
  })
})

describe('requests in flight at the copy', () => {
  async function withOpenHold(): Promise<string> {
    const bench = await createSqliteBench()
    closing.push(() => bench.close())
    await runScript(
      bench,
      'account A\nkey K A\ncredit A backed 100 r1\nopen req_1 K 60 by inst_gone',
    )
    return `sqlite:${bench.file}`
  }

  test('are reported, and become unresolved when a server starts on a SQLite store', async () => {
    const from = commandsOn(await withOpenHold())
    const to = newSqlite()
    expect((await from.run('copy', '--to', to)).notes).toContain('1 request was in flight')
    const world = await startWorld({ settings: { DATABASE_URL: to } })
    closing.push(() => world.close())
    expect(await commandsOn(to).json('request', 'show', 'req_1')).toMatchObject({
      state: 'unresolved',
      held: 60,
    })
  })

  test('become unresolved on PostgreSQL once their instance has missed its heartbeats', async () => {
    const url = await databaseOf(createPostgresDatabase)
    await move(await withOpenHold(), url)
    const store = await openStore({ url })
    closing.push(() => store.close())
    const ledger = createLedger({ location: store.location })
    closing.push(() => ledger.close())
    const failures: unknown[] = []
    const watcher = new Presence({
      db: store.db,
      ledger,
      instanceId: 'inst_new',
      deadAfterMs: 0,
      onAbandoned: () => {},
      onFailure: (cause) => failures.push(cause),
    })
    await watcher.beat()
    await watcher.beat()
    expect(failures).toEqual([])
    expect(await commandsOn(url).json('request', 'show', 'req_1')).toMatchObject({
      state: 'unresolved',
    })
    expect(await commandsOn(url).json('audit')).toMatchObject({ ok: true })
  })
})

test('a copy next to a server has the state of one moment, reports that, and is readable only by its owner', async () => {
  const world = await startWorld()
  closing.push(() => world.close())
  const { apiKey } = await world.account()
  await chat(world, apiKey)
  const to = newSqlite()
  const { exitCode, out, notes } = await commandsOn(world.config.DATABASE_URL ?? '').run(
    'copy',
    '--to',
    to,
  )
  expect(exitCode).toBe(0)
  expect(out).toMatch(/^copied \d+ rows from sqlite:\S+ to sqlite:\S+; the audit is exact\n$/)
  expect(notes).toContain('To move the store, stop the server and copy again to an empty store.')
  const file = to.replace('sqlite:', '')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file).includes(apiKey)).toBe(false)
  expect(await commandsOn(to).json('audit')).toMatchObject({ ok: true, checked: { requests: 1 } })
})

test('--from names the store to copy, and --json prints the counts', async () => {
  const from = commandsOn(newSqlite())
  await from.run('account', 'create', 'Ada')
  const to = newSqlite()
  const copied = await commandsOn(newSqlite()).json('copy', '--from', from.storeUrl, '--to', to)
  expect(copied).toEqual({
    object: 'copy',
    from: from.storeUrl,
    to,
    rows: expect.objectContaining({ accounts: 1, entries: 0 }),
    upstream: null,
    servers: 0,
    open_holds: 0,
    exact: true,
  })
  expect((await commandsOn(to).run('account', 'list')).out).toContain('Ada')
})

describe('a copy is refused', () => {
  let from: string

  beforeEach(async () => {
    from = newSqlite()
    const line = commandsOn(from)
    const { id } = await line.json('account', 'create', 'Ada')
    await line.run('credit', 'add', String(id), '5', '--reference', 'r')
  })

  test('to a store that is in use, or not empty', async () => {
    const world = await startWorld()
    closing.push(() => world.close())
    const inUse = world.config.DATABASE_URL ?? ''
    expect(await commandsOn(from).run('copy', '--to', inUse)).toEqual(
      failed(
        1,
        `tollgate: nothing was copied: a server uses ${inUse}: stop it, or copy to another store\n`,
      ),
    )
    expect(await commandsOn(from).run('copy', '--to', from)).toMatchObject({
      exitCode: 1,
      out: '',
      notes: expect.stringContaining(`nothing was copied: ${from} is not empty, it has accounts: `),
    })
  })

  test('of a ledger that is not exact, with the figures that differ', async () => {
    const store = await openStore({ url: from })
    await store.db.updateTable('accounts').set({ backed_balance_micros: 6_000_000 }).execute()
    await store.close()
    const to = newSqlite()
    const { exitCode, out, notes } = await commandsOn(from).run('copy', '--to', to)
    expect([exitCode, out]).toEqual([1, ''])
    expect(notes).toContain('accounts.backed_balance')
    expect(notes).toContain('nothing was copied: the audit of the store failed, 1 figure')
    expect(Object.values(await readRawRows(to)).flat()).toEqual([])
  })

  test('from a file that does not exist, which names the option', async () => {
    const missing = ['copy', '--from', 'sqlite:/nowhere/store.db', '--to', newSqlite()]
    const { exitCode, notes } = await commandsOn(from).run(...missing)
    expect([exitCode, notes]).toEqual([
      1,
      expect.stringMatching(/there is no store at \/nowhere\/store\.db: correct `--from`$/m),
    ])
  })

  test.each([
    ['', 2, '`--to` is empty'],
    [`sqlite:${tmpdir()}`, 1, ': unable to open database file. Check that this is a file, that'],
    ['data.db', 2, '`--to` cannot be used: a database URL is sqlite:'],
    ['postgres://ada:secret@', 2, '`--to` cannot be used: a PostgreSQL URL is postgres://'],
    [
      'postgres://ada:secret@127.0.0.1:1/db',
      1,
      'nothing was copied: postgres://ada@127.0.0.1:1/db: ',
    ],
  ])('to the address %j, without its password', async (to, code, said) => {
    const { exitCode, out, notes } = await commandsOn(from).run('copy', '--to', to)
    expect([exitCode, out]).toEqual([code, ''])
    expect(notes).toContain(said)
    expect(notes).not.toContain('secret')
  })
})
