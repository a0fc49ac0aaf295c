import { describe, expect, test } from 'vitest'
import { messages as format } from '../../formats/messages.ts'
import { eventOf } from '../../formats/testing/exchange.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'
import { messages } from './messages.ts'
import {
  answerFixture,
  answerOf,
  eventsFixture,
  kindsOf,
  plainReport,
  problemOf,
  reportOf,
} from './testing/exchange.ts'

describe('the report of a whole answer', () => {
  test.each([
    ['messages-basic.json', '12 in, 18 out', '0.000306', '201'],
    // A message id is no generation id; the relay reads the header.
    ['messages-own-id.json', '12 in, 18 out', '0.000306', null],
    ['messages-web-search.json', '900 in, 200 out, 2 searches', '0.0257', '206'],
    ['messages-cache.json', '50 in, 60,000 read, 1,200 written, 90 out', '0.024', '207'],
    ['messages-fast-mode.json', '30 in, 40 out', '0.00138', '215'],
  ])('%s', (fileName, counts, cost, generation) => {
    const reading = messages.readAnswer(answerFixture(fileName))
    expect(reading.kind).toBe('success')
    expect(plainReport(reading.reported)).toEqual(reportOf({ counts, cost, generation }))
  })

  test.each([
    [
      { cache_creation_input_tokens: 300, cache_creation: { ephemeral_1h_input_tokens: 200 } },
      '100 written, 200 written long',
    ],
    [
      { cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 } },
      '100 written, 200 written long',
    ],
    [{ cache_creation_input_tokens: 300 }, '300 written'],
    [
      {
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 200 },
      },
      '300 written long',
    ],
    [{ output_tokens_details: { thinking_tokens: 5 } }, '5 reasoning'],
  ])('usage %j is %j', (given, expected) => {
    const answer = { usage: { input_tokens: 1, output_tokens: 9, ...given } }
    expect(messages.readAnswer(answerOf(answer)).reported.usage).toEqual(
      usageOf(`1 in, 9 out, ${expected}`),
    )
  })

  test.each([[{}], [{ usage: null }], [{ usage: { input_tokens: -1, output_tokens: 'many' } }]])(
    '%j reports no usage',
    (answer) => {
      expect(messages.readAnswer(answerOf(answer)).reported.usage).toBeNull()
    },
  )

  test.each([
    [{ type: 'error', error: { type: 'overloaded_error', message: 'x' } }],
    [{ type: 'error' }],
    [{ error: { message: 'x' } }],
  ])('%j is an error with status 200', (answer) => {
    expect(messages.readAnswer(answerOf(answer)).kind).toBe('error')
  })

  test('an error about our own account does not reach the client', () => {
    for (const type of ['authentication_error', 'billing_error']) {
      const reading = messages.readAnswer(answerOf({ type: 'error', error: { type } }))
      expect(problemOf(reading)).toMatchObject({
        code: 'service_unavailable',
        messagesType: 'overloaded_error',
      })
    }
  })
})

describe('a stream', () => {
  test.each([
    ['messages-stream.sse', '12 in, 6 out', '0.000126', '203'],
    ['messages-stream-no-cost.sse', '12 in, 6 out', null, '204'],
    ['messages-stream-tool-call.sse', '410 in, 60 out', null, '205'],
  ])('%s is relayed to its end, and its report is read', (fileName, counts, cost, generation) => {
    const observer = messages.observeStream({})
    const events = eventsFixture(fileName)
    expect(kindsOf(observer, events)).toEqual([...events.slice(1).map(() => 'relay'), 'terminal'])
    expect(plainReport(observer.reported())).toEqual(reportOf({ counts, cost, generation }))
    expect(observer.relayedTokens()).toBe(0)
  })

  test('the first event reports generation id and input', () => {
    const observer = messages.observeStream({})
    kindsOf(observer, eventsFixture('messages-stream.sse').slice(0, 1))
    expect(plainReport(observer.reported())).toEqual({
      usage: usageOf('12 in, 1 out'),
      cost: null,
      generationId: 'gen-1795000203',
    })
  })

  test('writes after the first event have the lifetime that all earlier ones had', () => {
    const writes = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 200 }
    const started = { input_tokens: 30, cache_creation_input_tokens: 200, cache_creation: writes }
    const observer = messages.observeStream({})
    for (const event of [
      { type: 'message_start', message: { id: 'gen-1', usage: { ...started, output_tokens: 1 } } },
      // After a search the prompt is read and written again. This event has no lifetimes.
      {
        type: 'message_delta',
        delta: {},
        usage: { input_tokens: 45, cache_creation_input_tokens: 700, output_tokens: 9 },
      },
    ]) {
      observer.onEvent(eventOf(JSON.stringify(event), event.type))
    }
    expect(observer.reported().usage).toEqual(usageOf('45 in, 700 written long, 9 out'))
  })

  test('an error event does not remove earlier reports', () => {
    const observer = messages.observeStream({})
    const kinds = kindsOf(observer, eventsFixture('messages-stream-error.sse'))
    expect(kinds).toEqual(['relay', 'relay', 'relay', 'error'])
    expect(observer.reported().usage).toEqual(usageOf('12 in, 1 out'))
  })

  const start = (usage: object) =>
    eventOf(
      JSON.stringify({ type: 'message_start', message: { id: 'msg_1', usage } }),
      'message_start',
    )
  const end = (usage: object) =>
    eventOf(JSON.stringify({ type: 'message_delta', delta: {}, usage }), 'message_delta')
  const delta = (members: object) =>
    eventOf(
      JSON.stringify({ type: 'content_block_delta', index: 0, delta: members }),
      'content_block_delta',
    )

  test.each([
    // Counts are cumulative: the last one counts, and none are added up.
    [{ input_tokens: 10, output_tokens: 1 }, { output_tokens: 20 }, '10 in, 20 out'],
    // Some providers know the input only at the end, and some only at the start.
    [
      { input_tokens: 0, output_tokens: 0 },
      { input_tokens: 50, cache_read_input_tokens: 950, output_tokens: 20 },
      '50 in, 950 read, 20 out',
    ],
    [
      { input_tokens: 50, cache_read_input_tokens: 950, output_tokens: 1 },
      { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 20 },
      '50 in, 950 read, 20 out',
    ],
    [
      { input_tokens: 50, cache_read_input_tokens: 950, output_tokens: 1 },
      { input_tokens: 0, output_tokens: 20 },
      '50 in, 950 read, 20 out',
    ],
    [
      { input_tokens: 1_000, output_tokens: 1 },
      { input_tokens: 50, cache_read_input_tokens: 950, output_tokens: 20 },
      '50 in, 950 read, 20 out',
    ],
    [
      {
        input_tokens: 5,
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_1h_input_tokens: 300 },
        output_tokens: 1,
      },
      { input_tokens: 5, cache_creation_input_tokens: 300, output_tokens: 20 },
      '5 in, 300 written long, 20 out',
    ],
    [
      { input_tokens: 5, output_tokens: 1 },
      { input_tokens: null, output_tokens: 20, server_tool_use: { web_search_requests: 3 } },
      '5 in, 20 out, 3 searches',
    ],
  ])('usage %j, then %j, is %j', (first, last, expected) => {
    const observer = messages.observeStream({})
    kindsOf(observer, [start(first), end(last)])
    expect(observer.reported().usage).toEqual(usageOf(expected))
  })

  test('a cost is read from both places of usage', () => {
    for (const event of [start({ output_tokens: 1, cost: 0.01 }), end({ cost: 0.01 })]) {
      const observer = messages.observeStream({})
      observer.onEvent(event)
      expect(plainReport(observer.reported()).cost).toBe('0.01')
    }
  })

  test.each([
    [{ type: 'text_delta', text: 'Hello there' }],
    [{ type: 'thinking_delta', thinking: 'Assume' }],
    [{ type: 'input_json_delta', partial_json: '{"city":"Oslo"}' }],
  ])('%j counts as relayed text until the provider has counted it', (members) => {
    const observer = messages.observeStream({})
    kindsOf(observer, [start({ input_tokens: 5, output_tokens: 1 }), delta(members)])
    expect(observer.relayedTokens()).toBeGreaterThan(0)
    observer.onEvent(end({ output_tokens: 20 }))
    expect(observer.relayedTokens()).toBe(0)
  })

  test('text that mentions usage, errors and ends is text', () => {
    const observer = messages.observeStream({})
    const events = [
      delta({ type: 'text_delta', text: 'message_stop' }),
      delta({ type: 'text_delta', text: 'error' }),
      delta({ type: 'text_delta', text: '"usage":{"output_tokens":9}' }),
      delta({ type: 'text_delta', text: '"type":"error","error":{"message":"x"}' }),
    ]
    expect(kindsOf(observer, events)).toEqual(['relay', 'relay', 'relay', 'relay'])
    expect(plainReport(observer.reported())).toEqual({
      usage: null,
      cost: null,
      generationId: null,
    })
  })

  test.each([
    ['{"type":"error","error":{"type":"api_error","message":"x"}}', 'error'],
    ['{"type":"error","error":{"type":"api_error","message":"x"}}', null],
    ['{"type":"error","error":{"type":"api_error","message":"x"}}', 'ping'],
    ['{"error":{"message":"x"}}', null],
    ['{"message":"x"}', 'error'],
    ['upstream exploded', 'error'],
    ['', 'error'],
    ['not JSON', null],
    ['not JSON', 'content_block_delta'],
    ['"not an event"', 'ping'],
    [String.raw`{"type":"ping","\u0065rror":{"message":"x"}}`, 'ping'],
    [String.raw`{"type":"\u0065rror","message":"x"}`, null],
  ])('%s named %s is an error', (data, name) => {
    expect(messages.observeStream({}).onEvent(eventOf(data, name)).kind).toBe('error')
  })

  test.each([
    ['{"type":"message_stop"}', 'message_stop'],
    ['{"type":"message_stop"}', null],
    ['{}', 'message_stop'],
  ])('%s named %s is the end', (data, name) => {
    expect(messages.observeStream({}).onEvent(eventOf(data, name)).kind).toBe('terminal')
  })

  test.each([
    ['{"type":"ping"}', 'ping'],
    ['{"type":"a_new_event","error":null}', 'a_new_event'],
    ['[DONE]', null],
  ])('%s named %s is relayed', (data, name) => {
    expect(messages.observeStream({}).onEvent(eventOf(data, name)).kind).toBe('relay')
  })
})

test('the error event is the messages envelope, without any text of the provider', () => {
  const data =
    '{"type":"error","error":{"type":"overloaded_error","message":"SECRET","error_type":"SECRET"},' +
    '"request_id":"SECRET","metadata":{"provider_name":"SECRET"}}'
  const event = eventOf(data, 'error')
  const reading = messages.observeStream({}).onEvent(event)
  const problem = problemOf(reading)
  const frame = format.errorEvent({ problem, requestId: 'req_1', event })
  expect(frame).toBe(
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error",' +
      `"message":"${new Problem('upstream_error').message}"},"request_id":"req_1"}\n\n`,
  )
})
