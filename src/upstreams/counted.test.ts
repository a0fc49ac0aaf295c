import { describe, expect, test } from 'vitest'
import { chat as chatFormat } from '../formats/chat.ts'
import { completions } from '../formats/completions.ts'
import type { WireFormat } from '../formats/format.ts'
import { messages as messagesFormat } from '../formats/messages.ts'
import { responses } from '../formats/responses.ts'
import {
  type BodySource,
  bodyOf,
  callOf,
  DEFAULT_PUBLIC_NAMES,
  eventOf,
  LEAST_BODIES,
  offerWith,
  refusalOf,
} from '../formats/testing/exchange.ts'
import { editJson } from '../json/edit.ts'
import { usageOf } from '../vocabulary/testing/token-usage.ts'
import { openai } from './openai/openai.ts'
import { openaiCompatible } from './openai-compatible/openai-compatible.ts'
import { answerOf } from './openrouter/testing/exchange.ts'
import { NO_RULES } from './testing/upstream-settings.ts'
import { wire } from './testing/wires.ts'
import type { Wire } from './wire.ts'

function chunk(members: object): string {
  return JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', ...members })
}

const TEXT = chunk({ choices: [{ index: 0, delta: { content: 'Hello there.' } }], usage: null })
const COUNTS = { prompt_tokens: 30, completion_tokens: 7, total_tokens: 37 }
const LAST = chunk({ choices: [], usage: COUNTS })

/** Feeds these events to a fresh observer. By position: the wire, the events, and what the client asked for. */
function read(
  of: Wire,
  events: readonly string[],
  call: Parameters<Wire['observeStream']>[0] = {},
) {
  const observer = of.observeStream(call)
  const readings = events.map((data) => observer.onEvent(eventOf(data, null)))
  return { readings, reported: observer.reported(), relayedTokens: observer.relayedTokens() }
}

const NOTHING = { usage: null, costUsd: null, generationId: null }
const COUNTED = usageOf('30 in, 7 out')
const WHOLE = { ...NOTHING, usage: COUNTED, countsAreCost: true }

describe('a chat stream of OpenAI', () => {
  const chat = wire(openai, 'chat')

  test('has counts that are its cost as soon as its last chunk is read, and no generation ID', () => {
    expect(read(chat, [TEXT]).reported).toEqual(NOTHING)
    expect(read(chat, [TEXT, LAST]).reported).toEqual(WHOLE)
    expect(read(chat, [TEXT, LAST, '[DONE]']).reported).toEqual(WHOLE)
  })

  test('without its last chunk has no counts and no estimate', () => {
    expect(read(chat, [TEXT, '[DONE]']).reported).toEqual(NOTHING)
  })

  test('has an empty choice in the last chunk for a client that did not ask for it', () => {
    const [, last] = read(chat, [TEXT, LAST]).readings
    expect(last).toEqual({
      kind: 'replaced',
      data: LAST.replace('"choices":[]', '"choices":[{"index":0,"delta":{},"finish_reason":null}]'),
    })
  })

  test('is relayed unchanged to a client that asked for counts', () => {
    const { readings } = read(chat, [TEXT, LAST, '[DONE]'], { asksForUsage: true })
    expect(readings.map(({ kind }) => kind)).toEqual(['relay', 'relay', 'terminal'])
  })

  test('keeps a first chunk without choices, as Azure sends it', () => {
    const first = chunk({ choices: [], prompt_filter_results: [] })
    expect(read(chat, [first, TEXT]).readings.map(({ kind }) => kind)).toEqual(['relay', 'relay'])
  })

  test('keeps bytes that are not ASCII in the replaced chunk', () => {
    const last = LAST.replace('chatcmpl-1', 'chatcmpl-é')
    const [reading] = read(chat, [last]).readings
    expect(
      reading?.kind === 'replaced' && Buffer.from(reading.data, 'latin1').toString(),
    ).toContain('chatcmpl-é')
  })
})

test('has an empty text in the last chunk of legacy completions', () => {
  const last = JSON.stringify({ object: 'text_completion', choices: [], usage: COUNTS })
  const [reading] = read(wire(openai, 'completions'), [last]).readings
  expect(reading?.kind === 'replaced' && JSON.parse(reading.data)).toMatchObject({
    choices: [{ index: 0, text: '', finish_reason: null, logprobs: null }],
  })
})

describe('a stream of a server like OpenAI', () => {
  const chat = wire(openaiCompatible, 'chat')
  const growing = (completionTokens: number) =>
    chunk({
      choices: [{ index: 0, delta: { content: 'a' } }],
      usage: { prompt_tokens: 30, completion_tokens: completionTokens },
    })

  test('that counts in every chunk has its whole counts only at its end', () => {
    const cut = read(chat, [growing(1), growing(2)]).reported
    expect(cut).toEqual({ ...NOTHING, usage: usageOf('30 in, 2 out') })
    expect(read(chat, [growing(1), growing(7), '[DONE]']).reported).toEqual({
      ...WHOLE,
      textTokens: 1,
    })
  })

  test('that counts in every chunk has its whole counts only once all completions have ended', () => {
    const ended = (index: number, completionTokens: number) =>
      chunk({
        choices: [{ index, delta: {}, finish_reason: 'stop' }],
        usage: { prompt_tokens: 30, completion_tokens: completionTokens },
      })
    const events = [growing(1), ended(0, 3), ended(1, 7)]
    const call = { completions: 2 }
    const partly = { ...NOTHING, usage: usageOf('30 in, 3 out') }
    expect(read(chat, events.slice(0, 2), call).reported).toEqual(partly)
    expect(read(chat, [...events, '[DONE]'], call).reported).toEqual({ ...WHOLE, textTokens: 1 })
    expect(read(chat, [...events, LAST], call).reported).toEqual({ ...WHOLE, textTokens: 1 })
  })

  const zero = { prompt_tokens: 0, completion_tokens: 0 }
  test.each([
    ['without counts', [TEXT]],
    ['with counts of zero at its end', [TEXT, chunk({ choices: [], usage: zero })]],
    ['with counts of zero in each chunk', [TEXT.replace('null', JSON.stringify(zero))]],
    ['with an answer counted for no prompt', [TEXT, LAST.replace('30', '0')]],
  ])('%s is estimated by all of its text, even if its client left', (_, chunks) => {
    const tokens = 3
    expect(read(chat, chunks).relayedTokens).toBe(tokens)
    expect(read(chat, [...chunks, '[DONE]']).reported).toEqual({
      ...NOTHING,
      uncountedTokens: tokens,
    })
  })

  test.each<[string, object | null, string]>([
    ['zeros', zero, '30 in, 7 out'],
    ['its answer alone', { completion_tokens: 9 }, '30 in, 9 out'],
    ['an empty prompt', { ...zero, completion_tokens: 9 }, '30 in, 9 out'],
    ['nothing', {}, '30 in, 7 out'],
  ])('that counts its prompt, and then %s, keeps the count of its prompt', (_, usage, counts) => {
    const chunks = [TEXT, LAST, chunk({ choices: [], usage }), '[DONE]']
    expect(read(chat, chunks).reported).toEqual({ ...WHOLE, usage: usageOf(counts), textTokens: 3 })
  })

  test('that counts along with its text, and then zeros, has an empty choice in the last chunk', () => {
    const { readings, reported } = read(chat, [growing(7), chunk({ choices: [], usage: zero })])
    expect([readings[1]?.kind, reported.usage]).toEqual(['replaced', COUNTED])
  })

  const prompt = { prompt_tokens: 30 }
  const ofPrompt = usageOf('30 in, 0 out')
  test.each([
    ['none of its answer', [TEXT, chunk({ choices: [], usage: prompt })], 0],
    ['no tokens of its answer', [TEXT, LAST.replace('7,', '0,').replace('37', '30')], 0],
    [
      'less than nothing of its answer',
      [TEXT, chunk({ choices: [], usage: { ...prompt, completion_tokens: -7 } })],
      0,
    ],
    ['its answer before it is written', [LAST, TEXT], 7],
  ])('that counts %s is estimated by its prompt and its text', (_, chunks, outputTokens) => {
    const tokens = 3
    const partly = { ...NOTHING, usage: { ...ofPrompt, outputTokens } }
    expect(read(chat, chunks)).toMatchObject({ reported: partly, relayedTokens: tokens })
    expect(read(chat, [...chunks, '[DONE]']).reported).toEqual({
      ...partly,
      uncountedTokens: tokens,
    })
    expect(read(wire(openai, 'chat'), [...chunks, '[DONE]']).reported).toEqual(partly)
  })

  test('has the prices of the settings: a cost in its answers is ignored', () => {
    const { reported } = chat.readAnswer(answerOf({ id: 'gen-1', usage: { ...COUNTS, cost: 9 } }))
    expect(reported).toEqual(WHOLE)
  })

  test.each([
    [
      { prompt_tokens: 30, completion_tokens: 7, prompt_cache_hit_tokens: 20 },
      '10 in, 20 read, 7 out',
    ],
    [{ prompt_tokens: 30, completion_tokens: 7, cached_tokens: 20 }, '10 in, 20 read, 7 out'],
    [{ prompt_tokens: 30, completion_tokens: 7, total_tokens: 97 }, '30 in, 67 out'],
  ])('reads %j', (usage, counts) => {
    expect(chat.readAnswer(answerOf({ usage })).reported.usage).toEqual(usageOf(counts))
  })
})

describe('the longest answer, which a server may not know,', () => {
  const offer = offerWith({ outputTokensMax: 4_096, contextTokens: 32_768 })
  const sent = (format: WireFormat, source: BodySource): Record<string, unknown> => {
    const body = bodyOf(source)
    const of = wire(openaiCompatible, format.endpoint)
    const edits = of.rewrites({
      call: callOf(format, source),
      body,
      offer,
      outputCapTokens: null,
      accountTag: 'tag',
      publicNames: DEFAULT_PUBLIC_NAMES,
      ...NO_RULES,
    })
    return JSON.parse(Buffer.concat(editJson(body, edits)).toString())
  }
  const MESSAGES = { model: 'acme/sage-pro', messages: [] }
  const INPUT = { model: 'acme/sage-pro', input: 'x' }

  test('is sent where the client set no cap', () => {
    expect(sent(responses, INPUT)).toEqual({ ...INPUT, store: false, max_output_tokens: 4_096 })
    expect(sent(responses, { ...INPUT, max_output_tokens: null })).toMatchObject({
      max_output_tokens: 4_096,
    })
  })

  test('is not sent with messages, whose servers demand the cap of the client', () => {
    expect(sent(messagesFormat, MESSAGES)).toEqual(MESSAGES)
  })

  test("is not sent in place of the client's own cap", () => {
    const own = { ...INPUT, max_output_tokens: 9_000 }
    expect(sent(responses, own)).toEqual({ ...own, store: false })
  })

  test('is the upper bound of the cap of messages, and of their hold', () => {
    const refuse = (max_tokens: number) => {
      const body = bodyOf({ ...MESSAGES, max_tokens })
      const call = callOf(messagesFormat, { ...MESSAGES, max_tokens })
      wire(openaiCompatible, 'messages').refuse?.({ call, body, offer, ...NO_RULES })
    }
    expect(refusalOf(() => refuse(4_097))).toEqual({
      code: 'invalid_parameter',
      param: 'max_tokens',
    })
    expect(() => refuse(4_097)).toThrow('4096')
    expect(() => refuse(4_096)).not.toThrow()
  })
})

describe('the cap of a client', () => {
  const sent = (
    format: WireFormat,
    {
      parameters,
      ...members
    }: { readonly parameters?: readonly string[]; [name: string]: unknown },
  ): Record<string, unknown> => {
    const source = { ...LEAST_BODIES[format.endpoint], ...members }
    const body = bodyOf(source)
    const edits = wire(openaiCompatible, format.endpoint).rewrites({
      call: callOf(format, source),
      body,
      offer: offerWith({
        contextTokens: 32_768,
        outputTokensMax: 4_096,
        supportedParameters: new Set(parameters ?? ['max_tokens']),
      }),
      outputCapTokens: null,
      accountTag: 'tag',
      publicNames: DEFAULT_PUBLIC_NAMES,
      ...NO_RULES,
    })
    const all = JSON.parse(Buffer.concat(editJson(body, edits)).toString())
    return Object.fromEntries(Object.entries(all).filter(([name]) => name.startsWith('max_')))
  }
  const BOTH = ['max_tokens', 'max_completion_tokens']

  test.each([
    [{ max_completion_tokens: 9 }, { max_tokens: 9, max_completion_tokens: null }],
    [{ max_tokens: 9 }, { max_tokens: 9 }],
    [
      { max_tokens: 9, max_completion_tokens: 5 },
      { max_tokens: 9, max_completion_tokens: 5 },
    ],
    [
      { parameters: ['max_completion_tokens'], max_tokens: 9 },
      { max_tokens: null, max_completion_tokens: 9 },
    ],
    [{ parameters: BOTH, max_completion_tokens: 9 }, { max_completion_tokens: 9 }],
    [{ parameters: [], max_completion_tokens: 9 }, { max_completion_tokens: 9 }],
  ])(
    'is sent in the field that the model accepts, because a server may ignore the other: %j',
    (members, caps) => {
      expect(sent(chatFormat, members)).toEqual(caps)
    },
  )

  test.each([
    [chatFormat, { max_tokens: 1e9 }, { max_tokens: 32_768 }],
    [
      chatFormat,
      { max_completion_tokens: 32_769 },
      { max_tokens: 32_768, max_completion_tokens: null },
    ],
    [
      chatFormat,
      { max_tokens: 9, max_completion_tokens: 40_000 },
      { max_tokens: 9, max_completion_tokens: 32_768 },
    ],
    [chatFormat, { max_tokens: 32_769 }, { max_tokens: 32_768 }],
    [completions, { max_tokens: 1e9 }, { max_tokens: 32_768 }],
    [responses, { max_output_tokens: 1e9 }, { max_output_tokens: 32_768 }],
  ])(
    'is lowered to the context window, because a server may write beyond it',
    (format, members, caps) => {
      expect(sent(format, members)).toEqual(caps)
    },
  )

  test('is the window for messages of a model that lists no longest answer', () => {
    const source = { model: 'acme/sage-pro', messages: [], max_tokens: 32_769 }
    const offer = offerWith({ contextTokens: 32_768, outputTokensMax: null })
    const refuse = () =>
      wire(openaiCompatible, 'messages').refuse?.({
        call: callOf(messagesFormat, source),
        body: bodyOf(source),
        ...NO_RULES,
        offer,
      })
    expect(refuse).toThrow('32768')
  })
})

test('the counts of a response that failed are its cost, streamed or not', () => {
  const usage = { input_tokens: 30, output_tokens: 7 }
  const response = { id: 'resp_1', status: 'failed', error: { code: 'server_error' }, usage }
  for (const each of [wire(openai, 'responses'), wire(openaiCompatible, 'responses')]) {
    expect(each.readAnswer(answerOf(response)).reported).toEqual(WHOLE)
    const event = JSON.stringify({ type: 'response.failed', response })
    expect(read(each, [event]).reported).toMatchObject(WHOLE)
  }
})

test.each(['completed', 'incomplete', 'cancelled', 'failed'])(
  'the counts of a response that is %s after an event with an error are its cost',
  (status) => {
    const usage = { input_tokens: 30, output_tokens: 7, total_tokens: 37 }
    const terminal = { type: `response.${status}`, response: { id: 'r', status, usage } }
    for (const each of [wire(openai, 'responses'), wire(openaiCompatible, 'responses')]) {
      const error = { type: 'error', code: 'server_error', message: 'x' }
      const { readings, reported } = read(each, [JSON.stringify(error), JSON.stringify(terminal)])
      expect(readings.map(({ kind }) => kind)).toEqual(['error', 'drop'])
      expect(reported).toMatchObject(WHOLE)
    }
  },
)

test('a response that was cancelled ends its stream, and its counts are its cost', () => {
  const usage = { input_tokens: 30, output_tokens: 7 }
  const terminal = { type: 'response.cancelled', response: { id: 'r', status: 'cancelled', usage } }
  const { readings, reported } = read(wire(openai, 'responses'), [JSON.stringify(terminal)])
  expect(readings.map(({ kind }) => kind)).toEqual(['terminal'])
  expect(reported).toEqual(WHOLE)
})
