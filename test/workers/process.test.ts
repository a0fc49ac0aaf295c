import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { serve } from '../tollgate-process.ts'

test('a first start with two workers gives a key that works, and SIGTERM lets a stream end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-workers-'))
  const server = await serve({ folder, env: { WORKERS: '2' } })
  const apiKey = /sk-tollgate-[A-Za-z0-9]+/.exec(server.greeting)?.[0] ?? ''
  const { statusCode, body } = await request(`${server.address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey },
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
  rmSync(folder, { recursive: true, force: true })
})

test('several workers share no port with another program', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-workers-'))
  const other = createServer().listen({ port: 0, host: '127.0.0.1', reusePort: true })
  await once(other, 'listening')
  const bound = other.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  const env = { WORKERS: '2', PORT: String(port) }
  await expect(serve({ folder, env })).rejects.toThrow(/port \d+ of 127\.0\.0\.1 is taken/)
  other.close()
  rmSync(folder, { recursive: true, force: true })
})
