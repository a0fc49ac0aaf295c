import type { CatalogRow, PriceOverride, Pricing } from './catalog.ts'

/** Dollars times 10^18: fine enough that no listed price is rounded. */
type Attos = bigint

const ATTO_PLACES = 18
const DECIMAL_TEXT = /^(-?)(\d{1,20})(?:\.(\d{1,18}))?$/

/** The counts of one inference, each token in one field only. */
export interface Counts {
  /** Input neither read from nor written to a cache. */
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  /** Cache writes of the one-hour class. */
  readonly cacheWriteLongTokens: number
  /** All output, reasoning and images within. */
  readonly outputTokens: number
  readonly reasoningTokens: number
  /** The predicted tokens of the output that are not in the answer. */
  readonly rejectedTokens: number
  readonly imageOutputTokens: number
  readonly inputImages: number
  /** Pictures made, for models with a flat price a picture. */
  readonly outputImages: number
  readonly searches: number
  /** Files read by the paid parser, because the request names no free one. */
  readonly parsedFiles: number
}

/** No counts of anything. */
export const NO_COUNTS: Counts = {
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  rejectedTokens: 0,
  imageOutputTokens: 0,
  inputImages: 0,
  outputImages: 0,
  searches: 0,
  parsedFiles: 0,
}

/** The input tokens in the bill of any format: with all that is read from a cache or written to it. */
export function promptTokensOf(
  counts: Pick<
    Counts,
    'inputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'cacheWriteLongTokens'
  >,
): number {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens } = counts
  return inputTokens + cacheReadTokens + cacheWriteTokens + cacheWriteLongTokens
}

/** The cost of one inference, in dollars. The printed decimals of each are exact. */
export interface Cost {
  readonly totalUsd: number
  readonly promptUsd: number
  readonly completionUsd: number
}

interface ParsedPrices {
  readonly prompt: Attos
  readonly completion: Attos
  readonly cacheRead: Attos
  readonly cacheWrite: Attos
  readonly cacheWriteLong: Attos
  readonly reasoning: Attos
  readonly imageOutput: Attos
  readonly imageInput: Attos
  readonly request: Attos
  readonly search: Attos
}

const PARSED_FILE: Attos = attosOf('0.002')
const parsedPrices = new WeakMap<Pricing, ParsedPrices>()

/** Reads a decimal string of dollars. Throws RangeError for what is none, or is finer than 10^-18. */
function attosOf(text: string): Attos {
  const match = DECIMAL_TEXT.exec(text)
  if (match === null) throw new RangeError(`not a decimal price: ${text}`)
  const [, sign, whole = '', fraction = ''] = match
  const attos = BigInt(whole + fraction.padEnd(ATTO_PLACES, '0'))
  return sign === '-' ? -attos : attos
}

/**
 * Dollars as the number whose shortest print is the exact decimal; that holds up to 15 significant
 * digits, which a sum of token prices does not reach below a thousand dollars.
 */
function dollarsOf(attos: Attos): number {
  const digits = attos.toString().padStart(ATTO_PLACES + 1, '0')
  return Number(`${digits.slice(0, -ATTO_PLACES)}.${digits.slice(-ATTO_PLACES)}`)
}

/** The exact cost of an inference at a row's prices. */
export function costOf(input: {
  readonly row: CatalogRow
  readonly counts: Counts
  /** Dollars a picture, where the model has a flat price; null otherwise. */
  readonly flatImageUsd: string | null
  /** The factor of the tokens at the tier of the request. */
  readonly tierFactor: number
  readonly nowMs: number
}): Cost {
  const { row, counts, flatImageUsd } = input
  const price = pricesFor(row.pricing, promptTokensOf(counts), input.nowMs)
  const factor = BigInt(input.tierFactor)
  const prompt =
    factor *
    (BigInt(counts.inputTokens) * price.prompt +
      BigInt(counts.cacheReadTokens) * price.cacheRead +
      BigInt(counts.cacheWriteTokens) * price.cacheWrite +
      BigInt(counts.cacheWriteLongTokens) * price.cacheWriteLong)
  const textTokens = counts.outputTokens - counts.reasoningTokens - counts.imageOutputTokens
  const completion =
    factor *
    (BigInt(textTokens) * price.completion +
      BigInt(counts.reasoningTokens) * price.reasoning +
      BigInt(counts.imageOutputTokens) * (flatImageUsd === null ? price.imageOutput : 0n))
  const fees =
    price.request +
    BigInt(counts.inputImages) * price.imageInput +
    BigInt(counts.searches) * price.search +
    BigInt(counts.parsedFiles) * PARSED_FILE +
    BigInt(counts.outputImages) * (flatImageUsd === null ? 0n : attosOf(flatImageUsd))
  return {
    totalUsd: dollarsOf(prompt + completion + fees),
    promptUsd: dollarsOf(prompt),
    completionUsd: dollarsOf(completion),
  }
}

function pricesFor(pricing: Pricing, promptTokens: number, nowMs: number): ParsedPrices {
  if (pricing.overrides === undefined) {
    const known = parsedPrices.get(pricing)
    if (known !== undefined) return known
    const parsed = parsePrices(pricing)
    parsedPrices.set(pricing, parsed)
    return parsed
  }
  let effective = pricing
  for (const override of pricing.overrides) {
    if (applies(override, promptTokens, nowMs)) effective = { ...effective, ...override }
  }
  return parsePrices(effective)
}

function applies(override: PriceOverride, promptTokens: number, nowMs: number): boolean {
  const { min_prompt_tokens: above, utc_start: start, utc_end: end } = override
  if (above !== undefined && promptTokens <= above) return false
  if (start === undefined || end === undefined) return true
  const now = new Date(nowMs)
  const time = now.getUTCHours() * 100 + now.getUTCMinutes()
  return start < end ? time >= start && time < end : time >= start || time < end
}

function parsePrices(pricing: Pricing): ParsedPrices {
  const read = (text: string | undefined, fallback: Attos): Attos =>
    text === undefined ? fallback : attosOf(text)
  const prompt = attosOf(pricing.prompt)
  const completion = attosOf(pricing.completion)
  const cacheWrite = read(pricing.input_cache_write, prompt)
  return {
    prompt,
    completion,
    cacheRead: read(pricing.input_cache_read, prompt),
    cacheWrite,
    cacheWriteLong: read(pricing.input_cache_write_1h, cacheWrite),
    reasoning: read(pricing.internal_reasoning, completion),
    imageOutput: read(pricing.image_output, completion),
    imageInput: read(pricing.image, 0n),
    request: read(pricing.request, 0n),
    search: read(pricing.web_search, 0n),
  }
}
