import { FORMATS } from '../../../formats/formats.ts'
import { offerWith as anOfferWith, FREE } from '../../../formats/testing/exchange.ts'
import type { Call } from '../../../vocabulary/call.ts'
import { type Picos, parsePrice } from '../../../vocabulary/money.ts'
import type { Offer, PriceTable } from '../../../vocabulary/offer.ts'
import { NO_MEDIA } from '../../../vocabulary/testing/no-media.ts'

/** Pico-dollars of a dollar amount in the catalog's notation. */
export function usd(text: string): Picos {
  const picos = parsePrice(text)
  if (picos === null) throw new TypeError(`not a price: ${text}`)
  return picos
}

/** An offer of a text model that accepts a cap, with only these prices. */
export function offerWith(
  prices: Partial<PriceTable>,
  rest: Partial<Omit<Offer, 'prices'>> = {},
): Offer {
  const input = prices.input ?? 0n
  return anOfferWith({
    modelId: 'acme/some-model',
    inputModalities: new Set(['text', 'image', 'file', 'video']),
    outputTokensMax: 8_000,
    ...rest,
    prices: { ...FREE, cacheRead: input, cacheWrite: input, cacheWriteLong: input, ...prices },
  })
}

/** A call with the name of its format. */
export type TestCall = Call & { readonly endpoint: string }

/** A call with only text; default: of chat. */
export function callWith(fields: Partial<TestCall> = {}): TestCall {
  const { endpoint = 'chat' } = fields
  const format = FORMATS.find((each) => each.endpoint === endpoint)
  if (format === undefined) throw new TypeError(`no format ${endpoint}`)
  return {
    endpoint,
    rules: format.rules,
    modelName: 'acme/some-model',
    stream: false,
    outputCapTokens: null,
    completions: 1,
    media: NO_MEDIA,
    tools: { clientTools: 0, serverTools: false, steps: 30, searchResultTokens: 8_000 },
    cacheWrites: 'none',
    outputKinds: { image: false, audio: false },
    priorityTier: false,
    reasoningTokens: 0,
    thinkingTokens: 0,
    predictionTokens: 0,
    compacts: false,
    fileParser: 'none',
    textTokens: 600,
    unmarkedTokens: 0,
    promptGuess: 60 * (fields.textTokens ?? 600),
    inlineImages: [],
    ...fields,
  }
}

/** A long-context model with cache prices, searches, and higher prices for long prompts. */
export const SAGE = offerWith(
  {
    input: usd('0.000003'),
    output: usd('0.000015'),
    cacheRead: usd('0.0000003'),
    cacheWrite: usd('0.00000375'),
    cacheWriteLong: usd('0.000006'),
    search: usd('0.01'),
    tiers: [
      {
        inputTokensAbove: 200_000,
        input: usd('0.000006'),
        output: usd('0.0000225'),
        cacheRead: usd('0.0000006'),
        cacheWrite: usd('0.0000075'),
        cacheWriteLong: usd('0.000012'),
      },
    ],
  },
  { contextTokens: 1_000_000, outputTokensMax: 64_000 },
)

/** An open model that lists no maximum output. */
export const OPEN = offerWith(
  { input: usd('0.0000002'), output: usd('0.0000008') },
  { contextTokens: 131_072, outputTokensMax: null, openWeights: true },
)
