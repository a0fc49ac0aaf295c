import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startWorld, type World } from '../../test/world.ts'
import { openLedger } from '../ledger/engines/open-ledger.ts'
import { Presence } from '../ledger/instances/presence.ts'
import { LEDGER_LIMITS_DEFAULT } from '../ledger/ledger.ts'
import { randomScript, SETUP } from '../ledger/testing/random-script.ts'
import { runScript } from '../ledger/testing/script.ts'
import { createSqliteBench } from '../ledger/testing/sqlite-bench.ts'
import { openStore } from '../store/open-store.ts'
import { sealed } from '../store/testing/exports.ts'
import { createPostgresDatabase } from '../store/testing/postgres.ts'
import { TEST_DATABASES, type TestDatabase } from '../store/testing/test-databases.ts'
import { type CommandLine, openCommandLine, type Seen } from './testing/command-line.ts'

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

function newFile(): string {
  return join(folder, `${++files}.jsonl`)
}

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

/** Exports a store and imports it into another, and returns the text that went between them. */
async function move(from: string, to: string): Promise<string> {
  const file = newFile()
  expect((await commandsOn(from).run('export', file)).exitCode).toBe(0)
  const imported = await commandsOn(to).run('import', file)
  expect(imported).toMatchObject({ exitCode: 0, out: expect.stringContaining('books are exact') })
  return readFileSync(file, 'utf8')
}

async function exported(from: string): Promise<string> {
  const file = newFile()
  expect((await commandsOn(from).run('export', file)).exitCode).toBe(0)
  return readFileSync(file, 'utf8')
}

/** A store with a little of everything in it. */
async function worked(): Promise<World> {
  const world = await startWorld()
  const { apiKey } = await world.account()
  await chat(world, apiKey)
  return world
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

/** The body of the last chat request that reached the provider, whatever it was asked since. */
function lastChat({ simulator }: World): unknown {
  const last = simulator.requests.findLast(({ path }) => path.endsWith('/chat/completions'))
  if (last === undefined) throw new Error('no chat request came')
  return last.body
}

test('whatever has happened in a store, it moves to PostgreSQL and back to the byte, and stays exact', async () => {
  await fc.assert(
    fc.asyncProperty(randomScript, async (script) => {
      const bench = await createSqliteBench({ limits: LEDGER_LIMITS_DEFAULT })
      try {
        await runScript(bench, `${SETUP}\ncode C 70\ncode D 5 revoked\nredeem C A2\n${script}`)
        const [postgres, sqlite] = [await databaseOf(createPostgresDatabase), newSqlite()]
        const original = await move(`sqlite:${bench.file}`, postgres)
        expect(await move(postgres, sqlite)).toBe(original)
        expect(await exported(sqlite)).toBe(original)
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
  test('a gateway goes on with the same keys, balances, tags, models and Activity', async () => {
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
})

describe('what was in flight at the export', () => {
  async function withOpenHold(): Promise<string> {
    const bench = await createSqliteBench({ limits: LEDGER_LIMITS_DEFAULT })
    closing.push(() => bench.close())
    await runScript(
      bench,
      'account A\nkey K A\ncredit A backed 100 r1\nopen req_1 K 60 by inst_gone',
    )
    return `sqlite:${bench.file}`
  }

  test('is told of, and becomes unresolved when a server starts on a SQLite store', async () => {
    const from = await withOpenHold()
    const file = newFile()
    const told = '1 request was in flight'
    expect((await commandsOn(from).run('export', file)).notes).toContain(told)
    const to = newSqlite()
    expect((await commandsOn(to).run('import', file)).notes).toContain(told)
    const world = await startWorld({ settings: { DATABASE_URL: to } })
    closing.push(() => world.close())
    expect(await commandsOn(to).json('request', 'show', 'req_1')).toMatchObject({
      state: 'unresolved',
      held: 60,
    })
  })

  test('becomes unresolved on PostgreSQL once its instance was watched being dead', async () => {
    const url = await databaseOf(createPostgresDatabase)
    await move(await withOpenHold(), url)
    const store = await openStore({ url })
    closing.push(() => store.close())
    const ledger = openLedger({ location: store.location })
    closing.push(() => ledger.close())
    const failures: unknown[] = []
    const watcher = new Presence({
      db: store.db,
      books: ledger,
      instanceId: 'inst_new',
      deadAfterMs: 0,
      onSwept: () => {},
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

describe('export', () => {
  test('beside a server is of one moment, says that it is a copy, and is its owner’s alone', async () => {
    const world = await worked()
    closing.push(() => world.close())
    const file = newFile()
    const line = commandsOn(world.config.DATABASE_URL ?? '')
    const { exitCode, out, notes } = await line.run('export', file)
    expect(exitCode).toBe(0)
    expect(out).toMatch(/^exported \d+ rows to .+: [\d,]+ bytes\n$/)
    expect(notes).toContain('To move the store, stop the server and export again.')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await move(world.config.DATABASE_URL ?? '', newSqlite())
  })

  test('never has the text of an API key, and writes over nothing', async () => {
    const world = await startWorld()
    closing.push(() => world.close())
    const { apiKey } = await world.account()
    const file = newFile()
    const line = commandsOn(world.config.DATABASE_URL ?? '')
    await line.run('export', file)
    const text = readFileSync(file, 'utf8')
    expect(text).not.toContain(apiKey)
    expect(text).toContain('"account_tag_secret"')
    expect(await line.run('export', file)).toMatchObject({
      exitCode: 1,
      out: '',
      notes: `tollgate: ${file} is there already: name another file\n`,
    })
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  test('--json says what is in the file', async () => {
    const line = commandsOn(newSqlite())
    await line.run('account', 'create', 'Ada')
    const file = newFile()
    expect(await line.json('export', file)).toEqual({
      object: 'export',
      file,
      bytes: statSync(file).size,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      schema: expect.any(Number),
      rows: expect.objectContaining({ accounts: 1, entries: 0 }),
      servers: 0,
      open_holds: 0,
    })
    const to = commandsOn(newSqlite())
    expect(await to.json('import', file)).toMatchObject({
      object: 'import',
      rows: { accounts: 1, entries: 0 },
      exact: true,
    })
  })
})

describe('import', () => {
  let file: string

  beforeEach(async () => {
    const world = await worked()
    await world.gateway.close()
    file = newFile()
    await commandsOn(world.config.DATABASE_URL ?? '').run('export', file)
    await world.close()
  })

  /** What the import of the file into a new store says, which must leave the store empty. */
  async function refusal(): Promise<Seen> {
    const to = newSqlite()
    const seen = await commandsOn(to).run('import', file)
    const empty = newSqlite()
    writeFileSync(empty.replace('sqlite:', ''), '')
    expect(await exported(to)).toBe(await exported(empty))
    return seen
  }

  test('of a store that is in use, or not empty, is refused', async () => {
    const world = await startWorld()
    closing.push(() => world.close())
    const line = commandsOn(world.config.DATABASE_URL ?? '')
    expect(await line.run('import', file)).toMatchObject({
      exitCode: 1,
      notes: expect.stringContaining('another tollgate serves from'),
    })
    const to = commandsOn(newSqlite())
    expect((await to.run('import', file)).exitCode).toBe(0)
    expect(await to.run('import', file)).toMatchObject({
      exitCode: 1,
      notes: expect.stringMatching(
        /nothing was imported: the store is not empty.+set DATABASE_URL/,
      ),
    })
  })

  test('of books that are not exact is refused, whatever the file says of itself', async () => {
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(0, -1)
    const topUp = lines.findIndex((line) => line.includes('"top_up"'))
    const rowLines = rowLinesOf(lines.filter((_, place) => place !== topUp))
    writeFileSync(
      file,
      sealed(
        lines.filter((_, place) => place !== topUp),
        rowLines,
      ),
    )
    const { exitCode, out, notes } = await refusal()
    expect([exitCode, out]).toEqual([1, ''])
    expect(notes).toContain('accounts.backed_balance_micros')
    expect(notes).toContain('the books in the file are not exact')
  })

  test('of a file that was cut off is refused', async () => {
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.slice(0, text.lastIndexOf('\n{') + 1))
    expect((await refusal()).notes).toContain('it was cut off')
  })

  test('of no file, a folder, or what is none is refused', async () => {
    appendFileSync(join(folder, 'other'), 'other')
    const line = commandsOn(newSqlite())
    for (const [name, said] of [
      ['none', "can't be read"],
      ['.', 'is a folder'],
      ['other', 'the file is no export: `tollgate export <file>` makes one'],
    ] as const) {
      const { exitCode, notes } = await line.run('import', join(folder, name))
      expect([exitCode, notes]).toEqual([1, expect.stringContaining(said)])
    }
  })
})

/** The rows of an export's lines, by table. */
function rowLinesOf(lines: readonly string[]): Record<string, string[]> {
  const rowLines: Record<string, string[]> = {}
  let table = ''
  for (const line of lines) {
    if (line.startsWith('[')) rowLines[table]?.push(line)
    else {
      table = /^\{"table":"(\w+)"/.exec(line)?.[1] ?? ''
      rowLines[table] = []
    }
  }
  return rowLines
}
