import { describe, expect, test } from 'vitest'
import { problemForProviderError } from '../../formats/provider-error.ts'
import { NOTHING_SENT } from '../../formats/sent-facts.ts'
import { eventOf } from '../../formats/testing/exchange.ts'
import { chat, completions, embeddings, images } from './chat.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'
import { answerOf } from './testing/exchange.ts'

const WIRES = Object.entries({ chat, completions, embeddings, images, messages, responses })

const miniMax = (code: number) => ({
  id: '1',
  choices: null,
  base_resp: { status_code: code, status_msg: 'SECRET' },
})

/** Errors that servers send with the status 200, by the code that clients get. */
const SAID: readonly (readonly [body: object, code: string])[] = [
  [{ error: { message: 'SECRET' } }, 'upstream_error'],
  [{ error: 'SECRET' }, 'upstream_error'],
  [{ object: 'error', message: 'SECRET', code: 400 }, 'provider_rejected_request'],
  [{ code: 500, msg: 'SECRET', success: false }, 'upstream_error'],
  [{ result: null, success: false, errors: [{ message: 'SECRET' }] }, 'upstream_error'],
  [miniMax(1000), 'upstream_error'],
  [miniMax(1002), 'provider_rate_limited'],
  [miniMax(1004), 'service_unavailable'],
  [miniMax(1008), 'service_unavailable'],
  [miniMax(1026), 'content_policy_violation'],
]

describe.each(WIRES)('%s', (_, wire) => {
  test.each(SAID)('%j with a status of success, or in a stream, is the error %s', (body, code) => {
    const readings = [
      wire.readAnswer(answerOf(body)),
      wire.observeStream({}).onEvent(eventOf(JSON.stringify(body), null)),
    ]
    const codes = readings.map((reading) => {
      if (reading.kind !== 'error') return reading.kind
      const sent = { retryAfter: undefined, sent: NOTHING_SENT }
      return problemForProviderError(reading.error, sent).code
    })
    expect(codes).toEqual([code, code])
  })

  test('an answer that says that it has succeeded is no error', () => {
    const body = { success: true, base_resp: { status_code: 0, status_msg: '' }, error: null }
    expect(wire.readAnswer(answerOf(body)).kind).toBe('success')
    expect(wire.observeStream({}).onEvent(eventOf(JSON.stringify(body), null)).kind).toBe('relay')
  })
})
