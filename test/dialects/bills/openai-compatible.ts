import { type Bill, CHAT, EMBEDDINGS, MESSAGES, RESPONSES } from './bill.ts'

const COUNTS = { prompt_tokens: 412, completion_tokens: 107, total_tokens: 519 }
const BILLED = [
  [412, '4'],
  [107, '20'],
] as const
const HALF_CACHED = [
  [211, '4'],
  [201, '0.4'],
  [107, '20'],
] as const

/** How vendors of OpenAI's formats bill answers, by what their answers count. */
export const COMPATIBLE_BILLS: readonly Bill[] = [
  { name: 'chat: prompt and completion', format: CHAT, answer: { usage: COUNTS }, lines: BILLED },
  {
    name: 'chat: cached tokens as OpenAI counts them',
    format: CHAT,
    answer: { usage: { ...COUNTS, prompt_tokens_details: { cached_tokens: 201 } } },
    lines: HALF_CACHED,
  },
  {
    name: 'chat: cached tokens as DeepSeek counts them',
    format: CHAT,
    answer: { usage: { ...COUNTS, prompt_cache_hit_tokens: 201, prompt_cache_miss_tokens: 211 } },
    lines: HALF_CACHED,
  },
  {
    name: 'chat: cached tokens as Moonshot counts them',
    format: CHAT,
    answer: { usage: { ...COUNTS, cached_tokens: 201 } },
    lines: HALF_CACHED,
  },
  {
    name: 'chat: cached tokens as DeepSeek counts them, beside a zero under the name of OpenAI',
    format: CHAT,
    answer: {
      usage: {
        ...COUNTS,
        prompt_tokens_details: { cached_tokens: 0 },
        prompt_cache_hit_tokens: 201,
      },
    },
    lines: HALF_CACHED,
  },
  {
    name: 'responses: cached tokens as Perplexity counts them',
    format: RESPONSES,
    answer: {
      usage: {
        input_tokens: 412,
        output_tokens: 107,
        total_tokens: 519,
        input_tokens_details: { cache_read_input_tokens: 201, cache_creation_input_tokens: 0 },
      },
    },
    lines: HALF_CACHED,
  },
  {
    name: 'chat: thoughts that Gemini counts in the total alone',
    format: CHAT,
    body: { max_tokens: 2_000 },
    answer: { usage: { ...COUNTS, total_tokens: 1_519 } },
    lines: [
      [412, '4'],
      [1_107, '20'],
    ],
  },
  {
    name: 'chat: reasoning that xAI counts in addition to the completion',
    format: CHAT,
    answer: {
      usage: { ...COUNTS, total_tokens: 583, completion_tokens_details: { reasoning_tokens: 64 } },
    },
    lines: [
      [412, '4'],
      [171, '20'],
    ],
  },
  ...['on_demand', 'default', 'standard', 'priority', 'performance', null].map((service_tier) => ({
    name: `chat: at the model's own prices, at any tier that was not asked for: ${service_tier}`,
    format: CHAT,
    answer: { usage: COUNTS, members: { service_tier } },
    lines: BILLED,
  })),
  {
    name: 'chat: fast mode at its own prices',
    format: CHAT,
    body: { service_tier: 'priority' },
    answer: { usage: COUNTS, members: { service_tier: 'priority' } },
    lines: [
      [412, '8'],
      [107, '40'],
    ],
  },
  {
    name: 'chat: an answer at the standard tier at standard prices, also where fast mode was asked for',
    format: CHAT,
    body: { service_tier: 'priority' },
    answer: { usage: COUNTS, members: { service_tier: 'default' } },
    lines: BILLED,
  },
  {
    name: "responses: at the model's own prices, at any tier that was not asked for",
    format: RESPONSES,
    answer: {
      usage: { input_tokens: 412, output_tokens: 107, total_tokens: 519 },
      members: { service_tier: 'priority' },
    },
    lines: BILLED,
  },
  {
    name: "messages: at the model's own prices, at any tier that was not asked for",
    format: MESSAGES,
    answer: { usage: { input_tokens: 412, output_tokens: 107, service_tier: 'priority' } },
    lines: BILLED,
  },
  {
    name: 'messages: cache reads in addition to the input',
    format: MESSAGES,
    answer: { usage: { input_tokens: 211, cache_read_input_tokens: 201, output_tokens: 107 } },
    lines: HALF_CACHED,
  },
  {
    name: 'chat: a long prompt and its answer at the higher prices, cached tokens included',
    format: CHAT,
    body: { model: 'acme/long' },
    answer: {
      usage: {
        prompt_tokens: 412,
        completion_tokens: 7,
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
