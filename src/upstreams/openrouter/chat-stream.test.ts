import { describe, expect, test } from 'vitest'
import { eventOf } from '../../formats/testing/exchange.ts'
import { chat, completions, images } from './chat.ts'
import { eventsFixture, kindsOf, plainReport, reportOf } from './testing/exchange.ts'

/** Data that is not a JSON object. */
const UNREADABLE = [
  '{"id":"gen-',
  'null',
  '"text"',
  '[]',
  '7',
  'upstream exploded',
  '[DONE] and more',
  '{"delta":{"content":"a\nb"}}',
  '{"id":"gen-1","choices":[{"index":0,"delta":{"content":"a\tb"}}]}',
]

describe('a stream', () => {
  test.each([
    ['chat-stream.sse', chat, '21 in, 4 out', '0.000123', '003-st'],
    ['chat-stream-include-usage.sse', chat, '21 in, 4 out', '0.000123', '004-iu'],
    ['chat-stream-tool-call.sse', chat, '143 in, 22 out', '0.000759', '005-tcs'],
    ['chat-stream-reasoning.sse', chat, '52 in, 480 out, 400 reasoning', '0.007356', '006-rs'],
    ['completions-stream.sse', completions, '6 in, 8 out', '0.000025', '102'],
    ['completions-stream-include-usage.sse', completions, '6 in, 8 out', '0.000025', '103'],
    ['images-stream.sse', images, '16 in, 544 out, 544 images', '0.02192', null],
    ['images-stream-svg.sse', images, '2,000 out, 2,000 images', '0.01916', null],
  ])(
    '%s: all relayed, its end seen, its report read',
    (fileName, format, counts, cost, generation) => {
      const observer = format.observeStream({})
      const events = eventsFixture(fileName)
      expect(kindsOf(observer, events)).toEqual([...events.slice(1).map(() => 'relay'), 'terminal'])
      expect(plainReport(observer.reported())).toEqual(reportOf({ counts, cost, generation }))
    },
  )

  test('the generation id is known from the first chunk', () => {
    const observer = chat.observeStream({})
    kindsOf(observer, eventsFixture('chat-stream.sse').slice(0, 1))
    expect(observer.reported().generationId).toBe('gen-1795000003-st')
  })

  test.each([
    ['chat-stream-error.sse', chat, ['relay', 'error'], null],
    ['chat-stream-error-with-usage.sse', chat, ['relay', 'error', 'terminal'], '0.000093'],
    ['completions-stream-error.sse', completions, ['relay', 'error'], null],
    ['images-stream-error.sse', images, ['relay', 'error', 'terminal'], null],
  ])('%s has an error, and its cost is read', (fileName, format, kinds, costUsd) => {
    const observer = format.observeStream({})
    expect(kindsOf(observer, eventsFixture(fileName))).toEqual(kinds)
    expect(plainReport(observer.reported()).cost).toBe(costUsd)
  })

  test('of several images has the last report, and ends after all of them', () => {
    const observer = images.observeStream({})
    const completed = (costUsd: string) =>
      eventOf(
        `{"type":"image_generation.completed","b64_json":"AA==","usage":{"completion_tokens":1,"cost":${costUsd}}}`,
      )
    expect(kindsOf(observer, [completed('0.02'), completed('0.04'), eventOf('[DONE]')])).toEqual([
      'relay',
      'relay',
      'terminal',
    ])
    expect(plainReport(observer.reported()).cost).toBe('0.04')
  })

  test('with an image has no relayed text and no generation id', () => {
    const observer = images.observeStream({})
    observer.onEvent(
      eventOf(
        '{"id":"gen-1","type":"image_generation.partial_image","b64_json":"AAAA","usage":{}}',
      ),
    )
    expect(observer.relayedTokens()).toBe(0)
    expect(observer.reported().generationId).toBeNull()
  })

  test.each([[{ text: 'Once upon' }], [{ reasoning: 'Assume' }]])(
    'of a legacy completion, %j counts as relayed text',
    (choice) => {
      const observer = completions.observeStream({})
      observer.onEvent(eventOf(JSON.stringify({ id: 'gen-1', choices: [choice] })))
      expect(observer.relayedTokens()).toBeGreaterThan(0)
    },
  )

  test('a stream that was cut off has its ID and the tokens of its relayed text', () => {
    const observer = chat.observeStream({})
    kindsOf(observer, eventsFixture('chat-stream-drop.sse'))
    expect(plainReport(observer.reported())).toEqual({
      usage: null,
      cost: null,
      generationId: 'gen-1795000013-dr',
    })
    expect(observer.relayedTokens()).toBeGreaterThan(0)
  })

  const delta = (members: object) =>
    eventOf(JSON.stringify({ id: 'gen-1', choices: [{ index: 0, delta: members }] }))

  test.each([
    [{ content: 'Hello there' }],
    [{ reasoning: 'Assume' }],
    [{ reasoning_content: 'Assume' }],
    [{ thinking: 'Assume' }],
    [{ reasoning_details: [{ type: 'reasoning.text', text: 'Assume' }] }],
    // Mistral's.
    [{ content: [{ type: 'text', text: 'Hello there' }] }],
    [{ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Assume' }] }] }],
    [{ refusal: 'I will not' }],
    [{ tool_calls: [{ function: { arguments: '{"city":"Oslo"}' } }] }],
    [{ tool_calls: [{ type: 'custom', custom: { input: 'ls -l' } }] }],
  ])('%j counts as relayed text', (members) => {
    const observer = chat.observeStream({})
    observer.onEvent(delta(members))
    expect(observer.relayedTokens()).toBeGreaterThan(0)
  })

  test('the same text under several names counts once', () => {
    const once = chat.observeStream({})
    once.onEvent(delta({ reasoning: 'Assume that there are nine.' }))
    const often = chat.observeStream({})
    often.onEvent(
      delta({
        reasoning: 'Assume that there are nine.',
        reasoning_content: 'Assume that there are nine.',
        reasoning_details: [{ type: 'reasoning.text', text: 'Assume that there are nine.' }],
      }),
    )
    expect(often.relayedTokens()).toBe(once.relayedTokens())
  })

  test('text that says "usage" or "error" is text', () => {
    const observer = chat.observeStream({})
    const events = [
      delta({ content: '"usage": {"cost": 9}' }),
      delta({ content: '"error": {"code": 500}' }),
    ]
    expect(kindsOf(observer, events)).toEqual(['relay', 'relay'])
    expect(observer.reported().costUsd).toBeNull()
  })

  test('an event named error is an error with any data', () => {
    for (const data of ['{"message":"secret"}', 'secret', '[]']) {
      expect(chat.observeStream({}).onEvent(eventOf(data, 'error')).kind).toBe('error')
    }
  })

  test.each(UNREADABLE)('%j is an error, and later events still report', (data) => {
    for (const format of [chat, completions, images]) {
      const observer = format.observeStream({})
      const usage = eventOf('{"id":"gen-1","usage":{"cost":0.5}}')
      const events = [delta({ content: 'a' }), delta({ content: 'b' }), eventOf(data), usage]
      expect(kindsOf(observer, events)).toEqual(['relay', 'relay', 'error', 'relay'])
      expect(plainReport(observer.reported()).cost).toBe('0.5')
    }
  })

  test.each([
    String.raw`{"\u0065rror":{"message":"x"}}`,
    String.raw`{"\u0065\u0072\u0072\u006f\u0072":"x","choices":[]}`,
    String.raw`{"choices":[{"index":0,"\u0065rror":{"message":"x"}}]}`,
    '{"object":"error","message":"x","code":400}',
    String.raw`{"choices":[{"index":0,"finish_reason":"\u0065rror"}]}`,
  ])('%s is an error, escaped or not', (data) => {
    const observer = chat.observeStream({})
    const events = [delta({ content: 'a' }), delta({ content: 'b' }), eventOf(data)]
    expect(kindsOf(observer, events)).toEqual(['relay', 'relay', 'error'])
  })

  test('the latest usage counts, and a later null does not replace it', () => {
    const observer = chat.observeStream({})
    const usage = (costUsd: number | null) =>
      eventOf(`{"id":"gen-1","usage":{"prompt_tokens":1,"completion_tokens":2,"cost":${costUsd}}}`)
    kindsOf(observer, [usage(0.001), usage(0.002), usage(null), eventOf('{"usage":null}')])
    expect(plainReport(observer.reported()).cost).toBe('0.002')
  })
})
