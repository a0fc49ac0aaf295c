import { showDollarText } from '../../src/vocabulary/money.ts'
import type { Model } from '../api/answers.ts'
import { perMillionText } from './money.ts'

/** A model as far as its prices are concerned. */
type Priced = Pick<Model, 'pricing' | 'architecture'>

type Price = Model['pricing'][string] | undefined

function isCharged(price: Price): price is string {
  return typeof price === 'string' && /[1-9]/.test(price)
}

/** `$3.15` for a million tokens of input; null: it is not charged by tokens. */
export function inputPrice({ pricing }: Priced): string | null {
  const { prompt, completion } = pricing
  if (isCharged(prompt)) return perMillionText(prompt)
  return isCharged(completion) ? '$0.00' : null
}

/** `$15.75` for a million tokens of output, of images for a model that only draws, or `up to $0.105 an image`; null: there is none. */
export function outputPrice({ pricing, architecture }: Priced): string | null {
  const { completion, image_output: imageTokens, image_flat: imageFlat } = pricing
  if (isCharged(completion)) return perMillionText(completion)
  if (isCharged(imageFlat)) return flatText(imageFlat)
  return draws(architecture) && isCharged(imageTokens) ? perMillionText(imageTokens) : null
}

function flatText(imageFlat: string): string {
  return `up to ${showDollarText(imageFlat)} an image`
}

function draws({ output_modalities: writes }: Priced['architecture']): boolean {
  return writes.includes('image')
}

/** `$3.15 → $15.75` for a million tokens, `$0.042 an image`, `up to $0.105 an image`, `$0.01 a request`, or `Free`. */
export function pricesText(model: Priced): string {
  const { pricing, architecture } = model
  const input = inputPrice(model)
  const output = outputPrice(model)
  if (input !== null) return output === null ? input : `${input} → ${output}`
  const { image, image_flat: imageFlat, request } = pricing
  if (isCharged(imageFlat)) return flatText(imageFlat)
  if (output !== null) return `${output} per M image tokens`
  if (draws(architecture) && isCharged(image)) return `${showDollarText(image)} an image`
  if (isCharged(request)) return `${showDollarText(request)} a request`
  return 'Free'
}

/** A line of the prices of a model. */
interface PriceLine {
  readonly term: string
  readonly text: string
  /** Whether it is a part of the line above. */
  readonly isPart: boolean
  /** Whether it is the price of a million tokens. */
  readonly isByToken: boolean
}

const BY_TOKEN: readonly (readonly [field: string, term: string, isPart: boolean])[] = [
  ['prompt', 'Input', false],
  ['input_cache_read', 'read from cache', true],
  ['input_cache_write', 'written to cache, 5\u00a0min', true],
  ['input_cache_write_1h', 'written to cache, 1\u00a0h', true],
  ['audio', 'Audio input', false],
  ['image_token', 'Image input', false],
  ['completion', 'Output', false],
  ['internal_reasoning', 'reasoning', true],
  ['image_output', 'Image output', false],
  ['audio_output', 'Audio output', false],
]

const EACH: readonly (readonly [field: string, term: string])[] = [
  ['image', 'Image'],
  ['request', 'Request'],
  ['web_search', 'Web search'],
]

const ONE = { isPart: false, isByToken: false } as const

/** Every price above zero of the listing. */
export function priceLines({ pricing }: Priced): readonly PriceLine[] {
  const flat = pricing['image_flat']
  const byToken = BY_TOKEN.flatMap(([field, term, isPart]) => {
    const price = field === 'image_output' && isCharged(flat) ? undefined : pricing[field]
    const text = isCharged(price) ? perMillionText(price) : null
    const withReasoning = field === 'completion' && !isCharged(pricing['internal_reasoning'])
    const named = withReasoning ? `${term}, reasoning included` : term
    return text === null ? [] : [{ term: named, text, isPart, isByToken: true }]
  })
  const each = EACH.flatMap(([field, term]) => {
    const price = pricing[field]
    return isCharged(price) ? [{ term, text: `${showDollarText(price)} each`, ...ONE }] : []
  })
  const ofImage = isCharged(flat)
    ? [{ term: 'Image output', text: `up to ${showDollarText(flat)} each`, ...ONE }]
    : []
  return [...byToken, ...ofImage, ...each]
}

/** The heading of prices. */
export function pricesTitle(lines: readonly PriceLine[]): string {
  return lines.some(({ isByToken }) => isByToken) ? 'Prices per million tokens' : 'Prices'
}

/** The prices of each tier: `Input above 200,000`, which are tokens of input. */
export function tierLines({
  pricing: { overrides },
}: Pick<Priced, 'pricing'>): readonly PriceLine[] {
  if (!Array.isArray(overrides)) return []
  return overrides.flatMap((tier: Readonly<Record<string, unknown>>) => {
    const from = tier['min_prompt_tokens']
    if (typeof from !== 'number') return []
    return TIERED.flatMap(([field, term]) => {
      const price = (tier as Readonly<Record<string, string | undefined>>)[field]
      const text = isCharged(price) ? perMillionText(price) : null
      const above = `${term}, above ${from.toLocaleString('en-US')}`
      return text === null ? [] : [{ term: above, text, isPart: false, isByToken: true }]
    })
  })
}

const TIERED: readonly (readonly [field: string, term: string])[] = [
  ['prompt', 'Input'],
  ['completion', 'Output'],
]

/** A sentence for each tier: `Above 200,000 input tokens: $6.30 in, $23.625 out.` */
export function tierSentences({ pricing: { overrides } }: Priced): readonly string[] {
  if (!Array.isArray(overrides)) return []
  return overrides.flatMap((tier: Readonly<Record<string, unknown>>) => {
    const from = tier['min_prompt_tokens']
    const { prompt, completion } = tier as Readonly<Record<string, string | undefined>>
    const prices = [
      ...(isCharged(prompt) ? [`${perMillionText(prompt)} in`] : []),
      ...(isCharged(completion) ? [`${perMillionText(completion)} out`] : []),
    ]
    if (typeof from !== 'number' || prices.length === 0) return []
    return [`Above ${from.toLocaleString('en-US')} input tokens: ${prices.join(', ')}.`]
  })
}
