import type { ScriptedEvent } from '../scripted-vendor.ts'

/** The lines of a vendor's bill: how many, and the dollars for a million of them. */
type BillLine = readonly [quantity: number, dollarsPerMillion: string]

/** A way in which a vendor bills an answer. */
export interface Bill {
  /** The rule as the vendor publishes it. */
  readonly name: string
  readonly format: BilledFormat
  /** Fields of the request, over the least that it needs. */
  readonly body?: object
  readonly answer: Answer
  /** The items of the vendor's bill; none: it bills nothing. */
  readonly lines: readonly BillLine[]
}

interface Answer {
  readonly usage: object
  /** Members of the answer itself. */
  readonly members?: object
  /** Its text. Default: some; null: none. */
  readonly text?: string | null
  /** Members of its only choice. */
  readonly choice?: object
}

/** A format: the least request, and an answer in its layout. */
export interface BilledFormat {
  readonly path: string
  readonly least: object
  whole(answer: Answer): object
  /** Null: it has no streams. */
  readonly stream: ((answer: Answer) => readonly ScriptedEvent[]) | null
}

const TEXT = 'Hello there.'

/** A bill with the fee of 5%, in micro-dollars: half a micro-dollar goes up. */
export function dueMicros(lines: readonly BillLine[]): number {
  let picos = 0n
  for (const [quantity, dollars] of lines) {
    const [whole = '0', decimals = ''] = dollars.split('.')
    picos += BigInt(quantity) * BigInt(whole + decimals.padEnd(6, '0'))
  }
  return Number((picos * 105n + 50_000_000n) / 100_000_000n)
}

const said = (text: string | null | undefined): string => (text === undefined ? TEXT : (text ?? ''))

const CHUNK = { id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'm-2026-11-01' }

export const CHAT: BilledFormat = {
  path: '/v1/chat/completions',
  least: { model: 'acme/m', max_tokens: 1_000, messages: [{ role: 'user', content: 'Hi.' }] },
  whole: ({ usage, members, text, choice }) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'm-2026-11-01',
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: said(text) },
        ...choice,
      },
    ],
    usage,
    ...members,
  }),
  stream: ({ usage, members, text, choice }) => [
    [
      null,
      {
        ...CHUNK,
        ...members,
        choices: [{ index: 0, finish_reason: null, delta: { content: said(text) } }],
      },
    ],
    [
      null,
      {
        ...CHUNK,
        ...members,
        choices: [{ index: 0, finish_reason: 'stop', delta: {}, ...choice }],
      },
    ],
    [null, { ...CHUNK, ...members, choices: [], usage }],
    [null, '[DONE]'],
  ],
}

function response({ usage, members, text }: Answer): object {
  const content = [{ type: 'output_text', text: said(text), annotations: [] }]
  return {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm-2026-11-01',
    output: text === null ? [] : [{ type: 'message', id: 'msg_1', role: 'assistant', content }],
    usage,
    ...members,
  }
}

export const RESPONSES: BilledFormat = {
  path: '/v1/responses',
  least: { model: 'acme/m', max_output_tokens: 1_000, input: 'Hi.' },
  whole: response,
  stream: (answer) => {
    const whole = response(answer)
    const status = 'status' in whole ? String(whole.status) : ''
    const delta = { type: 'response.output_text.delta', delta: said(answer.text) }
    return [
      ['response.created', { type: 'response.created', response: { ...whole, usage: null } }],
      ['response.output_text.delta', delta],
      [`response.${status}`, { type: `response.${status}`, response: whole }],
    ]
  },
}

export const MESSAGES: BilledFormat = {
  path: '/v1/messages',
  least: { model: 'acme/m', max_tokens: 1_000, messages: [{ role: 'user', content: 'Hi.' }] },
  whole: ({ usage, members, text }) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm-20261101',
    content: text === null ? [] : [{ type: 'text', text: said(text) }],
    stop_reason: 'end_turn',
    usage,
    ...members,
  }),
  stream: ({ usage, members, text }) => {
    const block = { type: 'content_block_delta', index: 0 }
    const counts = Object.entries(usage).filter(([name]) => !ONLY_AT_START.has(name))
    const events: ScriptedEvent[] = [
      [
        'message_start',
        {
          type: 'message_start',
          message: {
            id: 'msg_1',
            type: 'message',
            content: [],
            usage: { ...usage, output_tokens: 1 },
          },
        },
      ],
      [
        'message_delta',
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn', ...members },
          usage: Object.fromEntries(counts),
        },
      ],
      ['message_stop', { type: 'message_stop' }],
    ]
    if (text === null) return events
    const delta = { type: 'text_delta', text: said(text) }
    return [...events.slice(0, 1), ['content_block_delta', { ...block, delta }], ...events.slice(1)]
  },
}

// `message_delta` counts tokens and searches, and says nothing more of them.
const ONLY_AT_START = new Set(['cache_creation', 'service_tier', 'speed', 'inference_geo'])

export const EMBEDDINGS: BilledFormat = {
  path: '/v1/embeddings',
  least: { model: 'acme/embeds', input: 'Hi. '.repeat(1_000) },
  whole: ({ usage }) => ({
    object: 'list',
    model: 'embeds',
    data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
    usage,
  }),
  stream: null,
}
