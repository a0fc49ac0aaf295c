import { describe, expect, test } from 'vitest'
import { eventOf } from '../../formats/testing/exchange.ts'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'
import { answerOf } from '../openrouter/testing/exchange.ts'
import { wire } from '../testing/wires.ts'
import { anthropic } from './anthropic.ts'

const messages = wire(anthropic, 'messages')
const COUNTS = { input_tokens: 30, output_tokens: 7 }
const COUNTED = {
  usage: usageOf('30 in, 7 out'),
  costUsd: null,
  generationId: null,
  countsAreCost: true,
}

/** The report of an answer with this in its usage: whole, and as a stream. */
function reportsOf(served: object): readonly object[] {
  const content = [{ type: 'text', text: 'Hello.' }]
  const whole = messages.readAnswer(answerOf({ content, usage: { ...COUNTS, ...served } })).reported
  const observer = messages.observeStream({})
  for (const event of [
    { type: 'message_start', message: { id: 'msg_1', usage: { ...COUNTS, ...served } } },
    { type: 'message_delta', delta: {}, usage: COUNTS },
    { type: 'message_stop' },
  ]) {
    observer.onEvent(eventOf(JSON.stringify(event), event.type))
  }
  return [whole, observer.reported()]
}

describe('an answer of Anthropic', () => {
  test.each(['priority', 'standard'])(
    'at the tier %s costs the listed prices, because capacity bought in advance has no other prices',
    (tier) => {
      expect(reportsOf({ service_tier: tier })).toEqual([COUNTED, COUNTED])
    },
  )

  test('computed in the US is regional, and keeps saying so to the end of a stream', () => {
    const at = { ...COUNTED, isRegional: true }
    expect(reportsOf({ inference_geo: 'us' })).toEqual([at, at])
  })

  test.each(['global', 'not_available', null])(
    'computed anywhere is not regional: inference_geo %s',
    (geo) => {
      expect(reportsOf({ inference_geo: geo })).toEqual([COUNTED, COUNTED])
    },
  )

  test.each([
    ['fast', 'priority'],
    ['standard', 'standard'],
  ])('at the speed %s costs the prices of that speed', (speed, servedTier) => {
    const at = { ...COUNTED, servedTier }
    expect(reportsOf({ service_tier: 'standard', speed })).toEqual([at, at])
  })
})
