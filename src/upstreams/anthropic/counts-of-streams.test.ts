import { describe, expect, test } from 'vitest'
import { eventOf } from '../../formats/testing/exchange.ts'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'
import { openaiCompatible } from '../openai-compatible/openai-compatible.ts'
import { wire } from '../testing/wires.ts'
import { anthropic } from './anthropic.ts'

const START = {
  type: 'message_start',
  message: {
    id: 'msg_01',
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: 30,
      cache_read_input_tokens: 5,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
      output_tokens: 1,
    },
  },
}
const BLOCK = { type: 'content_block_delta', delta: { type: 'text_delta', text: 'Hello.' } }
const DELTA = {
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  usage: {
    input_tokens: 10,
    cache_creation_input_tokens: 30,
    cache_read_input_tokens: 5,
    output_tokens: 40,
    server_tool_use: { web_search_requests: 2 },
  },
}
const STOP = { type: 'message_stop' }
const PROMPT = '10 in, 5 read, 20 written, 10 written long'

const counted = (counts: string) => ({
  usage: usageOf(`${PROMPT}, ${counts}`),
  costUsd: null,
  generationId: null,
})
const WHOLE = { ...counted('40 out, 2 searches'), countsAreCost: true }

describe.each([
  ['Anthropic', anthropic],
  ['a server like it', openaiCompatible],
])('a stream of messages of %s', (_, dialect) => {
  /** The report after these events. */
  function reported(...events: readonly object[]) {
    const observer = wire(dialect, 'messages').observeStream({})
    for (const event of events) observer.onEvent(eventOf(JSON.stringify(event), null))
    const { textTokens: _, uncountedTokens: __, ...counts } = observer.reported()
    return counts
  }

  test('has the counts of the prompt first and of the whole answer at the end, merged field by field', () => {
    expect(reported(START)).toEqual(counted('1 out'))
    expect(reported(START, DELTA)).toEqual(WHOLE)
    expect(reported(START, DELTA, STOP)).toEqual(WHOLE)
  })

  test('has the counts of the whole answer once it says why the answer ended', () => {
    const early = { ...DELTA, delta: { stop_reason: null }, usage: { output_tokens: 20 } }
    expect(reported(START, early)).toEqual(counted('20 out'))
    expect(reported(START, early, DELTA)).toEqual(WHOLE)
    expect(reported(START, { ...DELTA, delta: {} }, STOP)).toEqual(WHOLE)
  })

  test('that ends without counts of its text is not counted', () => {
    const uncounted = reported(START, BLOCK, { ...DELTA, usage: null }, STOP)
    expect(uncounted).toEqual(counted('1 out'))
  })
})
