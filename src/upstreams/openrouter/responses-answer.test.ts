import { describe, expect, test } from 'vitest'
import type { StreamEvent } from '../../formats/format.ts'
import { responses as format } from '../../formats/responses.ts'
import { eventOf } from '../../formats/testing/exchange.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'
import { responses } from './responses.ts'
import {
  answerFixture,
  answerOf,
  eventsFixture,
  kindsOf,
  plainReport,
  problemOf,
  reportOf,
} from './testing/exchange.ts'

const NOTHING = { usage: null, cost: null, generationId: null }

describe('the report of a whole answer', () => {
  test.each([
    ['responses-basic.json', '301'],
    // A response id is no generation id; the relay reads the header.
    ['responses-own-id.json', null],
  ])('%s', (fileName, generation) => {
    const reading = responses.readAnswer(answerFixture(fileName))
    expect(reading.kind).toBe('success')
    const counts = '14 in, 7 out'
    expect(plainReport(reading.reported)).toEqual(
      reportOf({ counts, cost: '0.000147', generation }),
    )
  })

  test('cache reads and writes are not in the input count, and searches and reasoning are reported', () => {
    const usage = {
      input_tokens: 1_000,
      input_tokens_details: { cached_tokens: 600, cache_write_tokens: 300 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 40 },
      server_tool_use_details: { web_search_requests: 2 },
    }
    expect(responses.readAnswer(answerOf({ usage })).reported.usage).toEqual(
      usageOf('100 in, 600 read, 300 written, 50 out, 40 reasoning, 2 searches'),
    )
  })

  test.each([
    [{ status: 'failed', error: { code: 'server_error', message: 'x' } }],
    [{ status: 'failed', error: null }],
    [{ error: { message: 'x' } }],
    [{ type: 'error', code: 'server_error', message: 'x' }],
  ])('%j is an error with status 200', (answer) => {
    expect(responses.readAnswer(answerOf(answer)).kind).toBe('error')
  })

  test.each([
    [{ status: 'completed', error: null }],
    [{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }],
    [{}],
  ])('%j is not an error', (answer) => {
    const reading = responses.readAnswer(answerOf(answer))
    expect(reading.kind).toBe('success')
    expect(plainReport(reading.reported)).toEqual(NOTHING)
  })
})

describe('a stream', () => {
  test.each([
    ['responses-stream.sse', '14 in, 7 out', '0.000147', '303'],
    ['responses-stream-data-only.sse', '14 in, 7 out', '0.000147', '304'],
    ['responses-stream-function-call.sse', '220 in, 35 out', '0.001185', '305'],
    ['responses-stream-incomplete.sse', '14 in, 512 out', '0.007722', '307'],
    ['responses-stream-reasoning.sse', '300 in, 800 out, 700 reasoning', '0.0129', '311'],
    ['responses-stream-unknown-events.sse', '14 in, 7 out', '0.000147', '313'],
  ])('%s is relayed to its end, and its report is read', (fileName, counts, cost, generation) => {
    const observer = responses.observeStream({})
    const events = eventsFixture(fileName)
    const isDone = ({ data }: StreamEvent) => data === '[DONE]'
    const kinds = kindsOf(
      observer,
      events.filter((event) => !isDone(event)),
    )
    expect(kinds).toEqual([...kinds.slice(1).map(() => 'relay'), 'terminal'])
    expect(kindsOf(observer, events.filter(isDone))).toEqual(
      events.filter(isDone).map(() => 'relay'),
    )
    expect(plainReport(observer.reported())).toEqual(reportOf({ counts, cost, generation }))
    expect(observer.relayedTokens()).toBe(0)
  })

  test('the generation id is known from the first event', () => {
    const observer = responses.observeStream({})
    kindsOf(observer, eventsFixture('responses-stream.sse').slice(0, 1))
    expect(plainReport(observer.reported())).toEqual({ ...NOTHING, generationId: 'gen-1795000303' })
  })

  test.each([
    ['responses-stream-failed.sse', ['relay', 'terminalError']],
    ['responses-stream-error.sse', ['relay', 'error']],
    ['responses-stream-error-nested.sse', ['error']],
  ])('%s has an error', (fileName, kinds) => {
    expect(kindsOf(responses.observeStream({}), eventsFixture(fileName))).toEqual(kinds)
  })

  const data = (value: object) => eventOf(JSON.stringify(value))
  const completed = data({ type: 'response.completed', response: { id: 'gen-1' } })
  const failed = data({
    type: 'response.failed',
    response: {
      id: 'gen-1',
      status: 'failed',
      error: { message: 'x' },
      usage: { input_tokens: 3, output_tokens: 1, cost: 0.01 },
    },
  })
  const error = data({ type: 'error', code: 'server_error', message: 'x' })
  const done = eventOf('[DONE]')

  test.each<[string, readonly StreamEvent[], readonly string[]]>([
    [
      'a second end',
      [completed, data({ type: 'response.done', response: {} }), done],
      ['terminal', 'drop', 'relay'],
    ],
    ['an error after the end', [completed, error, failed], ['terminal', 'drop', 'drop']],
    ['the end after an error', [error, completed, done], ['error', 'drop', 'relay']],
    [
      'text after the end',
      [completed, data({ type: 'response.output_text.delta', delta: 'x' })],
      ['terminal', 'drop'],
    ],
  ])('has one terminal event: %s is dropped', (_, events, kinds) => {
    expect(kindsOf(responses.observeStream({}), events)).toEqual(kinds)
  })

  test('the cost of a failure is read from the event after the error', () => {
    const observer = responses.observeStream({})
    expect(kindsOf(observer, [error, failed])).toEqual(['error', 'drop'])
    expect(plainReport(observer.reported())).toEqual({
      usage: usageOf('3 in, 1 out'),
      cost: '0.01',
      generationId: 'gen-1',
    })
  })

  test.each([
    [{ type: 'response.completed', response: { status: 'failed' } }, 'terminalError'],
    [{ type: 'response.done', response: { error: { message: 'x' } } }, 'terminalError'],
    [{ type: 'response.failed' }, 'terminalError'],
    [{ type: 'response.failed', response: {} }, 'terminalError'],
    [{ type: 'response.error', error: { message: 'x' } }, 'error'],
    [{ type: 'response.output_text.delta', delta: 'x', error: { message: 'x' } }, 'error'],
    [{ error: { message: 'x' } }, 'error'],
    [{ type: 'response.completed' }, 'terminal'],
    [{ type: 'response.done', response: {} }, 'terminal'],
    [{ type: 'response.a_new_event', error: null }, 'relay'],
    [{ type: 'response.output_text.done', text: 'response.completed' }, 'relay'],
    [{ type: 'response.output_text.delta', delta: 'response.completed' }, 'relay'],
    [{ type: 'response.output_text.delta', delta: 'response' }, 'relay'],
    [{ type: 'response.output_text.delta', delta: 'error' }, 'relay'],
    [{ type: 'response.output_text.delta', delta: '"response":{"error":{}}' }, 'relay'],
  ])('%j: %s', (event, kind) => {
    expect(responses.observeStream({}).onEvent(data(event)).kind).toBe(kind)
  })

  test.each([
    ['{"message":"x"}', 'error', 'error'],
    ['upstream exploded', 'error', 'error'],
    ['{"type":"response.output_text.delta","delta":"x"}', 'error', 'error'],
    ['{}', 'response.completed', 'terminal'],
    ['{}', 'response.failed', 'terminalError'],
    ['upstream exploded', null, 'error'],
    ['"upstream exploded"', null, 'error'],
    ['upstream exploded.delta"', 'response.output_text.delta', 'error'],
    [String.raw`{"type":"response.x.delta","\u0065rror":{"message":"x"}}`, null, 'error'],
    [String.raw`{"type":"x","response":{"\u0065rror":{"message":"x"}}}`, null, 'terminalError'],
    ['[DONE]', null, 'relay'],
  ])('%s named %s: %s', (text, name, kind) => {
    expect(responses.observeStream({}).onEvent(eventOf(text, name)).kind).toBe(kind)
  })

  test.each([
    ['response.output_text.delta'],
    ['response.reasoning.delta'],
    ['response.reasoning_summary_text.delta'],
    ['response.function_call_arguments.delta'],
    ['response.refusal.delta'],
    ['response.content_part.delta'],
  ])('%s counts as relayed text, and its repetitions do not', (type) => {
    const observer = responses.observeStream({})
    observer.onEvent(data({ type, delta: 'Hello there' }))
    const once = observer.relayedTokens()
    expect(once).toBeGreaterThan(0)
    observer.onEvent(data({ type: type.replace('delta', 'done'), text: 'Hello there' }))
    expect(observer.relayedTokens()).toBe(once)
  })
})

describe('the error event', () => {
  const SECRET = 'SECRET words'
  const frameFor = (event: StreamEvent) => {
    const reading = responses.observeStream({}).onEvent(event)
    return format.errorEvent({ problem: problemOf(reading), requestId: 'req_1', event })
  }
  const jsonOf = (frame: string) => JSON.parse(frame.slice(frame.indexOf('data: ') + 6))

  test("of a failed response has our text and none of the provider's", () => {
    const frame = frameFor(
      eventOf(
        JSON.stringify({
          type: 'response.failed',
          sequence_number: 7,
          provider: SECRET,
          response: {
            id: 'gen-1',
            object: SECRET,
            created_at: 1_795_000_000,
            model: 'acme/sage-pro',
            status: 'failed',
            error: { code: 'server_error', message: SECRET },
            error_type: 'authentication',
            instructions: SECRET,
            metadata: { raw: SECRET },
            output: [{ type: 'message', content: [{ type: 'output_text', text: SECRET }] }],
            output_text: SECRET,
            temperature: 1,
            parallel_tool_calls: true,
            service_tier: SECRET,
            store: SECRET,
            usage: { input_tokens: 41, output_tokens: 7, cost: 0.5 },
          },
        }),
      ),
    )
    expect(frame.startsWith('event: response.failed\ndata: {')).toBe(true)
    expect(frame.endsWith('}\n\n')).toBe(true)
    expect(jsonOf(frame)).toEqual({
      type: 'response.failed',
      sequence_number: 7,
      response: {
        id: 'gen-1',
        object: 'response',
        created_at: 1_795_000_000,
        model: 'acme/sage-pro',
        status: 'failed',
        // The provider refused our account, which clients must not see.
        error: { code: 'service_unavailable', message: new Problem('service_unavailable').message },
        incomplete_details: null,
        instructions: null,
        metadata: {},
        output: [],
        output_text: '',
        parallel_tool_calls: true,
        temperature: 1,
        tool_choice: 'auto',
        tools: [],
        usage: { input_tokens: 41, output_tokens: 7, cost: 0.5 },
      },
    })
  })

  test.each([
    [{ type: 'error', code: 'rate_limit_exceeded', message: SECRET, sequence_number: 1 }],
    [{ type: 'error', sequence_number: 1, error: { code: 429, message: SECRET, raw: SECRET } }],
    [
      {
        type: 'response.error',
        sequence_number: 1,
        error: { code: 'rate_limit_exceeded', message: SECRET },
      },
    ],
  ])('of %j is flat and has an error object, for clients of either kind', (event) => {
    const { message } = new Problem('provider_rate_limited')
    const code = 'provider_rate_limited'
    const frame = frameFor(eventOf(JSON.stringify(event)))
    expect(frame.startsWith('event: error\ndata: {')).toBe(true)
    expect(jsonOf(frame)).toEqual({
      type: 'error',
      sequence_number: 1,
      code,
      message,
      param: null,
      error: { message, type: 'rate_limit_error', code, param: null },
    })
  })

  test('of invalid JSON is still whole', () => {
    const frame = frameFor(eventOf(SECRET, 'error'))
    expect(jsonOf(frame)).toMatchObject({ type: 'error', code: 'upstream_error' })
    expect(frame).not.toContain('SECRET')
  })

  test('of a response without an id names our request', () => {
    for (const response of [undefined, {}, { id: SECRET }, { id: null }]) {
      const frame = frameFor(eventOf(JSON.stringify({ type: 'response.failed', response })))
      expect(jsonOf(frame).response.id).toBe('req_1')
    }
  })

  test('a sequence number that is not a number is left out', () => {
    const event = { type: 'error', message: SECRET, sequence_number: 'SECRET' }
    expect(jsonOf(frameFor(eventOf(JSON.stringify(event))))).not.toHaveProperty('sequence_number')
  })
})
