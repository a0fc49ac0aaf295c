import type { TokenUsage } from '../outcome.ts'

const NO_TOKENS: TokenUsage = {
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  imageOutputTokens: 0,
  searches: 0,
}

/** A usage with another count in each field. */
export const EACH_COUNT: TokenUsage = {
  inputTokens: 1,
  cacheReadTokens: 2,
  cacheWriteTokens: 3,
  cacheWriteLongTokens: 4,
  outputTokens: 5,
  reasoningTokens: 6,
  imageOutputTokens: 7,
  searches: 8,
}

const FIELDS = new Map<string, keyof TokenUsage>([
  ['in', 'inputTokens'],
  ['read', 'cacheReadTokens'],
  ['written', 'cacheWriteTokens'],
  ['written long', 'cacheWriteLongTokens'],
  ['out', 'outputTokens'],
  ['reasoning', 'reasoningTokens'],
  ['images', 'imageOutputTokens'],
  ['search', 'searches'],
  ['searches', 'searches'],
])

/** The counts that a text names, such as `1,000 in, 600 read, 20 out`. Throws at a word for no count. */
export function countsIn(text: string): Partial<TokenUsage> {
  const counts = text.split(', ').map((part) => {
    const [number = '', ...words] = part.split(' ')
    const field = FIELDS.get(words.join(' '))
    if (field === undefined) throw new TypeError(`no count: ${part}`)
    return [field, Number(number.replaceAll(',', ''))] as const
  })
  return Object.fromEntries(counts)
}

/** These token counts, as a text or by their fields, and zero for all others. */
export function usageOf(counts: string | Partial<TokenUsage>): TokenUsage {
  return { ...NO_TOKENS, ...(typeof counts === 'string' ? countsIn(counts) : counts) }
}
