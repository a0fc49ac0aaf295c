import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { showDatabaseUrl } from '../src/store/database-url.ts'
import { openStore } from '../src/store/open-store.ts'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'
import { readRawRows } from '../src/store/testing/raw-rows.ts'
import { startSeveringProxy } from '../src/store/testing/severing-proxy.ts'
import type { TestDatabase } from '../src/store/testing/test-databases.ts'
import { bundled } from './bundled.ts'
import { chatAt, firstKey, serve, tollgate } from './tollgate-process.ts'

/** The commands of docs/moving-stores.md, as a person pastes them; only the address of PostgreSQL is this test's own. */

const program = bundled('tollgate')
const PAGE = readFileSync(join(import.meta.dirname, '..', 'docs', 'moving-stores.md'), 'utf8')

let folder: string
let database: TestDatabase
let apiKey: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-moving-'))
  database = await createPostgresDatabase()
  const server = await serve({ folder, page: 'off', program })
  apiKey = firstKey(server)
  expect(await send(server.address)).toBe(200)
  await server.stop('SIGTERM')
})
afterAll(async () => {
  await database.remove()
  rmSync(folder, { recursive: true, force: true })
})

async function send(address: string): Promise<number> {
  const answer = await chatAt({ address }, apiKey)
  await answer.text()
  return answer.status
}

test('the commands of docs/moving-stores.md move a store, there and back', async () => {
  const lines = [...PAGE.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) =>
    block.trimEnd().split('\n'),
  )
  expect(lines).toHaveLength(7)
  let env: Record<string, string> = {}
  for (const shown of lines) {
    const line = shown.replace(/postgres:\S+/, database.url)
    const variable = /^export (\w+)=(.+)$/.exec(line)
    if (variable !== null) env = { [String(variable[1])]: String(variable[2]) }
    else if (line.endsWith(' serve')) {
      const server = await serve({ folder, page: 'off', program, env })
      expect(await send(server.address)).toBe(200)
      await server.stop('SIGTERM')
    } else expect(await run(line, env)).toMatchObject({ code: 0 })
  }
  expect(await run('npx tollgate audit', env)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^exact: 1 account, 1 key, 3 requests, \d+ entries/),
  })
})

test.each([
  ['SIGKILL', () => ''],
  [
    'SIGINT',
    (from: string, to: string) =>
      `tollgate: stopped: nothing was copied to ${to}, and ${from} is unchanged. The same command copies from the beginning\n`,
  ],
] as const)(
  'a copy that %s ends leaves an empty store, and the next one fills it',
  async (signal, said) => {
    const from = await createPostgresDatabase()
    const store = await openStore({ url: from.url })
    const settings = Array.from({ length: 1_000 }, (_, place) => ({
      name: `n${place}`,
      value: 'v',
    }))
    await store.db.insertInto('settings').values(settings).execute()
    await store.close()
    const proxy = await startSeveringProxy(from.url)
    const stalled = Promise.withResolvers<void>()
    proxy.stallAfter('from "requests"', stalled.resolve)
    const to = `sqlite:${join(folder, `${signal}.db`)}`
    const killed = new AbortController()
    const copying = tollgate(['copy', '--to', to], {
      folder,
      program,
      env: { DATABASE_URL: proxy.url },
      signal: killed.signal,
      endsBy: signal,
    })
    await stalled.promise
    killed.abort()
    const shown = showDatabaseUrl(proxy.url)
    expect(await copying).toEqual({ code: null, out: '', notes: said(shown, to) })
    expect(Object.values(await readRawRows(to)).flat()).toEqual([])
    expect(await run(`npx tollgate copy --to ${to}`, { DATABASE_URL: from.url })).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^copied 1,000 rows from postgres:\S+ to sqlite:\S+; the audit is exact/,
      ),
    })
    expect(await readRawRows(to)).toEqual(await readRawRows(from.url))
    await proxy.close()
    await from.remove()
  },
)

function run(line: string, env: Readonly<Record<string, string>>) {
  return tollgate(line.replace(/^npx tollgate /, '').split(' '), { folder, program, env })
}
