import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { openStore } from '../src/store/open-store.ts'
import { freePort } from '../src/store/testing/free-port.ts'
import { bundled } from './bundled.ts'
import { CHAT_BODY, STREAM_BODY, startJourneyWorld } from './journey-world.ts'
import { beginning, CLOSED_STREAM, dial } from './raw-server.ts'
import { chatAt, firstKey, serve, tollgate } from './tollgate-process.ts'

const EVENT = 'data: {"id":"gen-1","choices":[{"delta":{"content":"word"}}]}\n\n'
const USAGE = 'data: {"id":"gen-1","choices":[],"usage":{"prompt_tokens":1,"cost":0.001}}\n\n'
const DONE = 'data: [DONE]\n\n'

const NEVER_MS = 600_000

const program = bundled('tollgate')
const LAUNCHER = join(import.meta.dirname, '..', 'bin', 'tollgate.js')

/** A provider that streams one event and then waits for the test. */
const begunStream = () => beginning(CLOSED_STREAM + EVENT)

test('a stopping server lets streams end, and refuses new requests with 503', async () => {
  const { upstream, provider } = begunStream()
  const to = await startJourneyWorld({ upstream })
  const stream = await request(to.url, { method: 'POST', body: STREAM_BODY })
  await once(stream.body, 'readable')
  const drained = to.inference.drain({ timeoutMs: NEVER_MS, cutOff: () => {} })

  const refused = await request(to.url, { method: 'POST', body: CHAT_BODY })
  expect(refused.statusCode).toBe(503)
  expect(refused.headers).toMatchObject({ connection: 'close', 'retry-after': '1' })
  expect(await refused.body.json()).toMatchObject({ error: { code: 'service_unavailable' } })

  ;(await provider).end(USAGE + DONE)
  expect(await stream.body.text()).toBe(EVENT + USAGE + DONE)
  await drained
  expect(await to.onlyRequest()).toMatchObject({ state: 'provisional', errorCode: null })
})

test('requests that are refused while it stops do not keep it from stopping', async () => {
  const { upstream, provider } = begunStream()
  const to = await startJourneyWorld({ upstream })
  const stream = await request(to.url, { method: 'POST', body: STREAM_BODY })
  const drained = to.inference.drain({ timeoutMs: NEVER_MS, cutOff: () => {} })
  // It is refused at once, and the gateway keeps reading its upload for a while.
  const uploading = dial(
    to,
    'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{',
  )
  const [answer] = await once(uploading, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1\.1 503 /)
  ;(await provider).end(DONE)
  await stream.body.text()
  await drained
})

test('at its limit a stream is cut off and charged as if its client had left', async () => {
  const { upstream, provider } = begunStream()
  const to = await startJourneyWorld({ upstream })
  const stream = await request(to.url, { method: 'POST', body: STREAM_BODY })
  await provider
  await once(stream.body, 'readable')
  const broken = stream.body.text().then(
    () => 'whole',
    () => 'broken',
  )
  await to.inference.drain({ timeoutMs: 0, cutOff: () => void to.upstream.destroy() })
  expect(await broken).toBe('broken')
  expect(await to.onlyRequest()).toMatchObject({
    state: 'provisional',
    errorCode: 'client_gone',
    generationId: 'gen-1',
  })
})

test('at its limit a whole answer that has not arrived keeps its hold', async () => {
  const { upstream, provider } = beginning()
  const to = await startJourneyWorld({ upstream })
  const broken = request(to.url, { method: 'POST', body: CHAT_BODY }).then(
    () => 'answered',
    () => 'broken',
  )
  await provider
  await to.inference.drain({ timeoutMs: 0, cutOff: () => void to.upstream.destroy() })
  expect(await broken).toBe('broken')
  expect(await to.onlyRequest()).toMatchObject({ state: 'unresolved' })
})

test('at its limit a request that is still uploading is dropped', async () => {
  const to = await startJourneyWorld({ upstream: () => {} })
  const uploading = dial(
    to,
    'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 1000\r\n\r\n',
  )
  // It got a 100: it is in flight.
  await once(uploading, 'data')
  const dropped = once(uploading, 'close')
  await to.inference.drain({ timeoutMs: 0, cutOff: () => {} })
  expect(await dropped).toEqual([expect.any(Boolean)])
})

test.each(['SIGTERM', 'SIGHUP'] as const)(
  '%s lets a running stream end, and then the process ends with 0',
  async (signal) => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-stop-'))
    const server = await serve({ folder, page: 'off', program })
    const apiKey = firstKey(server)
    const pace = '{"events":20,"interval_ms":50}'
    const { statusCode, body } = await request(`${server.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey },
      body: JSON.stringify({
        model: 'sim/paced',
        stream: true,
        messages: [{ role: 'user', content: pace }],
      }),
    })
    expect(statusCode).toBe(200)
    await once(body, 'readable')
    const ended = server.stop(signal)
    expect(await body.text()).toMatch(/data: \[DONE\]\n\n$/)
    expect(await ended).toEqual({ code: 0, signal: null })
    rmSync(folder, { recursive: true, force: true })
  },
)

test('SIGHUPs that come again, as from a shell and a terminal that closes, do not cut a stream off', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-stop-'))
  const server = await serve({ folder, page: 'off', program })
  const messages = [{ role: 'user', content: '{"events":20,"interval_ms":50}' }]
  const { body } = await request(`${server.address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-api-key': firstKey(server) },
    body: JSON.stringify({ model: 'sim/paced', stream: true, messages }),
  })
  let streamed = ''
  // One with each event: for a second.
  for await (const piece of body) {
    streamed += String(piece)
    server.signal('SIGHUP')
  }
  expect(streamed).toMatch(/data: \[DONE\]\n\n$/)
  expect(await server.stop('SIGHUP')).toEqual({ code: 0, signal: null })
  rmSync(folder, { recursive: true, force: true })
})

test('a second signal ends a server at once, which says so and leaves the stream that it cut off to the next start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-stop-'))
  const server = await serve({ folder, page: 'off', program })
  const pace = '{"events":10000,"interval_ms":50}'
  const messages = [{ role: 'user', content: pace }]
  const answer = await chatAt(server, firstKey(server), {
    model: 'sim/paced',
    stream: true,
    messages,
  })
  const cutOff = answer.text().catch(() => 'cut off')
  server.signal('SIGINT')
  await server.logged('"msg":"stopping: requests in flight can finish; a second signal ends them"')
  let code: number | null | undefined
  const ended = server.stop('SIGINT').then((end) => {
    code = end.code
  })
  // Two signals that come too close count as one.
  await expect
    .poll(() => {
      server.signal('SIGINT')
      return code
    })
    .toBe(1)
  await ended
  await server.logged(
    '"msg":"stopped at once: the next start settles the requests that were cut off"',
  )
  expect(await cutOff).toBe('cut off')
  const audit = await tollgate(['audit'], { folder, program })
  expect(audit).toMatchObject({ code: 0 })
  rmSync(folder, { recursive: true, force: true })
})

test('SIGTERM writes the counts of requests that were refused in the last seconds', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-stop-'))
  const server = await serve({ folder, page: 'off', program })
  const apiKey = firstKey(server)
  for (const body of ['{', '{}']) {
    const refused = await request(`${server.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey },
      body,
    })
    await refused.body.dump()
    expect(refused.statusCode).toBe(400)
  }
  expect(await server.stop('SIGTERM')).toEqual({ code: 0, signal: null })
  const store = await openStore({ url: `sqlite:${join(folder, 'data', 'simulator.db')}` })
  const counts = await store.db.selectFrom('refusals').select(['code', 'requests']).execute()
  expect(counts.map(({ code, requests }) => [code, requests]).toSorted()).toEqual([
    ['invalid_json', 1],
    ['missing_model', 1],
  ])
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

test('a server whose log reader has gone, as after Ctrl-C on a pipe, still ends', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-stop-'))
  const server = await serve({ folder, page: 'off', program })
  server.closeOutput()
  expect(await server.stop('SIGINT')).toEqual({ code: 0, signal: null })
  rmSync(folder, { recursive: true, force: true })
})

test('a server whose messages are no longer read, as with `head`, keeps serving and ends properly', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-stop-'))
  const server = await serve({ folder, page: 'off', program, endsNotes: true })
  for (const path of ['healthz', 'readyz', 'v1/models']) {
    const { statusCode, body } = await request(`${server.address}/${path}`)
    await body.dump()
    expect(statusCode).toBe(200)
  }
  expect(await server.stop('SIGTERM')).toEqual({ code: 0, signal: null })
  rmSync(folder, { recursive: true, force: true })
})

test('a server whose log and messages are on a full disk keeps serving and ends properly', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-stop-'))
  const full = openSync('/dev/full', 'w')
  const port = await freePort()
  const child = spawn(process.execPath, [LAUNCHER, 'serve'], {
    cwd: folder,
    env: { PORT: String(port) },
    stdio: ['ignore', full, full],
  })
  closeSync(full)
  const ended = once(child, 'close')
  const statusOf = (path: string) =>
    request(`http://127.0.0.1:${port}/${path}`).then(
      async ({ statusCode, body }) => {
        await body.dump()
        return statusCode
      },
      () => null,
    )
  await expect.poll(() => statusOf('healthz')).toBe(200)
  // More lines of the log.
  for (let count = 0; count < 3; count++) expect(await statusOf('v1/models')).toBe(200)
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  rmSync(folder, { recursive: true, force: true })
})
