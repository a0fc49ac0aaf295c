import { request } from 'undici'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Fault } from '../../simulator/faults.ts'
import type { VendorName } from '../../simulator/vendors.ts'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import type { RequestRow } from '../../src/store/schema.ts'
import { readToEnd, startWorld, type World, worldOfFile } from '../world.ts'
import { type Format, SPOKEN } from './vendor-settings.ts'

/* Charges of requests at providers that bill by their counts, compared with the simulator's costs. */

const CHAT = { model: 'sim/text', messages: [{ role: 'user', content: 'Say hello.' }] }
const LONG = 'All of this is read from a cache the next time. '.repeat(60)

const SETTLES_SOON = { TOLLGATE_SETTLE_AFTER_NO_LOOKUP_MS: '1' }

const BODIES = {
  chat: { path: '/v1/chat/completions', body: { ...CHAT, max_tokens: 64 } },
  completions: { path: '/v1/completions', body: { model: 'sim/text', prompt: 'Say hello.' } },
  responses: { path: '/v1/responses', body: { model: 'sim/text', input: 'Say hello.' } },
  messages: { path: '/v1/messages', body: { ...CHAT, max_tokens: 64 } },
  embeddings: {
    path: '/v1/embeddings',
    body: { model: 'sim/embed', input: 'Say hello. '.repeat(100) },
  },
} as const satisfies Readonly<Record<Format, object>>

/** How a message says that all before it is cached. */
function cachedBody(ttl?: '1h'): object {
  const mark = { type: 'ephemeral', ...(ttl === undefined ? {} : { ttl }) }
  const content = [
    { type: 'text', text: `${ttl ?? '5m'} ${LONG}`, cache_control: mark },
    { type: 'text', text: 'Say hello.' },
  ]
  return { model: 'sim/cached', max_tokens: 64, messages: [{ role: 'user', content }] }
}

describe.each<VendorName>(['openai', 'anthropic', 'openai-compatible'])('%s', (vendor) => {
  let accountId: string
  let apiKey: string

  const world = worldOfFile(() => ({
    vendor,
    settings: { ...SETTLES_SOON, TOLLGATE_READ_ON_TIMEOUT_MS: '3600000' },
  }))
  beforeAll(async () => {
    const account = await world.account({ creditMicros: 100_000_000 })
    accountId = account.id
    apiKey = account.apiKey
  })

  function send(path: string, body: object, fault?: Fault) {
    if (fault !== undefined) world.simulator.script(fault)
    return readToEnd(world.send(apiKey, body, path))
  }

  async function latest(): Promise<RequestRow | undefined> {
    await world.gateway.settled()
    const { requests } = await listRequests(world.gateway.store.db, { accountId, limit: 1 })
    return requests[0]
  }

  async function finalRow(at: World, requestId: string): Promise<RequestRow> {
    await expect.poll(() => at.rowOf(requestId)).toMatchObject({ state: 'final' })
    return at.rowOf(requestId)
  }

  /** The charge of what ran last, by the simulator's own books. */
  function chargeDue(): number {
    const last = world.simulator.requests.findLast(({ generationId }) => generationId !== null)
    const cost = world.simulator.generations.find(last?.generationId ?? '')?.cost.totalUsd ?? 0
    return Number((BigInt(Math.round(cost * 1e12)) * 105n + 50_000_000n) / 100_000_000n)
  }

  function lastBody(): string {
    return (
      world.simulator.requests.findLast(({ isInference }) => isInference)?.body.toString() ?? ''
    )
  }

  describe.each(SPOKEN[vendor])('%s', (format) => {
    const { path, body } = BODIES[format]

    test('a whole answer is charged its counts, finally', async () => {
      const answer = await send(path, body)
      expect(answer.httpStatus, answer.text).toBe(200)
      expect(chargeDue()).toBeGreaterThan(0)
      expect(Number(answer.headers.get('x-service-cost'))).toBe(chargeDue())
      expect(await world.rowOf(answer.requestId)).toMatchObject({
        state: 'final',
        upstream: vendor,
        backedChargeMicros: chargeDue(),
        backedHeldMicros: 0,
        generationId: null,
      })
      expect(answer.text).not.toContain('cost')
    })

    test('an answer without counts is unresolved, and released after its time', async () => {
      const answer = await send(path, body, { omit: ['usage'] })
      expect([answer.httpStatus, answer.headers.get('x-service-cost')]).toEqual([200, '0'])
      const row = () => world.rowOf(answer.requestId)
      expect(['unresolved', 'released']).toContain((await row()).state)
      const released = { state: 'released', backedChargeMicros: 0, backedHeldMicros: 0 }
      await expect.poll(row).toMatchObject(released)
    })

    test('a prompt that counts more than any call can is not charged', async () => {
      const rewrite = {
        pattern: '"(prompt_tokens|input_tokens)": ?\\d+',
        replacement: '"$1":999999999',
      }
      const answer = await send(path, body, { rewrite })
      expect([answer.httpStatus, answer.headers.get('x-service-cost')]).toEqual([200, '0'])
      expect(answer.text).toContain('999999999')
      expect(await world.rowOf(answer.requestId)).toMatchObject({
        usage: null,
        backedChargeMicros: 0,
      })
    })

    if (format === 'embeddings') return

    test('a stream is charged the same', async () => {
      const answer = await send(path, { ...body, stream: true })
      expect(answer.httpStatus, answer.text).toBe(200)
      expect(answer.text).toContain('data: ')
      expect(await world.rowOf(answer.requestId)).toMatchObject({
        state: 'final',
        backedChargeMicros: chargeDue(),
        backedHeldMicros: 0,
      })
    })

    test('a stream that ends with an error relays an error, and is not charged', async () => {
      const fault: Fault = { errorEvent: { afterEvents: 2 } }
      const answer = await send(path, { ...body, stream: true }, fault)
      expect(answer.text).toContain('error')
      expect(answer.text).not.toContain('Provider disconnected')
      expect(await world.rowOf(answer.requestId)).toMatchObject({
        state: 'released',
        errorCode: 'upstream_error',
        backedChargeMicros: 0,
        backedHeldMicros: 0,
      })
    })

    test('a stream that breaks off without its last counts is not charged', async () => {
      const fault: Fault = { cut: { at: { afterEvents: 3 }, how: 'reset' } }
      await send(path, { ...body, stream: true }, fault).catch(() => null)
      await expect.poll(latest).toMatchObject({
        state: 'released',
        errorCode: 'upstream_disconnected',
        backedChargeMicros: 0,
        backedHeldMicros: 0,
      })
    })
  })

  if (vendor !== 'anthropic') {
    describe.each([
      ['chat', '/v1/chat/completions', CHAT],
      ['completions', '/v1/completions', BODIES.completions.body],
    ])('%s in a stream', (_, path, body) => {
      test('asks for counts, and gives them one empty choice if the client did not ask', async () => {
        const answer = await send(path, { ...body, stream: true })
        expect(lastBody()).toContain('"stream_options":{"include_usage":true}')
        const [last] = chunks(answer.text).slice(-1)
        expect(last).toMatchObject({ usage: { prompt_tokens: expect.any(Number) } })
        expect(last?.['choices']).toHaveLength(1)
      })

      test('is as the vendor sends it to a client that asked', async () => {
        const options = { stream: true, stream_options: { include_usage: true } }
        const answer = await send(path, { ...body, ...options })
        const all = chunks(answer.text)
        expect(all.at(-1)).toMatchObject({
          choices: [],
          usage: { prompt_tokens: expect.any(Number) },
        })
        expect(all[0]).toMatchObject({ usage: null })
        expect((await world.rowOf(answer.requestId)).backedChargeMicros).toBe(chargeDue())
      })
    })

    test('no field of OpenRouter is sent, and the cap is in the field that the vendor takes', async () => {
      await send('/v1/chat/completions', CHAT)
      const sent: unknown = JSON.parse(lastBody())
      const cap = vendor === 'openai' ? 'max_completion_tokens' : 'max_tokens'
      const own = vendor === 'openai' ? { store: false, service_tier: 'default' } : {}
      expect(sent).toEqual({
        model: 'text',
        messages: CHAT.messages,
        user: expect.any(String),
        [cap]: expect.any(Number),
        ...own,
      })
    })

    test('reasoning is charged as a part of the output', async () => {
      const body = { model: 'sim/text', input: 'Say hello.', reasoning: { effort: 'high' } }
      const answer = await send('/v1/responses', body)
      expect(answer.httpStatus, answer.text).toBe(200)
      expect((await world.rowOf(answer.requestId)).usage?.reasoningTokens).toBeGreaterThan(0)
      expect(Number(answer.headers.get('x-service-cost'))).toBe(chargeDue())
    })
  }

  if (vendor === 'openai') {
    test('responses are sent as not to be stored, and at the tier of the listed price', async () => {
      for (const tier of [{}, { service_tier: 'auto' }]) {
        await send('/v1/responses', { ...BODIES.responses.body, ...tier })
        const sent: unknown = JSON.parse(lastBody())
        const own = { store: false, service_tier: 'default' }
        expect(sent).toEqual({ model: 'text', input: 'Say hello.', ...own })
      }
    })
  } else {
    test.each([undefined, '1h'] as const)('cache writes of %s, and reads', async (ttl) => {
      for (const kind of ['cacheWriteTokens', 'cacheReadTokens']) {
        const answer = await send('/v1/messages', cachedBody(ttl))
        expect(answer.httpStatus, answer.text).toBe(200)
        const { usage } = await world.rowOf(answer.requestId)
        const name = ttl === '1h' && kind === 'cacheWriteTokens' ? 'cacheWriteLongTokens' : kind
        expect(usage).toMatchObject({ [name]: expect.any(Number) })
        expect(Reflect.get(usage ?? {}, name)).toBeGreaterThan(100)
        expect(Number(answer.headers.get('x-service-cost'))).toBe(chargeDue())
        const streamed = await send('/v1/messages', { ...cachedBody(ttl), stream: true })
        expect((await world.rowOf(streamed.requestId)).backedChargeMicros).toBe(chargeDue())
      }
    })

    const marksItself = vendor === 'openai-compatible'
    const held = marksItself
      ? 'all text is held at the highest price of writes, because the server may mark it'
      : 'text after the last mark is held at the price of input'
    test(held, async () => {
      const said = 'Say hello. '.repeat(2_000)
      const mark = { cache_control: { type: 'ephemeral' } }
      const bodyWith = (system: object, content: object) => ({
        model: 'sim/cached',
        max_tokens: 64,
        system: [{ type: 'text', text: LONG, ...system }],
        messages: [{ role: 'user', content: [{ type: 'text', text: said, ...content }] }],
      })
      const heldFor = async (body: object): Promise<number> => {
        const { requestId } = await send('/v1/messages', body)
        const { backedGrantedMicros, backedChargeMicros } = await world.rowOf(requestId)
        expect(backedChargeMicros).toBe(chargeDue())
        expect(backedChargeMicros).toBeLessThanOrEqual(backedGrantedMicros)
        return backedGrantedMicros
      }
      const none = await heldFor(bodyWith({}, {}))
      const first = await heldFor(bodyWith(mark, {}))
      const again = await heldFor(bodyWith(mark, {}))
      const whole = await heldFor(bodyWith(mark, mark))
      expect(again).toBe(first)
      if (marksItself) {
        // A mark is some bytes of text.
        expect(Math.abs(first - none) / none).toBeLessThan(0.01)
        expect(Math.abs(whole - none) / none).toBeLessThan(0.01)
        return
      }
      const share = (first - none) / (whole - none)
      expect(share).toBeGreaterThan(0)
      expect(share).toBeLessThan(0.3)
    })
  }

  if (vendor === 'openai-compatible') {
    test('a stream without counts is charged an estimate between half and double its cost, and the log warns about its model', async () => {
      const { path, body } = BODIES.chat
      const answer = await send(path, { ...body, stream: true }, { omit: ['usage'] })
      expect(answer.text).toContain('[DONE]')
      const row = await finalRow(world, answer.requestId)
      expect(row.backedChargeMicros).toBeGreaterThanOrEqual(chargeDue() / 2)
      expect(row.backedChargeMicros).toBeLessThanOrEqual(chargeDue() * 2)
      expect(row.backedChargeMicros).toBeLessThanOrEqual(row.backedGrantedMicros)
      const { body: shown } = await request(world.url('/v1/requests?limit=1'), {
        headers: { authorization: `Bearer ${apiKey}` },
      })
      expect(await shown.json()).toMatchObject({ data: [{ id: row.id, estimated: true }] })
      const line = await world.logged(answer.requestId)
      const doubted = world.log.find(
        (text) => text.includes(answer.requestId) && text.includes('counted no tokens'),
      )
      expect(doubted ?? line).toContain('"modelId":"sim/text"')
      expect(doubted).toContain('"level":40')
    })
  }

  /** Leaves a stream of that many events after its first text; resolves with the request once it is settled. */
  async function leftAfterText(at: World, { apiKey, events }: Leaving): Promise<RequestRow> {
    const { path } = vendor === 'anthropic' ? BODIES.messages : BODIES.chat
    const content = JSON.stringify({ events, interval_ms: 1 })
    const messages = [{ role: 'user', content }]
    const answer = await request(at.url(path), {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model: 'sim/paced', max_tokens: 16_384, stream: true, messages }),
    })
    expect(answer.statusCode).toBe(200)
    let seen = ''
    for await (const piece of answer.body) {
      seen += String(piece)
      if (seen.includes(' tick')) break
    }
    answer.body.destroy()
    const requestId = String(answer.headers['x-request-id'])
    const row = await finalRow(at, requestId)
    expect(row).toMatchObject({ errorCode: 'client_gone', backedHeldMicros: 0, generationId: null })
    return row
  }

  if (vendor !== 'openai-compatible') {
    test('a client that leaves before the counts is charged them', async () => {
      const row = await leftAfterText(world, { apiKey, events: 100 })
      expect(chargeDue()).toBeGreaterThan(0)
      expect(row.backedChargeMicros).toBe(chargeDue())
    })
  }

  test('a client that leaves a stream that continues is charged an estimate, which is final', async () => {
    // The others are read on for as long as their counts take to come.
    const settings = { ...SETTLES_SOON, TOLLGATE_READ_ON_TIMEOUT_MS: '1000' }
    const hasty = await startWorld({ vendor, settings })
    onTestFinished(() => hasty.close())
    const row = await leftAfterText(hasty, { ...(await hasty.account()), events: 1_000_000 })
    expect(row.backedChargeMicros).toBeGreaterThan(0)
  })

  test('no cost is reported as unverified, because none is reported by the upstream', () => {
    expect(world.log.filter((text) => text.includes('is not verified'))).toEqual([])
  })

  test('after all of it, the ledger is exact', async () => {
    expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
  })
})

interface Leaving {
  readonly apiKey: string
  readonly events: number
}

function chunks(text: string): Record<string, unknown>[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
    .map((frame): Record<string, unknown> => JSON.parse(frame.slice('data: '.length)))
}
