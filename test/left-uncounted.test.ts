import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { chat } from '../src/formats/chat.ts'
import { completions } from '../src/formats/completions.ts'
import type { WireFormat } from '../src/formats/format.ts'
import { messages } from '../src/formats/messages.ts'
import { responses } from '../src/formats/responses.ts'
import type { RequestRow } from '../src/store/schema.ts'
import { anthropic } from '../src/upstreams/anthropic/anthropic.ts'
import { openai } from '../src/upstreams/openai/openai.ts'
import { openaiCompatible } from '../src/upstreams/openai-compatible/openai-compatible.ts'
import type { JourneyWorld, JourneyWorldInput } from './journey-world.ts'
import { startLeavingWorld } from './leaving-world.ts'
import { CHUNKED_STREAM, chunked, peerLeft } from './raw-server.ts'

/*
 * Streams that their clients leave, at providers that can't be asked what a stream cost. A token costs one micro-dollar
 * read and two written, and the fee is 5%.
 */

/** How one format asks for a stream, and how a provider writes the parts of one. */
interface Spoken {
  readonly format: WireFormat
  readonly body: object
  /** The first event of an answer that shows no text yet. */
  readonly silent: object
  /** One token of text. */
  readonly text: object
  /** The last counts: 500 read, 300 written. */
  readonly counts: readonly object[]
}

const PROMPT = 'Tell me all that there is to know about the history of this small town. '.repeat(20)
const CHAT_TEXT = [{ role: 'user', content: PROMPT }]

const SPOKEN = {
  chat: {
    format: chat,
    body: { messages: CHAT_TEXT, max_tokens: 4_000 },
    silent: { id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] },
    text: { id: 'c', choices: [{ index: 0, delta: { content: ' town' } }] },
    counts: [{ id: 'c', choices: [], usage: { prompt_tokens: 500, completion_tokens: 300 } }],
  },
  completions: {
    format: completions,
    body: { prompt: PROMPT, max_tokens: 4_000 },
    silent: { id: 'c', choices: [{ index: 0, text: '' }] },
    text: { id: 'c', choices: [{ index: 0, text: ' town' }] },
    counts: [{ id: 'c', choices: [], usage: { prompt_tokens: 500, completion_tokens: 300 } }],
  },
  responses: {
    format: responses,
    body: { input: PROMPT, max_output_tokens: 4_000 },
    silent: { type: 'response.created', response: { id: 'r', status: 'in_progress' } },
    text: { type: 'response.output_text.delta', delta: ' town' },
    counts: [
      {
        type: 'response.completed',
        response: {
          id: 'r',
          status: 'completed',
          usage: { input_tokens: 500, output_tokens: 300 },
        },
      },
    ],
  },
  messages: {
    format: messages,
    body: { messages: CHAT_TEXT, max_tokens: 4_000 },
    silent: {
      type: 'message_start',
      message: { id: 'm', type: 'message', usage: { input_tokens: 500, output_tokens: 1 } },
    },
    text: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' town' } },
    counts: [
      { type: 'message_delta', delta: {}, usage: { output_tokens: 300 } },
      { type: 'message_stop' },
    ],
  },
} as const satisfies Readonly<Record<string, Spoken>>

const COUNTED_MICROS = Math.round((500 + 2 * 300) * 1.05)
/** By the tokens that tokenizers make of it. */
const PROMPT_MICROS = 16 * 20 * 1.05
const OUTPUT_MICROS = 2 * 1.05

/** An event of a stream. */
function eventOf(data: object): string {
  const { type } = data as { type?: string }
  return chunked(`${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(data)}\n\n`)
}

/** The beginning of a stream, with so many tokens of text. */
const begun = ({ silent, text }: Spoken, tokens = 0): string =>
  CHUNKED_STREAM + eventOf(silent) + eventOf(text).repeat(tokens)

/** Its end, with the counts. */
const ended = ({ counts }: Spoken): string => `${counts.map(eventOf).join('')}0\r\n\r\n`

/** A stream, and its world. */
async function start(spoken: Spoken, input: Omit<JourneyWorldInput, 'upstream' | 'format'>) {
  const { to, send } = await startLeavingWorld({ ...input, format: spoken.format })
  const body = JSON.stringify({ model: 'acme/some-model', stream: true, ...spoken.body })
  return { to, send: () => send(body) }
}

/** A stream whose client leaves once it has heard this, or before the headers. */
async function left(
  spoken: Spoken,
  input: Parameters<typeof start>[1],
  {
    written = '',
    heard = null,
  }: { readonly written?: string; readonly heard?: string | null } = {},
) {
  const { to, send } = await start(spoken, input)
  const { provider, leave, hears } = await send()
  provider.write(written)
  if (heard !== null) await hears(heard)
  await leave()
  return { to, provider }
}

const LEFT = { errorCode: 'client_gone', generationId: null } as const
const COUNTED = { ...LEFT, state: 'final', backedChargeMicros: COUNTED_MICROS } as const
const ESTIMATED = { ...LEFT, state: 'provisional', costUsd: null } as const

/** The charge is an estimate, of about this amount. */
function expectNear(row: RequestRow, dueMicros: number): void {
  expect(row).toMatchObject(ESTIMATED)
  expect(row.backedChargeMicros).toBeGreaterThan(dueMicros / 2)
  expect(row.backedChargeMicros).toBeLessThan(dueMicros * 2)
}

describe.each([
  ['openai', 'chat', { dialect: openai }],
  ['openai', 'completions', { dialect: openai }],
  ['openai', 'responses', { dialect: openai }],
  ['anthropic', 'messages', { dialect: anthropic }],
  ['openai-compatible with read_on', 'chat', { dialect: openaiCompatible, readOn: true }],
  ['openai-compatible with read_on', 'messages', { dialect: openaiCompatible, readOn: true }],
] as const)('a stream of %s, %s, whose client leaves', (_, name, input) => {
  const spoken: Spoken = SPOKEN[name]
  const soon = { ...input, timeouts: { readOnTimeoutMs: 200 } }
  const silent = { written: begun(spoken), heard: '200 OK' }

  test('before the headers is read on to its counts, whose charge is final', async () => {
    const { to, provider } = await left(spoken, input)
    provider.end(begun(spoken, 1) + ended(spoken))
    expect(await to.onlyRequest()).toMatchObject(COUNTED)
  })

  test.each([
    ['an error', 'HTTP/1.1 500 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'],
    ['an end', ''],
  ])('before the headers, which are only %s, is not charged', async (__, answer) => {
    const { to, provider } = await left(spoken, input)
    provider.end(answer)
    const free = { ...LEFT, state: 'released', backedChargeMicros: 0 }
    expect(await to.onlyRequest()).toMatchObject(free)
  })

  test('before any text is read on to its counts, which are the final charge', async () => {
    const { to, provider } = await left(spoken, input, silent)
    provider.end(ended(spoken))
    expect(await to.onlyRequest()).toMatchObject(COUNTED)
  })

  test('before any text, without counts, is charged for its prompt and six times the read-on time', async () => {
    const { to, provider } = await left(spoken, soon, silent)
    await peerLeft(provider)
    const row = await to.onlyRequest()
    expect(row).toMatchObject(ESTIMATED)
    const seconds = 1.2
    expect(row.backedChargeMicros).toBeGreaterThan(PROMPT_MICROS / 2 + seconds * 50 * OUTPUT_MICROS)
    expect(row.backedChargeMicros).toBeLessThanOrEqual(row.backedGrantedMicros)
  })

  test('before any text, without counts, is charged the same if the clock steps forward meanwhile', async () => {
    let stepMs = 0
    const clock = { nowMs: () => Date.now() + stepMs }
    const { to, send } = await start(spoken, { ...soon, replace: () => ({ clock }) })
    const { provider, leave, hears } = await send()
    provider.write(begun(spoken))
    await hears('200 OK')
    stepMs = 3_600_000
    await leave()
    await peerLeft(provider)
    const row = await to.onlyRequest()
    expect(row).toMatchObject(ESTIMATED)
    // An hour would be the whole hold.
    expect(row.backedChargeMicros).toBeLessThan(row.backedGrantedMicros / 2)
  })

  test('after text, without counts, is charged for the prompt and the text', async () => {
    const { to, provider } = await left(spoken, soon, {
      written: begun(spoken, 200),
      heard: 'town',
    })
    await peerLeft(provider)
    expectNear(await to.onlyRequest(), PROMPT_MICROS + 200 * OUTPUT_MICROS)
  })

  test('35 times at the same time: the limit and sixteen more run, and each is charged', async () => {
    const { to, send } = await start(spoken, soon)
    const providers: Socket[] = []
    for (let call = 0; call < 18; call++) {
      const { provider, leave } = await send()
      await leave()
      providers.push(provider)
    }
    // Sixteen have given their places back, and two keep the only places of the key.
    for (let call = 18; call < 35; call++) {
      await expect(refusedStatus(to)).resolves.toBe(429)
    }
    for (const provider of providers) provider.write(begun(spoken))
    for (const provider of providers) await peerLeft(provider)
    await to.expectNothingLeft()
    const charges = to.ended.flatMap(({ record }) => record.chargeMicros ?? [])
    expect(charges.filter((micros) => micros > PROMPT_MICROS / 2)).toHaveLength(18)
  })

  test('is charged when the server stops', async () => {
    const { to } = await left(spoken, input, silent)
    await to.inference.drain({ timeoutMs: 0, cutOff: () => void to.upstream.destroy() })
    const row = await to.onlyRequest()
    expect(row).toMatchObject(ESTIMATED)
    expect(row.backedChargeMicros).toBeGreaterThan(PROMPT_MICROS / 2)
  })

  test('before the headers is charged for its prompt when the server stops', async () => {
    const { to } = await left(spoken, input)
    await to.inference.drain({ timeoutMs: 0, cutOff: () => void to.upstream.destroy() })
    expectNear(await to.onlyRequest(), PROMPT_MICROS)
  })
})

describe.each(['chat', 'completions', 'responses', 'messages'] as const)(
  'a stream of a self-hosted server, %s, whose client leaves',
  (name) => {
    const spoken: Spoken = SPOKEN[name]
    const input = { dialect: openaiCompatible }

    test.each([20, 0])(
      'after %i tokens is cancelled at once, and charged for those tokens',
      async (seen) => {
        const heard = seen === 0 ? '200 OK' : 'town'
        const { to, provider } = await left(spoken, input, { written: begun(spoken, seen), heard })
        await peerLeft(provider)
        expectNear(await to.onlyRequest(), PROMPT_MICROS + seen * OUTPUT_MICROS)
      },
    )

    test('before the headers is cancelled at once, and charged for its prompt', async () => {
      const { to, provider } = await left(spoken, input)
      await peerLeft(provider)
      expectNear(await to.onlyRequest(), PROMPT_MICROS)
    })
  },
)

describe.each([
  ['openai', 'chat', { dialect: openai }],
  ['openai', 'responses', { dialect: openai }],
  ['anthropic', 'messages', { dialect: anthropic }],
  ['openai-compatible', 'completions', { dialect: openaiCompatible }],
] as const)('a stream of %s, %s, that the vendor ends before its counts', (_, name, input) => {
  const spoken: Spoken = SPOKEN[name]

  test.each([
    ['breaks off', (provider: Socket) => provider.resetAndDestroy(), 'upstream_disconnected', {}],
    ['ends', (provider: Socket) => provider.end('0\r\n\r\n'), 'upstream_disconnected', {}],
    ['stalls', () => {}, 'upstream_timeout', { stallTimeoutMs: 200 }],
  ])(
    'and %s, costs nothing, and its hold is released at once',
    async (__, end, errorCode, timeouts) => {
      const { to, send } = await start(spoken, { ...input, timeouts })
      const { provider, hears } = await send()
      provider.write(begun(spoken, 1))
      await hears('town')
      end(provider)
      expect(await to.onlyRequest()).toMatchObject({
        errorCode,
        state: 'released',
        backedChargeMicros: 0,
        backedHeldMicros: 0,
      })
    },
  )
})

/** The status of one more request of the key. */
async function refusedStatus(to: JourneyWorld): Promise<number> {
  const answer = await fetch(to.url, { method: 'POST', body: '{}' })
  await answer.text()
  return answer.status
}
