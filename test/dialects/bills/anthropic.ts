import { type Bill, MESSAGES } from './bill.ts'

const format = MESSAGES
const refused = (category: string | null) => ({
  stop_reason: 'refusal',
  stop_details: { type: 'refusal', category, explanation: null },
})
const COUNTS = { input_tokens: 412, output_tokens: 7 }
const BILLED = [
  [412, '4'],
  [7, '20'],
] as const

// platform.claude.com/docs/en/about-claude/pricing, /build-with-claude/prompt-caching and /release-notes/overview of
// 2026-06-02 and 2026-09-24, read 2026-11-27.

/** How Anthropic bills answers. */
export const ANTHROPIC_BILLS: readonly Bill[] = [
  { name: 'input and output', format, answer: { usage: COUNTS }, lines: BILLED },
  {
    name: 'cache reads, and writes of five minutes and of an hour, in addition to the input',
    format,
    body: {
      system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    },
    answer: {
      usage: {
        ...COUNTS,
        cache_read_input_tokens: 1_001,
        cache_creation_input_tokens: 303,
        cache_creation: { ephemeral_5m_input_tokens: 103, ephemeral_1h_input_tokens: 200 },
      },
    },
    lines: [...BILLED, [1_001, '0.4'], [103, '5'], [200, '8']],
  },
  {
    name: 'thinking as output, and as a part of its count',
    format,
    answer: {
      usage: { ...COUNTS, output_tokens: 300, output_tokens_details: { thinking_tokens: 290 } },
    },
    lines: [
      [412, '4'],
      [300, '20'],
    ],
  },
  {
    name: 'each search in addition to its tokens',
    format,
    body: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    answer: {
      usage: { ...COUNTS, server_tool_use: { web_search_requests: 3, web_fetch_requests: 0 } },
    },
    lines: [...BILLED, [3, '10000']],
  },
  {
    name: 'a prompt of the longest length at the lower prices',
    format,
    body: { model: 'acme/long' },
    answer: { usage: { input_tokens: 11, cache_read_input_tokens: 400, output_tokens: 7 } },
    lines: [
      [11, '4'],
      [400, '0.4'],
      [7, '20'],
    ],
  },
  {
    name: 'a longer prompt, with what is read from and written to caches, at the higher prices',
    format,
    body: { model: 'acme/long', cache_control: { type: 'ephemeral' } },
    answer: {
      usage: {
        input_tokens: 11,
        cache_read_input_tokens: 300,
        cache_creation_input_tokens: 101,
        output_tokens: 7,
      },
    },
    lines: [
      [11, '20'],
      [300, '2'],
      [101, '25'],
      [7, '100'],
    ],
  },
  ...['standard', 'priority'].map((tier) => ({
    name: `an answer at the tier ${tier} by its tokens`,
    format,
    answer: { usage: { ...COUNTS, service_tier: tier } },
    lines: BILLED,
  })),
  {
    name: 'a fast answer at the prices of fast mode',
    format,
    body: { speed: 'fast' },
    answer: { usage: { ...COUNTS, speed: 'fast' } },
    lines: [
      [412, '8'],
      [7, '40'],
    ],
  },
  {
    name: 'an answer at standard speed at standard prices, also where fast mode was asked for',
    format,
    body: { speed: 'fast' },
    answer: { usage: { ...COUNTS, speed: 'standard' } },
    lines: BILLED,
  },
  ...['max_tokens', 'pause_turn', 'model_context_window_exceeded'].map((stop_reason) => ({
    name: `an answer that ends with ${stop_reason}`,
    format,
    answer: { usage: COUNTS, members: { stop_reason } },
    lines: BILLED,
  })),
  ...['cyber', 'general_harms', null].map((category) => ({
    name: `nothing for a request that is refused before any output: category ${category}`,
    format,
    answer: { usage: { ...COUNTS, output_tokens: 0 }, text: null, members: refused(category) },
    lines: [],
  })),
  {
    name: 'nothing for such a request that has no details',
    format,
    answer: {
      usage: { ...COUNTS, output_tokens: 0 },
      text: null,
      members: { stop_reason: 'refusal', stop_details: null },
    },
    lines: [],
  },
  ...['bio', 'frontier_llm', 'reasoning_extraction'].map((category) => ({
    name: `the input of a request that is refused before any output: category ${category}`,
    format,
    answer: { usage: { ...COUNTS, output_tokens: 0 }, text: null, members: refused(category) },
    lines: [[412, '4']] as const,
  })),
  {
    name: 'input and output up to a refusal that interrupts the answer',
    format,
    answer: { usage: COUNTS, members: refused('cyber') },
    lines: BILLED,
  },
  {
    name: 'hidden output before a refusal',
    format,
    answer: { usage: COUNTS, text: null, members: refused('cyber') },
    lines: BILLED,
  },
  {
    name: 'an empty answer that is no refusal by its input',
    format,
    answer: { usage: { ...COUNTS, output_tokens: 0 }, text: null },
    lines: [[412, '4']],
  },
]
