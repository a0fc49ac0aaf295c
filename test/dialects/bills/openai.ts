import { type Bill, CHAT, EMBEDDINGS, RESPONSES } from './bill.ts'

const CHAT_COUNTS = { prompt_tokens: 412, completion_tokens: 107, total_tokens: 519 }
const COUNTS = { input_tokens: 412, output_tokens: 107, total_tokens: 519 }
const BILLED = [
  [412, '4'],
  [107, '20'],
] as const

// developers.openai.com/api/docs/pricing and its guides to prompt caching, reasoning, predicted outputs and fast mode, and
// the types of `openai` 7.55, read 2026-11-27.

/** How OpenAI bills answers. */
export const OPENAI_BILLS: readonly Bill[] = [
  {
    name: 'chat: prompt and completion',
    format: CHAT,
    answer: { usage: CHAT_COUNTS },
    lines: BILLED,
  },
  {
    name: 'chat: cached tokens and cache writes as parts of the prompt',
    format: CHAT,
    answer: {
      usage: {
        ...CHAT_COUNTS,
        prompt_tokens_details: { cached_tokens: 201, cache_write_tokens: 100 },
      },
    },
    lines: [
      [111, '4'],
      [201, '0.4'],
      [100, '5'],
      [107, '20'],
    ],
  },
  {
    name: 'chat: reasoning and rejected predictions as parts of the completion',
    format: CHAT,
    body: { prediction: { type: 'content', content: 'Hello there, you.' } },
    answer: {
      usage: {
        ...CHAT_COUNTS,
        completion_tokens_details: { reasoning_tokens: 64, rejected_prediction_tokens: 30 },
      },
    },
    lines: BILLED,
  },
  {
    name: 'chat: the prompt once and all completions',
    format: CHAT,
    body: { n: 3 },
    answer: { usage: { ...CHAT_COUNTS, completion_tokens: 321, total_tokens: 733 } },
    lines: [
      [412, '4'],
      [321, '20'],
    ],
  },
  {
    name: 'chat: images as tokens of the prompt',
    format: CHAT,
    answer: {
      usage: { ...CHAT_COUNTS, prompt_tokens_details: { image_tokens: 300, text_tokens: 112 } },
    },
    lines: BILLED,
  },
  {
    name: 'chat: the prompt of an answer that a filter emptied',
    format: CHAT,
    answer: {
      usage: { prompt_tokens: 412, completion_tokens: 0, total_tokens: 412 },
      text: null,
      choice: { finish_reason: 'content_filter' },
    },
    lines: [[412, '4']],
  },
  ...['default', 'scale', 'flex', null].map((service_tier) => ({
    name: `chat: an answer that reports the tier ${service_tier}`,
    format: CHAT,
    answer: { usage: CHAT_COUNTS, members: { service_tier } },
    lines: BILLED,
  })),
  ...['priority', 'default'].map((service_tier) => ({
    name: `chat: an answer to fast mode, served at ${service_tier}`,
    format: CHAT,
    body: { service_tier: 'priority' },
    answer: { usage: CHAT_COUNTS, members: { service_tier } },
    lines:
      service_tier === 'default'
        ? BILLED
        : ([
            [412, '8'],
            [107, '40'],
          ] as const),
  })),
  {
    name: 'responses: cached tokens, cache writes and reasoning',
    format: RESPONSES,
    answer: {
      usage: {
        ...COUNTS,
        input_tokens_details: { cached_tokens: 201, cache_write_tokens: 100 },
        output_tokens_details: { reasoning_tokens: 64 },
      },
    },
    lines: [
      [111, '4'],
      [201, '0.4'],
      [100, '5'],
      [107, '20'],
    ],
  },
  {
    name: 'responses: an answer that reached its cap',
    format: RESPONSES,
    answer: {
      usage: COUNTS,
      members: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    },
    lines: BILLED,
  },
  {
    name: 'responses: reasoning without text',
    format: RESPONSES,
    answer: { usage: { ...COUNTS, output_tokens_details: { reasoning_tokens: 107 } }, text: null },
    lines: BILLED,
  },
  {
    name: 'chat: a long prompt and its answer at the higher prices, cached tokens included',
    format: CHAT,
    body: { model: 'acme/long' },
    answer: {
      usage: {
        prompt_tokens: 412,
        completion_tokens: 7,
        total_tokens: 419,
        prompt_tokens_details: { cached_tokens: 300 },
      },
    },
    lines: [
      [112, '20'],
      [300, '2'],
      [7, '100'],
    ],
  },
  {
    name: 'embeddings: the input',
    format: EMBEDDINGS,
    answer: { usage: { prompt_tokens: 1_007, total_tokens: 1_007 } },
    lines: [[1_007, '0.13']],
  },
]
