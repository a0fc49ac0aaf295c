import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'
import type { TestDatabase } from '../src/store/testing/test-databases.ts'
import { serve, tollgate } from './tollgate-process.ts'

/** The commands of docs/moving-stores.md, as a person pastes them; only the address is this test's own. */

const PAGE = readFileSync(join(import.meta.dirname, '..', 'docs', 'moving-stores.md'), 'utf8')

let folder: string
let database: TestDatabase
let apiKey: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-moving-'))
  database = await createPostgresDatabase()
  const server = await serve({ folder })
  apiKey = /sk-tollgate-[A-Za-z0-9]+/.exec(server.greeting)?.[0] ?? ''
  expect(await send(server.address)).toBe(200)
  await server.stop('SIGTERM')
})
afterAll(async () => {
  await database.remove()
  rmSync(folder, { recursive: true, force: true })
})

async function send(address: string): Promise<number> {
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const answer = await fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: 'sim/text', messages }),
  })
  await answer.text()
  return answer.status
}

test('the commands of docs/moving-stores.md back a store up, move it, and serve from where it is then', async () => {
  const lines = [...PAGE.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) =>
    block.trimEnd().split('\n'),
  )
  expect(lines).toHaveLength(6)
  // The move leaves nothing to back up that way: PostgreSQL has its own.
  const [backUp = '', ...move] = lines.toReversed().slice(0, 1).concat(lines.slice(0, -1))
  expect(await run(backUp, {})).toMatchObject({ code: 0 })
  let env: Record<string, string> = {}
  for (const line of move) {
    if (line.startsWith('export ')) env = { DATABASE_URL: database.url }
    else if (line.endsWith(' serve')) {
      const server = await serve({ folder, env })
      expect(await send(server.address)).toBe(200)
      await server.stop('SIGTERM')
    } else expect(await run(line, env)).toMatchObject({ code: 0 })
  }
  expect(await run('npx tollgate audit', env)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^exact: 1 account, 1 key, 2 requests, \d+ entries/),
  })
})

function run(line: string, env: Readonly<Record<string, string>>) {
  return tollgate(line.replace(/^npx tollgate /, '').split(' '), { folder, env })
}
