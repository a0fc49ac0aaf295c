import { isModelId } from '../../upstreams/listing/listing.ts'
import type { Dialect } from '../../upstreams/upstream.ts'
import type {
  WrittenLongPrompt,
  WrittenModel,
  WrittenPriceName,
  WrittenPrices,
} from '../../upstreams/upstream-settings.ts'
import { type Picos, parseDecimal } from '../../vocabulary/money.ts'
import type { YamlValue } from './yaml-value.ts'

interface Owner {
  /** The name of the upstream that they are written for. */
  readonly upstream: string
  readonly dialect: Dialect
}

/** The models that are written for an upstream. Faults are noted at their lines. */
export function readWrittenModels(
  value: YamlValue | undefined,
  owner: Owner,
): readonly { readonly model: WrittenModel; readonly value: YamlValue }[] {
  return (value?.items() ?? []).flatMap((item) => {
    const model = readModel(item, owner)
    return model === null ? [] : [{ model, value: item }]
  })
}

const KNOWN = [
  'id',
  'upstream_id',
  'context',
  'max_output',
  'max_thinking',
  'prices',
  'long_prompts',
  'inputs',
  'outputs',
  'parameters',
  'open_weights',
]
const TOKENS = { min: 1, max: 1_000_000_000 }
const INPUTS = ['text', 'image', 'file', 'audio', 'video']
const OUTPUTS = ['text', 'image', 'embeddings', 'audio']

function readModel(value: YamlValue, owner: Owner): WrittenModel | null {
  const members = value.members(KNOWN)
  if (members === null) return null
  const ids = readIds(value, { members, owner })
  const openWeights = members.get('open_weights')?.oneOf(['true', 'false']) ?? null
  const texts = (name: string, known: readonly string[] | null): readonly string[] | null =>
    members
      .get(name)
      ?.items()
      ?.flatMap((item) => (known === null ? item.text() : item.oneOf(known)) ?? []) ?? null
  const prices = readPrices(members.get('prices'))
  const uncappedThinkingTokens = members.get('max_thinking')?.wholeNumber(TOKENS) ?? null
  const model = {
    contextTokens: members.get('context')?.wholeNumber(TOKENS) ?? null,
    outputTokensMax: members.get('max_output')?.wholeNumber(TOKENS) ?? null,
    ...(uncappedThinkingTokens === null ? {} : { uncappedThinkingTokens }),
    prices,
    ...readLongPrompts(members.get('long_prompts'), prices),
    inputModalities: texts('inputs', INPUTS),
    outputModalities: texts('outputs', OUTPUTS),
    supportedParameters: texts('parameters', null),
    openWeights: openWeights === null ? null : openWeights === 'true',
  }
  return ids === null ? null : { ...ids, ...model }
}

function readIds(
  value: YamlValue,
  {
    members,
    owner: { upstream, dialect },
  }: {
    readonly members: ReadonlyMap<string, YamlValue>
    readonly owner: Owner
  },
): Pick<WrittenModel, 'id' | 'upstreamModelId'> | null {
  const written = members.get('id')?.text() ?? null
  const writtenTheirs = members.get('upstream_id')?.text() ?? null
  const prefix = dialect.hasCatalogIds ? '' : `${upstream}/`
  const modelId = written ?? (writtenTheirs === null ? null : `${prefix}${writtenTheirs}`)
  if (modelId === null) return value.fault('has no id, and no upstream_id to make one from')
  if (!isModelId(modelId)) {
    return value.fault(
      'has an id that cannot be used: it must be like acme/sage-pro, without spaces',
    )
  }
  const theirs = writtenTheirs ?? (modelId.startsWith(prefix) ? modelId.slice(prefix.length) : null)
  if (theirs === null)
    return value.fault(`has an id that does not begin with ${prefix}, and no upstream_id`)
  return { id: modelId, upstreamModelId: theirs }
}

/** Each price's name in the file, and the power of ten from its dollars to pico-dollars of one unit. */
const PRICES: Readonly<
  Record<string, { readonly name: WrittenPriceName; readonly places: number }>
> = {
  input: { name: 'input', places: 6 },
  output: { name: 'output', places: 6 },
  cache_read: { name: 'cacheRead', places: 6 },
  cache_write: { name: 'cacheWrite', places: 6 },
  cache_write_1h: { name: 'cacheWriteLong', places: 6 },
  reasoning: { name: 'reasoning', places: 6 },
  search: { name: 'search', places: 12 },
  request: { name: 'request', places: 12 },
}

function readPrices(value: YamlValue | undefined): WrittenPrices | null {
  const members = value?.members([...Object.keys(PRICES), 'image'])
  // It could be held, but no answer counts the images that it is for.
  members
    ?.get('image')
    ?.fault('cannot be charged, since answers count no images: images are charged as input tokens')
  if (value === undefined || members === undefined || members === null) return null
  for (const name of ['input', 'output'] as const) {
    if (!members.has(name)) value.fault(`has no ${name} price; a price of nothing is 0`)
  }
  return pricesIn(members)
}

function pricesIn(members: ReadonlyMap<string, YamlValue>): WrittenPrices {
  const prices: Partial<Record<WrittenPriceName, Picos>> = {}
  for (const [name, member] of members) {
    const row = PRICES[name]
    const text = row === undefined ? null : member.text()
    if (row === undefined || text === null) continue
    const price = exactPicos(text, row.places)
    if (price === null) {
      const unit = row.places === 6 ? 'dollars for a million tokens' : 'dollars for each'
      member.fault(`must be ${unit}, like 0.25, with at most ${row.places} decimals`)
    } else if (price > PRICE_PICOS_MAX) {
      member.fault('is higher than any price: token prices are for a million tokens')
    } else prices[row.name] = price
  }
  return prices
}

const LONG_PROMPT_PRICES = ['input', 'output', 'cache_read', 'cache_write', 'cache_write_1h']

function readLongPrompts(
  value: YamlValue | undefined,
  shorter: WrittenPrices | null,
): Pick<WrittenModel, 'longPrompts'> {
  if (value === undefined) return {}
  if (shorter === null) {
    value.fault('applies only with prices, which are those of shorter prompts')
    return {}
  }
  let below = { inputTokensAbove: 0, prices: shorter }
  const longPrompts = (value.items() ?? []).flatMap((item) => {
    const longPrompt = readLongPrompt(item, { below, reasoning: shorter.reasoning ?? 0n })
    if (longPrompt === null) return []
    below = longPrompt
    return [longPrompt]
  })
  return { longPrompts }
}

/**
 * Each price of shorter prompts must be there, and not be higher: what is left out would be charged too low. So would
 * reasoning be, whose one price applies to prompts of any length, if it were below the output's; at zero it is charged as
 * output.
 */
function readLongPrompt(
  value: YamlValue,
  { below, reasoning }: { readonly below: WrittenLongPrompt; readonly reasoning: Picos },
): WrittenLongPrompt | null {
  const members = value.members(['above', ...LONG_PROMPT_PRICES])
  if (members === null) return null
  const above = members.get('above')
  if (above === undefined)
    return value.fault(
      'has no above: the tokens of a prompt up to which the prices before it apply',
    )
  const inputTokensAbove = above.wholeNumber({ ...TOKENS, min: below.inputTokensAbove + 1 })
  const prices = pricesIn(members)
  for (const name of LONG_PROMPT_PRICES) {
    const priceName = PRICES[name]?.name ?? 'input'
    const [shorter, longer] = [below.prices[priceName], prices[priceName]]
    if (shorter === undefined || (longer !== undefined && longer >= shorter)) continue
    if (longer !== undefined) members.get(name)?.fault('is lower than the price of shorter prompts')
    else if (!members.has(name)) value.fault(`has no ${name} price, which shorter prompts have`)
  }
  if (reasoning !== 0n && (prices.output ?? 0n) > reasoning) {
    members
      .get('output')
      ?.fault(
        'is higher than the reasoning price, which is the same for prompts of any length. Leave reasoning out of prices: it is then charged as output',
      )
  }
  return inputTokensAbove === null ? null : { inputTokensAbove, prices }
}

// A thousand dollars for one unit, or a billion for a million tokens.
const PRICE_PICOS_MAX = 10n ** 15n

/** A price in pico-dollars, exactly. By position: its text, and the places by which its point moves. */
function exactPicos(text: string, places: number): Picos | null {
  const value = parseDecimal(text)
  if (value === null || value.digits < 0n) return null
  const exponent = value.exponent + places
  if (exponent >= 0) return value.digits * 10n ** BigInt(exponent)
  const divisor = 10n ** BigInt(-exponent)
  return value.digits % divisor === 0n ? value.digits / divisor : null
}
