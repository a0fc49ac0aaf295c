import { type Script, wordAt } from './script.ts'

/** An answer in a format: its body, or the events before its first token, of each, after them, and with its counts. */
export type Said = ReturnType<typeof chat>

/** The answer: its tokens, including reasoning, and whether they are counted. */
interface Answer {
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

/** `POST /v1/chat/completions`. */
function chat(answer: Answer) {
  const { script, model, counted } = answer
  const { in: prompt_tokens, out: completion_tokens, cached, reason } = countsOf(answer)
  const usage = {
    ...{ prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reason },
  }
  const head = { id: `chatcmpl-${script.id}`, created: 1_700_000_000, model }
  const call = { name: 'note', arguments: JSON.stringify({ text: script.say }) }
  const tool_calls = [{ index: 0, id: 'call_1', type: 'function', function: call }]
  const saidAs = (content: string): object => (script.tool ? { tool_calls } : { content })
  const finish_reason = script.tool ? 'tool_calls' : 'stop'
  const chunk = (more: object): string =>
    data({ ...head, object: 'chat.completion.chunk', ...more })
  const delta = (value: object, finish: string | null = null): string =>
    chunk({ choices: [{ index: 0, delta: value, finish_reason: finish }] })
  return {
    body(): object {
      const message = { role: 'assistant', content: null, ...saidAs(wholeText(answer)) }
      const choices = [{ index: 0, message, finish_reason }]
      return { ...head, object: 'chat.completion', choices, ...(counted ? { usage } : {}) }
    },
    before: [delta({ role: 'assistant', content: '' })],
    token(index: number): string {
      const content = textAt(answer, index)
      return delta(index === 0 ? saidAs(content) : { content })
    },
    after: [delta({}, finish_reason)],
    usage: [...(counted ? [chunk({ choices: [], usage })] : []), 'data: [DONE]\n\n'],
  }
}

/** `POST /v1/messages`. */
function messages(answer: Answer): Said {
  const { script, model, counted } = answer
  const { in: all, cached, written, out } = countsOf(answer)
  const caches = { cache_read_input_tokens: cached, cache_creation_input_tokens: written }
  const counts = { input_tokens: all - cached - written, ...caches, output_tokens: out }
  const usage = counted ? counts : {}
  const head = { id: `msg_${script.id}`, type: 'message', role: 'assistant', model }
  const begun = counted ? { ...counts, output_tokens: 1 } : {}
  const message = { ...head, content: [], stop_reason: null, usage: begun }
  const block = { index: 0, content_block: { type: 'text', text: '' } }
  const ended = { stop_reason: 'end_turn', stop_sequence: null }
  const event = (type: string, more: object): string => `event: ${type}\n${data({ type, ...more })}`
  const content = (): object[] => [{ type: 'text', text: wholeText(answer) }]
  const delta = (text: string): object => ({ index: 0, delta: { type: 'text_delta', text } })
  return {
    body: () => ({ ...head, content: content(), ...ended, usage }),
    before: [event('message_start', { message }), event('content_block_start', block)],
    token: (index) => event('content_block_delta', delta(textAt(answer, index))),
    after: [event('content_block_stop', { index: 0 })],
    usage: [event('message_delta', { delta: ended, usage }), event('message_stop', {})],
  }
}

/** The formats by their paths. */
export const FORMATS = new Map([
  ['/v1/chat/completions', chat],
  ['/v1/messages', messages],
])
