import { isRecord } from '../json.ts'
import { type Script, wordAt } from './script.ts'

/** What one wire format says. A body is one text, a stream a list of events in order. */
export interface Format {
  /** The most tokens that the request asks for; null: no cap. */
  cap(body: Record<string, unknown>): number | null
  /** Whether counts are sent in a stream. */
  wantsUsage(body: Record<string, unknown>): boolean
  body(answer: Answer): string
  /** Events before the first token, of each token, and after the last; `usage` is the last one of all. */
  events(answer: Answer): {
    before: string[]
    token(index: number): string
    after: string[]
    usage: string[]
  }
  error(httpStatus: number, message: string): string
}

interface Answer {
  readonly script: Script
  readonly model: string
  /** Tokens of the answer, those of reasoning with them. */
  readonly out: number
  readonly counted: boolean
}

/** The text of a token; reasoning shows none. */
function textAt({ script }: Answer, index: number): string {
  if (index < script.reason) return ''
  return index === script.reason && script.say !== '' ? script.say : wordAt(index)
}

function wholeText(answer: Answer): string {
  let text = ''
  for (let index = 0; index < answer.out; index++) text += textAt(answer, index)
  return text
}

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

function chatUsage({ script, out }: Answer): unknown {
  const isZero = script.usage === 'zero'
  return {
    prompt_tokens: isZero ? 0 : script.in,
    completion_tokens: isZero ? 0 : out,
    total_tokens: isZero ? 0 : script.in + out,
    prompt_tokens_details: { cached_tokens: isZero ? 0 : script.cached },
    completion_tokens_details: { reasoning_tokens: isZero ? 0 : script.reason },
  }
}

function toolCall({ script }: Answer): unknown {
  const call = { name: 'note', arguments: JSON.stringify({ text: script.say }) }
  return { index: 0, id: 'call_1', type: 'function', function: call }
}

/** `POST /v1/chat/completions`. */
export const CHAT: Format = {
  cap: (body) => numberOf(body['max_completion_tokens']) ?? numberOf(body['max_tokens']),
  wantsUsage: ({ stream_options: asked }) => isRecord(asked) && asked['include_usage'] === true,
  body(answer) {
    const { script, model } = answer
    const message = script.tool
      ? { role: 'assistant', content: null, tool_calls: [toolCall(answer)] }
      : { role: 'assistant', content: wholeText(answer) }
    const finish = script.tool ? 'tool_calls' : 'stop'
    return JSON.stringify({
      id: `chatcmpl-${script.id}`,
      object: 'chat.completion',
      created: 1_700_000_000,
      model,
      choices: [{ index: 0, message, finish_reason: finish }],
      ...(answer.counted ? { usage: chatUsage(answer) } : {}),
    })
  },
  events(answer) {
    const { script, model } = answer
    const chunk = (choices: unknown[], more = {}): string => {
      const id = `chatcmpl-${script.id}`
      const object = 'chat.completion.chunk'
      return data({ id, object, created: 1_700_000_000, model, choices, ...more })
    }
    const delta = (value: unknown, finish: string | null = null): string =>
      chunk([{ index: 0, delta: value, finish_reason: finish }])
    return {
      before: [delta({ role: 'assistant', content: '' })],
      token: (index) =>
        index === 0 && script.tool
          ? delta({ tool_calls: [toolCall(answer)] })
          : delta({ content: textAt(answer, index) }),
      after: [delta({}, script.tool ? 'tool_calls' : 'stop')],
      usage: [
        ...(answer.counted ? [chunk([], { usage: chatUsage(answer) })] : []),
        'data: [DONE]\n\n',
      ],
    }
  },
  error: (httpStatus, message) =>
    JSON.stringify({
      error: {
        message,
        type: httpStatus < 500 ? 'invalid_request_error' : 'server_error',
        param: null,
        code: null,
      },
    }),
}

function messagesUsage({ script, out }: Answer): Record<string, number> {
  const isZero = script.usage === 'zero'
  return {
    input_tokens: isZero ? 0 : script.in - script.cached - script.written,
    cache_read_input_tokens: isZero ? 0 : script.cached,
    cache_creation_input_tokens: isZero ? 0 : script.written,
    output_tokens: isZero ? 0 : out,
  }
}

/** `POST /v1/messages`. */
export const MESSAGES: Format = {
  cap: (body) => numberOf(body['max_tokens']),
  wantsUsage: () => true,
  body: (answer) =>
    JSON.stringify({
      id: `msg_${answer.script.id}`,
      type: 'message',
      role: 'assistant',
      model: answer.model,
      content: [{ type: 'text', text: wholeText(answer) }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: answer.counted ? messagesUsage(answer) : {},
    }),
  events(answer) {
    const event = (type: string, more: object): string =>
      `event: ${type}\n${data({ type, ...more })}`
    const counts = answer.counted ? messagesUsage(answer) : {}
    const message = {
      id: `msg_${answer.script.id}`,
      type: 'message',
      role: 'assistant',
      model: answer.model,
      content: [],
      stop_reason: null,
      usage: answer.counted ? { ...counts, output_tokens: 1 } : {},
    }
    return {
      before: [
        event('message_start', { message }),
        event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      ],
      token: (index) =>
        event('content_block_delta', {
          index: 0,
          delta: { type: 'text_delta', text: textAt(answer, index) },
        }),
      after: [event('content_block_stop', { index: 0 })],
      usage: [
        event('message_delta', {
          delta: { stop_reason: 'end_turn', stop_sequence: null },
          usage: counts,
        }),
        event('message_stop', {}),
      ],
    }
  },
  error: (httpStatus, message) =>
    JSON.stringify({
      type: 'error',
      error: { type: httpStatus < 500 ? 'invalid_request_error' : 'api_error', message },
    }),
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 ? value : null
}
