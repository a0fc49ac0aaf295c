import fc from 'fast-check'
import { type Bill, type BilledFormat, CHAT, EMBEDDINGS, MESSAGES, RESPONSES } from './bill.ts'

/* Random answers, with the bill that the vendors' price pages make of them: written from these pages alone. */

/** A random request, its answer, and the items of the vendor's bill. */
export type RandomBill = Omit<Bill, 'name'>

/** Dollars for a million tokens of each kind. */
export interface Priced {
  readonly input: string
  readonly read: string
  readonly write: string
  readonly writeLong: string
  readonly output: string
}

const priced = (...prices: readonly [string, string, string, string, string]): Priced => {
  const [input, read, write, writeLong, output] = prices
  return { input, read, write, writeLong, output }
}

/** The price tables: those that the settings write, and those of the vendors' pages. */
export const PRICES = {
  // Odd prices, so that nearly every sum has to be rounded.
  flat: priced('4.13', '0.417', '5.003', '8.29', '20.11'),
  fast: priced('8.26', '0.834', '10.006', '16.58', '40.22'),
  long: priced('3.07', '0.311', '3.83', '6.1', '15.01'),
  longAbove: priced('6.13', '0.623', '7.67', '12.2', '22.53'),
  // platform.claude.com/docs/en/about-claude/pricing, read 2026-11-28: 1.1 times the token prices in the US.
  opus: priced('5', '0.5', '6.25', '10', '25'),
  opusInUs: priced('5.5', '0.55', '6.875', '11', '27.5'),
  // developers.openai.com/api/docs/models/gpt-5.4, read 2026-11-28: prompts with more than 272,000 tokens cost more.
  gpt: priced('2.5', '0.25', '2.5', '2.5', '15'),
  gptLong: priced('5', '0.5', '5', '5', '22.5'),
} as const

const LONG_ABOVE = 411
const GPT_LONG_ABOVE = 272_000
const SEARCH = '10000'

/** The tokens of an answer, each in one place, as they are billed. */
interface Tokens {
  readonly input: number
  readonly read: number
  readonly write: number
  readonly writeLong: number
  readonly output: number
  /** A part of the output. */
  readonly reasoning: number
}

const few = fc.oneof(
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.nat(700) },
)
const aroundLong = fc.integer({ min: GPT_LONG_ABOVE - 2, max: GPT_LONG_ABOVE + 2 })

const tokens: fc.Arbitrary<Tokens> = fc
  .record({ input: few, read: few, write: few, writeLong: few, output: few, share: fc.nat(10) })
  .map(({ share, ...counts }) => ({
    ...counts,
    input: counts.input + 1,
    reasoning: Math.floor((counts.output * share) / 10),
  }))

const promptOf = ({ input, read, write, writeLong }: Tokens): number =>
  input + read + write + writeLong

function linesOf(counts: Tokens, prices: Priced): Bill['lines'] {
  return [
    [counts.input, prices.input],
    [counts.read, prices.read],
    [counts.write, prices.write],
    [counts.writeLong, prices.writeLong],
    [counts.output, prices.output],
  ]
}

/** The prices of a request to one of the models that every dialect has. */
function pricesOf(model: string, counts: Tokens): Priced {
  if (model === 'acme/long') return promptOf(counts) > LONG_ABOVE ? PRICES.longAbove : PRICES.long
  return PRICES.flat
}

const model = fc.constantFrom('acme/m', 'acme/long')

/** An answer has text exactly if it has output. */
const textFor = ({ output }: Tokens): { readonly text?: null } =>
  output === 0 ? { text: null } : {}

/** How a vendor of OpenAI's formats lays its counts out. By position: the counts, and the names of the format. */
type Layout = (
  counts: Tokens,
  names: { readonly prompt: string; readonly answer: string },
) => object

const asOpenAi: Layout = (counts, { prompt, answer }) => ({
  [`${prompt}_tokens`]: promptOf(counts),
  [`${answer}_tokens`]: counts.output,
  total_tokens: promptOf(counts) + counts.output,
  [`${prompt}_tokens_details`]: { cached_tokens: counts.read, cache_write_tokens: counts.write },
  [`${answer}_tokens_details`]: { reasoning_tokens: counts.reasoning },
})

const CHAT_NAMES = { prompt: 'prompt', answer: 'completion' }
const RESPONSE_NAMES = { prompt: 'input', answer: 'output' }

const withoutWrites = (counts: Tokens): Tokens => ({ ...counts, write: 0, writeLong: 0 })
const withoutCaches = (counts: Tokens): Tokens => ({ ...withoutWrites(counts), read: 0 })
const withShortWrites = (counts: Tokens): Tokens => ({ ...counts, writeLong: 0 })

const asDeepSeek: Layout = (counts) => ({
  prompt_tokens: promptOf(counts),
  prompt_cache_hit_tokens: counts.read,
  prompt_cache_miss_tokens: counts.input,
  completion_tokens: counts.output,
  completion_tokens_details: { reasoning_tokens: counts.reasoning },
  total_tokens: promptOf(counts) + counts.output,
})

const asMoonshot: Layout = (counts) => ({
  prompt_tokens: promptOf(counts),
  completion_tokens: counts.output,
  total_tokens: promptOf(counts) + counts.output,
  cached_tokens: counts.read,
})

// Thoughts are in the total alone.
const asGemini: Layout = (counts) => ({
  prompt_tokens: promptOf(counts),
  completion_tokens: counts.output - counts.reasoning,
  total_tokens: promptOf(counts) + counts.output,
})

// Reasoning is counted in addition to the completion.
const asXai: Layout = (counts) => ({
  prompt_tokens: promptOf(counts),
  completion_tokens: counts.output - counts.reasoning,
  total_tokens: promptOf(counts) + counts.output,
  prompt_tokens_details: { text_tokens: promptOf(counts), cached_tokens: counts.read },
  completion_tokens_details: { reasoning_tokens: counts.reasoning },
})

const chatOf = (layout: Layout, trimmed: (counts: Tokens) => Tokens): fc.Arbitrary<RandomBill> =>
  fc.record({ model, tokens, n: fc.integer({ min: 1, max: 3 }) }).map((made) => {
    const counts = trimmed(made.tokens)
    return {
      format: CHAT,
      body: { model: made.model, n: made.n },
      answer: { usage: layout(counts, CHAT_NAMES), ...textFor(counts) },
      lines: linesOf(counts, pricesOf(made.model, counts)),
    }
  })

const responsesOf = (trimmed: (counts: Tokens) => Tokens): fc.Arbitrary<RandomBill> =>
  fc.record({ model, tokens }).map((made) => {
    const counts = trimmed(made.tokens)
    return {
      format: RESPONSES,
      body: { model: made.model },
      answer: { usage: asOpenAi(counts, RESPONSE_NAMES), ...textFor(counts) },
      lines: linesOf(counts, pricesOf(made.model, counts)),
    }
  })

/** Fast mode, which the vendor serves at one of two tiers. */
const fastChat: fc.Arbitrary<RandomBill> = fc
  .record({ tokens, service_tier: fc.constantFrom('priority', 'default') })
  .map((made) => {
    const counts = withShortWrites(made.tokens)
    const prices = made.service_tier === 'priority' ? PRICES.fast : PRICES.flat
    return {
      format: CHAT,
      body: { model: 'acme/m', service_tier: 'priority' },
      answer: {
        usage: asOpenAi(counts, CHAT_NAMES),
        members: { service_tier: made.service_tier },
        ...textFor(counts),
      },
      lines: linesOf(counts, prices),
    }
  })

/** Prompts of about 272,000 tokens, at the prices of OpenAI's page. */
const gptChat: fc.Arbitrary<RandomBill> = fc.record({ tokens, prompt: aroundLong }).map((made) => {
  const counts = { ...withoutWrites(made.tokens), input: made.prompt - made.tokens.read }
  const prices = made.prompt > GPT_LONG_ABOVE ? PRICES.gptLong : PRICES.gpt
  const { max_tokens: _, ...least } = CHAT.least as Readonly<Record<string, unknown>>
  const format: BilledFormat = { ...CHAT, least }
  return {
    format,
    body: { model: 'vendor/gpt-5.4', max_completion_tokens: 1_000 },
    answer: { usage: asOpenAi(counts, CHAT_NAMES), ...textFor(counts) },
    lines: linesOf(counts, prices),
  }
})

function messagesUsage(counts: Tokens): object {
  return {
    input_tokens: counts.input,
    cache_read_input_tokens: counts.read,
    cache_creation_input_tokens: counts.write + counts.writeLong,
    cache_creation: {
      ephemeral_5m_input_tokens: counts.write,
      ephemeral_1h_input_tokens: counts.writeLong,
    },
    output_tokens: counts.output,
    output_tokens_details: { thinking_tokens: counts.reasoning },
  }
}

const messages: fc.Arbitrary<RandomBill> = fc.record({ model, tokens }).map((made) => ({
  format: MESSAGES,
  body: { model: made.model },
  answer: { usage: messagesUsage(made.tokens), ...textFor(made.tokens) },
  lines: linesOf(made.tokens, pricesOf(made.model, made.tokens)),
}))

/** Searches, and speeds, of a model without prices for long prompts. */
const searchedMessages: fc.Arbitrary<RandomBill> = fc
  .record({ tokens, searches: fc.nat(5), isFast: fc.boolean() })
  .map((made) => ({
    format: MESSAGES,
    body: {
      speed: 'fast',
      tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }],
    },
    answer: {
      usage: {
        ...messagesUsage(made.tokens),
        speed: made.isFast ? 'fast' : 'standard',
        server_tool_use: { web_search_requests: made.searches, web_fetch_requests: 0 },
      },
      ...textFor(made.tokens),
    },
    lines: [
      ...linesOf(made.tokens, made.isFast ? PRICES.fast : PRICES.flat),
      [made.searches, SEARCH],
    ],
  }))

/** Answers that were computed in one region or anywhere, at the prices of Anthropic's page. */
const opusMessages: fc.Arbitrary<RandomBill> = fc
  .record({ tokens, geo: fc.constantFrom('us', 'global', 'not_available', null) })
  .map((made) => ({
    format: MESSAGES,
    body: { model: 'vendor/claude-opus-4-8' },
    answer: {
      usage: { ...messagesUsage(made.tokens), inference_geo: made.geo },
      ...textFor(made.tokens),
    },
    lines: linesOf(made.tokens, made.geo === 'us' ? PRICES.opusInUs : PRICES.opus),
  }))

const embeddings: fc.Arbitrary<RandomBill> = fc.integer({ min: 1, max: 2_000 }).map((prompt) => ({
  format: EMBEDDINGS,
  answer: { usage: { prompt_tokens: prompt, total_tokens: prompt } },
  lines: [[prompt, '0.13']],
}))

/** Random bills of each dialect. */
export const RANDOM_BILLS: Readonly<Record<string, readonly fc.Arbitrary<RandomBill>[]>> = {
  openai: [
    chatOf(asOpenAi, withShortWrites),
    responsesOf(withShortWrites),
    fastChat,
    gptChat,
    embeddings,
  ],
  anthropic: [messages, searchedMessages, opusMessages],
  'openai-compatible': [
    chatOf(asOpenAi, withShortWrites),
    chatOf(asDeepSeek, withoutWrites),
    chatOf(asMoonshot, withoutWrites),
    chatOf(asGemini, withoutCaches),
    chatOf(asXai, withoutWrites),
    responsesOf(withShortWrites),
    fastChat,
    messages,
    embeddings,
  ],
}
