import { request } from 'undici'
import { expect, test } from 'vitest'
import { DEFAULT_MARKER, type Fault } from '../simulator/faults.ts'
import { listRequests } from '../src/ledger/activity/activity.ts'
import { startWorld, type World } from './world.ts'

const MESSAGES = { model: 'sim/text', max_tokens: 64, messages: [{ role: 'user', content: 'Hi' }] }
const RESPONSES = { model: 'sim/text', max_output_tokens: 64, input: 'Hi' }

interface StreamInput {
  readonly apiKey: string
  readonly path: string
  readonly body: object
}

async function startStream(
  world: World,
  { apiKey, path, body }: StreamInput,
  signal?: AbortSignal,
) {
  const answer = await request(world.url(path), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ ...body, stream: true }),
    ...(signal === undefined ? {} : { signal }),
  })
  expect(answer.statusCode).toBe(200)
  return answer
}

async function onlyRequest(world: World) {
  await world.gateway.settled()
  const { requests } = await listRequests(world.gateway.store.db, { limit: 10 })
  expect(requests).toHaveLength(1)
  return requests[0]
}

test.each<[string, object, Fault, string, RegExp, string?]>([
  ['/v1/messages', MESSAGES, { errorEvent: { afterEvents: 3 } }, 'error', /"overloaded_error"/],
  [
    '/v1/messages',
    MESSAGES,
    { errorEvent: { afterEvents: 3, code: 401 } },
    'error',
    // The provider's word for our own account's trouble is not the client's.
    /"type":"overloaded_error"/,
    'service_unavailable',
  ],
  ['/v1/responses', RESPONSES, { errorEvent: { afterEvents: 3 } }, 'error', /"upstream_error"/],
  [
    '/v1/responses',
    RESPONSES,
    { errorEvent: { afterEvents: 3, shape: 'nested' } },
    'error',
    /"upstream_error"/,
  ],
  [
    '/v1/responses',
    RESPONSES,
    { errorEvent: { afterEvents: 3, shape: 'failed' } },
    'response.failed',
    /"status":"failed"/,
  ],
])(
  '%s, %#: an error in a stream comes once, last, in our words, and costs nothing',
  async (path, body, fault, name, words, errorCode = 'upstream_error') => {
    const world = await startWorld()
    const { id, apiKey } = await world.account()
    world.simulator.script(fault)
    const { body: stream } = await startStream(world, { apiKey, path, body })
    const text = await stream.text()
    const names = [...text.matchAll(/^event: (.*)$/gm)].map(([, eventName]) => eventName)
    expect(names).toHaveLength(4)
    expect(names.indexOf(name)).toBe(3)
    expect(text).toMatch(words)
    expect(text).not.toContain(DEFAULT_MARKER)

    expect(await onlyRequest(world)).toMatchObject({ state: 'released', errorCode })
    expect(await world.backedBalanceMicros(id)).toBe(10_000_000)
    expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
    await world.close()
  },
)

test('a failed response that cost something is charged its cost', async () => {
  const world = await startWorld()
  const { apiKey } = await world.account()
  world.simulator.script({
    errorEvent: { afterEvents: 3, shape: 'failed', withUsage: true },
    costUsd: 0.01,
  })
  const { body } = await startStream(world, { apiKey, path: '/v1/responses', body: RESPONSES })
  const text = await body.text()
  expect(text).toMatch(/"usage":null/)
  expect(await onlyRequest(world)).toMatchObject({
    state: 'provisional',
    backedChargeMicros: 10_500,
    errorCode: 'upstream_error',
  })
  await world.close()
})

test('the second end of a response is ignored', async () => {
  const world = await startWorld()
  const { apiKey } = await world.account()
  world.simulator.script({
    rewrite: { pattern: '(event: response.completed\\n[^]*)', replacement: '$1$1data: [DONE]\n\n' },
  })
  const { body } = await startStream(world, { apiKey, path: '/v1/responses', body: RESPONSES })
  const text = await body.text()
  expect(text.match(/^event: response.completed$/gm)).toHaveLength(1)
  expect(text.endsWith('}\n\ndata: [DONE]\n\n')).toBe(true)
  expect(await onlyRequest(world)).toMatchObject({ state: 'provisional', errorCode: null })
  await world.close()
})

const CHAT = { model: 'sim/text', max_tokens: 64, messages: [{ role: 'user', content: 'Hi' }] }
const MORE = 'data: {"choices":[{"index":0,"delta":{"content":"unpaid"}}]}\n\n'
const MORE_NAMED =
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"unpaid"}}\n\n'

test.each([
  ['/v1/chat/completions', CHAT, '(data: \\[DONE\\]\\n\\n)', MORE, 'data: [DONE]'],
  [
    '/v1/messages',
    MESSAGES,
    '(event: message_stop\\n[^\\n]*\\n\\n)',
    MORE_NAMED,
    '"message_stop"}',
  ],
])(
  '%s: events after the end of a stream, which are not charged, are not relayed',
  async (path, body, end, more, last) => {
    const world = await startWorld()
    const { apiKey } = await world.account()
    world.simulator.script({ rewrite: { pattern: end, replacement: `$1${more}${more}$1` } })
    const { body: stream } = await startStream(world, { apiKey, path, body })
    const text = await stream.text()
    expect(text.trimEnd().endsWith(last)).toBe(true)
    expect(text.split(last)).toHaveLength(2)
    expect(text).not.toContain('unpaid')
    expect(await onlyRequest(world)).toMatchObject({ state: 'provisional', errorCode: null })
    await world.close()
  },
)

test('a client that leaves a stream of messages is charged for the text that it has read, not for the first count', async () => {
  const world = await startWorld()
  const { apiKey } = await world.account()
  world.simulator.script({ hold: { afterEvents: 6 } })
  const leaving = new AbortController()
  const { body } = await startStream(
    world,
    { apiKey, path: '/v1/messages', body: MESSAGES },
    leaving.signal,
  )
  let text = ''
  const read = async () => {
    for await (const chunk of body) {
      text += String(chunk)
      if ((text.match(/text_delta/g)?.length ?? 0) >= 2) leaving.abort()
    }
  }
  await expect(read()).rejects.toThrow()
  const upstream = await world.simulator.nextRequest()
  expect(await upstream.ended).toBe('clientGone')

  const row = await onlyRequest(world)
  expect(row).toMatchObject({ state: 'provisional', errorCode: 'client_gone' })
  // The start of the stream counts four tokens in and one out: a cost of eight, and the fee.
  expect(row?.backedChargeMicros).toBeGreaterThan(8.4)
  await world.close()
})
