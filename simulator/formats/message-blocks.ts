import type { Answer, Answered } from '../answer.ts'
import type { JsonObject } from '../json-value.ts'
import { parseObject } from '../json-value.ts'

/** One content block of a message: whole, and in the events of a stream. */
interface MessageBlock {
  readonly whole: JsonObject
  readonly start: JsonObject
  readonly deltas: readonly { readonly body: JsonObject; readonly outputTokens: number }[]
}

/** The `stop_reason` of an answer. */
export function stopReason(answer: Answer): 'end_turn' | 'max_tokens' | 'tool_use' {
  if (answer.isCut) return 'max_tokens'
  return answer.call === null ? 'end_turn' : 'tool_use'
}

/** The content blocks of an answer, in order. */
export function blocksOf(answered: Answered): readonly MessageBlock[] {
  const { ask, answer, input } = answered
  const blocks: MessageBlock[] = []
  if (answer.reasoning.length > 0) blocks.push(thinkingBlock(answer.reasoning))
  if (ask.searches > 0) blocks.push(...searchBlocks(ask.question))
  if (answer.call === null) blocks.push(textBlock(answer.text))
  else blocks.push(toolBlock(answer.call, `toolu_${input.generationId.slice(-16)}`))
  return blocks
}

function thinkingBlock(pieces: readonly string[]): MessageBlock {
  const signature = 'c2ltdWxhdGVkIHNpZ25hdHVyZQ=='
  const thoughts = pieces.map((thinking) => ({
    body: { type: 'thinking_delta', thinking },
    outputTokens: 1,
  }))
  return {
    whole: { type: 'thinking', thinking: pieces.join(''), signature },
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [...thoughts, { body: { type: 'signature_delta', signature }, outputTokens: 0 }],
  }
}

function textBlock(pieces: readonly string[]): MessageBlock {
  return {
    whole: { type: 'text', text: pieces.join(''), citations: null },
    start: { type: 'text', text: '', citations: null },
    deltas: pieces.map((text) => ({ body: { type: 'text_delta', text }, outputTokens: 1 })),
  }
}

function toolBlock(
  call: { readonly name: string; readonly argumentPieces: readonly string[] },
  id: string,
): MessageBlock {
  const base = { type: 'tool_use', id, name: call.name, caller: { type: 'direct' } }
  const delta = (text: string, outputTokens: number) => ({
    body: { type: 'input_json_delta', partial_json: text },
    outputTokens,
  })
  return {
    // Arguments that the cap cut short are no JSON: a whole message then shows none.
    whole: { ...base, input: parseObject(call.argumentPieces.join('')) ?? {} },
    start: { ...base, input: {} },
    deltas: [delta('', 1), ...call.argumentPieces.map((piece) => delta(piece, 1))],
  }
}

function searchBlocks(question: string): readonly MessageBlock[] {
  const call = { type: 'server_tool_use', id: 'srvtoolu_01', name: 'web_search' }
  const query = JSON.stringify({ query: question.slice(0, 50) })
  const result: JsonObject = {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_01',
    content: [
      {
        type: 'web_search_result',
        url: 'https://example.com/',
        title: 'Example',
        encrypted_content: 'c2ltdWxhdGVk',
        page_age: null,
      },
    ],
  }
  return [
    {
      whole: { ...call, input: parseObject(query) ?? {} },
      start: { ...call, input: {} },
      deltas: [{ body: { type: 'input_json_delta', partial_json: query }, outputTokens: 0 }],
    },
    { whole: result, start: result, deltas: [] },
  ]
}
