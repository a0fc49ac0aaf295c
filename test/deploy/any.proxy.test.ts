import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { startWorld, type TestAccount, type World } from '../world.ts'
import { type RunningProxy, startProxy } from './proxy.ts'

/** The gateway behind a proxy that has the settings of docs/deploy.md, over TLS. */

const MIB = 1024 * 1024
let world: World
let account: TestAccount
let folder: string
let proxy: RunningProxy
let agent: Agent

beforeEach(async () => {
  world = await startWorld()
  account = await world.account()
  folder = mkdtempSync(join(tmpdir(), 'tollgate-proxy-'))
  const gateway = new URL(world.gateway.address).host
  const name = inject('programName')
  proxy = await startProxy({ name, program: inject('program'), folder, gateway })
  agent = new Agent({ allowH2: false, connect: { ca: proxy.certificate } })
})
afterEach(async () => {
  await agent.destroy()
  await proxy.stop()
  await world.close()
  rmSync(folder, { recursive: true, force: true })
})

function ask(body: string, signal?: AbortSignal) {
  return request(`${proxy.address}/v1/chat/completions`, {
    dispatcher: agent,
    method: 'POST',
    headers: { authorization: `Bearer ${account.apiKey}` },
    body,
    ...(signal === undefined ? {} : { signal }),
  })
}

function question(more: object = {}): string {
  return JSON.stringify({
    model: 'sim/text',
    messages: [{ role: 'user', content: 'Say hello, at some length.' }],
    ...more,
  })
}

test('a call is answered with its charge, also after a wait', async () => {
  world.simulator.script({ hold: 'beforeHeaders' })
  const answer = ask(question())
  await world.simulator.gate().arrived()
  world.simulator.gate().release()
  const { statusCode, headers, body } = await answer
  expect(statusCode).toBe(200)
  expect(headers['x-service-cost']).toMatch(/^[1-9]\d*$/)
  expect(await body.json()).toMatchObject({ object: 'chat.completion' })
})

test('the first event of a stream arrives before the next is sent', async () => {
  world.simulator.script({ hold: { afterEvents: 1 } })
  const { headers, body } = await ask(question({ stream: true }))
  expect(headers['content-type']).toMatch(/^text\/event-stream/)
  let text = ''
  for await (const chunk of body) {
    // The rest is let go only once the first is here.
    if (text === '') world.simulator.gate().release()
    text += String(chunk)
  }
  expect(text).toMatch(/^data: {.*data: \[DONE\]\n\n$/ms)
})

test('if a client disconnects from the proxy, the gateway ends the call upstream', async () => {
  world.simulator.script({ hold: { afterEvents: 4 } })
  const leaving = new AbortController()
  const { body } = await ask(question({ stream: true }), leaving.signal)
  const reading = (async () => {
    for await (const _ of body) leaving.abort()
  })()
  await expect(reading).rejects.toThrow()
  const upstream = await world.simulator.nextRequest()
  expect(await upstream.ended).toBe('clientGone')
})

test('a body of 33 MB is refused by the gateway, in the format of the client', async () => {
  const { statusCode, body } = await ask(question({ user: 'x'.repeat(33 * MIB) }))
  expect(statusCode).toBe(413)
  expect(await body.json()).toMatchObject({ error: { code: 'request_too_large' } })
})

test('a body of 31 MB reaches the gateway whole', async () => {
  const { statusCode, body } = await ask(question({ model: 'sim/none', x: 'x'.repeat(31 * MIB) }))
  expect(statusCode).toBe(404)
  expect(await body.json()).toMatchObject({ error: { code: 'model_not_found' } })
})

/** The status of a request on a connection of HTTP/2. */
async function statusOn(session: ClientHttp2Session): Promise<number | undefined> {
  const stream = session.request({ ':path': '/healthz' })
  const [headers]: ReturnType<typeof JSON.parse> = await once(stream, 'response')
  stream.resume()
  await once(stream, 'close')
  return headers[':status']
}

test('a connection of HTTP/2 stays open for more than 1,000 requests, and all are answered', async () => {
  const session = connect(proxy.address, { ca: proxy.certificate })
  let goodbyes = 0
  session.on('goaway', () => {
    goodbyes += 1
  })
  try {
    const statuses = new Set<number | undefined>()
    for (let round = 0; round < 22; round += 1) {
      const asked = Array.from({ length: 50 }, () => statusOn(session))
      for (const status of await Promise.all(asked)) statuses.add(status)
    }
    expect([[...statuses], goodbyes]).toEqual([[200], 0])
  } finally {
    session.destroy()
  }
})
