import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPostgresDatabase } from '../../src/store/testing/postgres.ts'
import type { TestDatabase } from '../../src/store/testing/test-databases.ts'
import { serve, tollgate } from '../tollgate-process.ts'

let folder: string
let database: TestDatabase

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-workers-'))
  database = await createPostgresDatabase()
})
afterEach(async () => {
  await database.remove()
  rmSync(folder, { recursive: true, force: true })
})

test('a first start with two workers prints one key, which works, and SIGTERM lets a stream end', async () => {
  const env = { WORKERS: '2', DATABASE_URL: database.url }
  const server = await serve({ folder, env })
  const keys = server.greeting.match(/key {6}sk-tollgate-[A-Za-z0-9]+/g) ?? []
  expect(keys).toHaveLength(1)
  const { statusCode, body } = await request(`${server.address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-api-key': keys[0]?.replace(/^key +/, '') ?? '' },
    body: JSON.stringify({
      model: 'sim/paced',
      stream: true,
      messages: [{ role: 'user', content: '{"events":20,"interval_ms":50}' }],
    }),
  })
  expect(statusCode).toBe(200)
  await once(body, 'readable')
  const ended = server.stop('SIGTERM')
  expect(await body.text()).toMatch(/data: \[DONE\]\n\n$/)
  expect(await ended).toEqual({ code: 0, signal: null })
})

test.each(['PORT', 'METRICS_PORT'])(
  'several workers share no %s with another program',
  async (name) => {
    const other = createServer().listen({ port: 0, host: '127.0.0.1', reusePort: true })
    await once(other, 'listening')
    const bound = other.address()
    const port = typeof bound === 'object' && bound !== null ? bound.port : 0
    const env = { WORKERS: '2', DATABASE_URL: database.url, [name]: String(port) }
    const taken = new RegExp(`port ${port} of 127\\.0\\.0\\.1 is taken.+ set ${name} to`)
    await expect(serve({ folder, env })).rejects.toThrow(taken)
    other.close()
  },
)

test('two workers on SQLite are refused with what to do instead, and no store is made', async () => {
  const { code, notes } = await tollgate(['serve'], { folder, env: { WORKERS: '2', PORT: '0' } })
  expect(code).toBe(1)
  expect(notes).toContain(
    'WORKERS above 1 needs PostgreSQL, because a SQLite store is served by one process: set DATABASE_URL to a PostgreSQL database, or leave WORKERS out',
  )
  expect(readdirSync(folder)).toEqual([])
})
