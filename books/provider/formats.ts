import { isRecord } from '../json.ts'
import { type Script, wordAt } from './script.ts'

/** Events before the first token, of each token, and after the last; `usage` are the last of all. */
export type Events = ReturnType<typeof CHAT.events>

/** What is answered: tokens, those of reasoning with them, and whether they are counted. */
export interface Answer {
  readonly script: Script
  readonly model: string
  readonly out: number
  readonly counted: boolean
}

/** The text of a token; reasoning shows none. */
function textAt({ script }: Answer, index: number): string {
  if (index < script.reason) return ''
  return index === script.reason && script.say !== '' ? script.say : wordAt(index)
}

const wholeText = (answer: Answer): string =>
  Array.from({ length: answer.out }, (_, index) => textAt(answer, index)).join('')

const NO_COUNTS = { in: 0, cached: 0, written: 0, reason: 0, out: 0 }

/** The counts that an answer tells, which may be false. */
const countsOf = ({ script, out }: Answer): typeof NO_COUNTS =>
  script.usage === 'zero' ? NO_COUNTS : { ...script, out }

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

function chatUsage(answer: Answer): object {
  const { in: prompt_tokens, out: completion_tokens, cached, reason } = countsOf(answer)
  return {
    ...{ prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reason },
  }
}

/** Text, or a call of a tool with what is to be said. */
function saidAs({ script: { tool, say } }: Answer, content: string): object {
  const call = { name: 'note', arguments: JSON.stringify({ text: say }) }
  return tool
    ? { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: call }] }
    : { content }
}

/** `POST /v1/chat/completions`: the whole body of an answer, or a stream of events in order. */
const CHAT = {
  /** The fields that cap an answer, the first that is there. */
  caps: ['max_completion_tokens', 'max_tokens'],
  /** Whether counts are sent in a stream. */
  wantsUsage: ({ stream_options: asked }: Record<string, unknown>) =>
    isRecord(asked) && asked['include_usage'] === true,
  body(answer: Answer): object {
    const message = { role: 'assistant', content: null, ...saidAs(answer, wholeText(answer)) }
    const choice = { index: 0, message, finish_reason: finishOf(answer) }
    const usage = answer.counted ? { usage: chatUsage(answer) } : {}
    return { ...chatHead(answer, ''), choices: [choice], ...usage }
  },
  events(answer: Answer) {
    const chunk = (more: object): string => data({ ...chatHead(answer, '.chunk'), ...more })
    const delta = (value: object, finish: string | null = null): string =>
      chunk({ choices: [{ index: 0, delta: value, finish_reason: finish }] })
    const counts = answer.counted ? [chunk({ choices: [], usage: chatUsage(answer) })] : []
    return {
      before: [delta({ role: 'assistant', content: '' })],
      token(index: number): string {
        const content = textAt(answer, index)
        return delta(index === 0 ? saidAs(answer, content) : { content })
      },
      after: [delta({}, finishOf(answer))],
      usage: [...counts, 'data: [DONE]\n\n'],
    }
  },
}

const chatHead = ({ script, model }: Answer, part: '' | '.chunk'): object => {
  const object = `chat.completion${part}`
  return { id: `chatcmpl-${script.id}`, object, created: 1_700_000_000, model }
}

const finishOf = ({ script }: Answer): string => (script.tool ? 'tool_calls' : 'stop')

function messagesUsage(answer: Answer): object {
  if (!answer.counted) return {}
  const { in: all, cached, written, out } = countsOf(answer)
  const caches = { cache_read_input_tokens: cached, cache_creation_input_tokens: written }
  return { input_tokens: all - cached - written, ...caches, output_tokens: out }
}

const messagesHead = ({ script: { id }, model }: Answer): object => {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model }
}

const ENDED = { stop_reason: 'end_turn', stop_sequence: null }

/** `POST /v1/messages`. */
const MESSAGES: typeof CHAT = {
  caps: ['max_tokens'],
  wantsUsage: () => true,
  body(answer) {
    const content = [{ type: 'text', text: wholeText(answer) }]
    return { ...messagesHead(answer), content, ...ENDED, usage: messagesUsage(answer) }
  },
  events(answer) {
    const event = (type: string, more: object): string =>
      `event: ${type}\n${data({ type, ...more })}`
    const usage = messagesUsage(answer)
    const begun = answer.counted ? { ...usage, output_tokens: 1 } : {}
    const message = { ...messagesHead(answer), content: [], stop_reason: null, usage: begun }
    const block = { index: 0, content_block: { type: 'text', text: '' } }
    const delta = (text: string): object => ({ index: 0, delta: { type: 'text_delta', text } })
    return {
      before: [event('message_start', { message }), event('content_block_start', block)],
      token: (index) => event('content_block_delta', delta(textAt(answer, index))),
      after: [event('content_block_stop', { index: 0 })],
      usage: [event('message_delta', { delta: ENDED, usage }), event('message_stop', {})],
    }
  },
}

/** The formats by their paths. */
export const FORMATS = new Map([
  ['/v1/chat/completions', CHAT],
  ['/v1/messages', MESSAGES],
])
