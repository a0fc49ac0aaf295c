import { isJsonObject, type JsonValue, readRecord } from '../../json/walk.ts'
import { countInWords } from '../../vocabulary/count-in-words.ts'
import { decimalOfPicos, formatDecimal } from '../../vocabulary/money.ts'
import type { Offer, PromptAdditions } from '../../vocabulary/offer.ts'
import { WRONG_KEY } from '../counted.ts'
import { CatalogRefused, NoModelOffered, parseModels } from '../openrouter/catalog.ts'
import { readProviderError } from '../openrouter/provider-error.ts'
import { UpstreamRefusesAccount } from '../provider-records.ts'
import type { Upstream } from '../upstream.ts'
import type { WrittenModel, WrittenPriceName, WrittenPrices } from '../upstream-settings.ts'
import type { KnownModel } from './known-prices.ts'
import type { ListingSettings, ParsedCatalog, SkippedRow } from './listing.ts'
import { tenPercentMore } from './price-table.ts'

/** The facts about a model in a dialect's table, which its vendor's list lacks. */
export interface ModelFacts {
  /** The longest answer in tokens; null: the vendor documents none. */
  readonly outputTokensMax: number | null
  readonly inputModalities: readonly string[]
  /** The kinds of output. Default: text. */
  readonly outputModalities?: readonly string[]
  readonly supportedParameters: readonly string[]
  /** The formats that the vendor runs it in. Default: all that the dialect speaks. */
  readonly formats?: readonly string[]
}

/** A model in a vendor's list. */
interface VendorModel {
  readonly upstreamModelId: string
  readonly name: string | null
  /** Seconds since the Unix epoch; null: not listed. */
  readonly created: number | null
  readonly contextTokens: number | null
  readonly outputTokensMax: number | null
}

const LIST_LIMITS = { timeoutMs: 10_000, bytesMax: 16 * 1024 * 1024 }

/**
 * The vendor's list of ids. Rejects for any answer but a list; null: the server has no list at this address.
 */
async function fetchVendorModels(
  upstream: Upstream,
  path: string,
  headers: readonly string[] = [],
): Promise<readonly VendorModel[] | null> {
  const { httpStatus, json } = await upstream.getJson(path, { ...LIST_LIMITS, headers })
  const isWrongKey = httpStatus === 400 && WRONG_KEY.test(errorMessage(json))
  if (isWrongKey || httpStatus === 401 || httpStatus === 402 || httpStatus === 403) {
    throw new UpstreamRefusesAccount(httpStatus)
  }
  if (httpStatus === 404 || httpStatus === 405) return null
  if (httpStatus !== 200) {
    throw new Error(`the upstream answers ${httpStatus} to its list of models`)
  }
  const rows = readRecord(json)?.['data']
  if (!Array.isArray(rows)) throw new CatalogRefused('the answer has no list of models in `data`')
  return rows.flatMap((row: unknown) => readVendorModel(row) ?? [])
}

/** The message of an error, which may be alone in a list. */
function errorMessage(json: JsonValue | undefined): string {
  const root = Array.isArray(json) ? json[0] : json
  return isJsonObject(root) ? readProviderError(root, null).message : ''
}

function readVendorModel(row: unknown): VendorModel | null {
  const record = readRecord(row)
  const upstreamModelId = record?.['id']
  if (record === null || typeof upstreamModelId !== 'string' || upstreamModelId === '') return null
  return {
    upstreamModelId,
    name: textOf(record['display_name']),
    created: secondsOf(record['created'] ?? record['created_at']),
    contextTokens: tokensOf(record['max_input_tokens']),
    outputTokensMax: tokensOf(record['max_tokens']),
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function secondsOf(value: unknown): number | null {
  const seconds = typeof value === 'string' ? Date.parse(value) / 1_000 : value
  return typeof seconds === 'number' && Number.isFinite(seconds) ? Math.floor(seconds) : null
}

function tokensOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null
}

/** The known facts about the models of one vendor. */
export interface VendorKnowledge {
  /** The author in catalog ids, for models whose id is not written in the settings. */
  readonly author: string
  /** The author and name of the model that a vendor's ID means; null: any server can run any model under this ID. */
  readonly authoredIdOf: (upstreamModelId: string) => string | null
  /** The tokens that the vendor adds to prompts. Left out: not known. */
  readonly promptAdditions?: PromptAdditions
  /** The field of the same name of {@link Offer}. */
  readonly cachesOnlyMarked?: true
  /** The field of the same name of {@link Offer}. */
  readonly marksUnmarked?: true
  /** Whether answers that were computed within one region cost 1.1 times the known token prices. Left out: none do. */
  readonly hasRegionalPrices?: (upstreamModelId: string) => boolean
  readonly knownModel: (upstreamModelId: string) => KnownModel | null
  readonly factsOf: (upstreamModelId: string) => ModelFacts | null
}

/** The models that an upstream offers: of its list, if it has one, and of its settings. Rejects for any other answer. */
export async function vendorCatalog(
  upstream: Upstream,
  settings: ListingSettings,
  {
    path = '/models',
    headers,
    ...knowledge
  }: Omit<VendorKnowledge, 'author'> & {
    readonly path?: string
    readonly headers?: readonly string[]
  },
): Promise<ParsedCatalog> {
  const listed = (await fetchVendorModels(upstream, path, headers)) ?? []
  const { name: author, models: written } = upstream.settings
  return meetVendorList(listed, { ...knowledge, author }, { ...settings, written })
}

/**
 * The models of a vendor's list that have prices and facts, and those that the settings define, whose figures outrank
 * all others. For each model that is not offered, the reason has the lines to write.
 */
export function meetVendorList(
  listed: readonly VendorModel[],
  knowledge: VendorKnowledge,
  settings: ListingSettings & { readonly written: readonly WrittenModel[] },
): ParsedCatalog {
  const { author, authoredIdOf, promptAdditions, knownModel, factsOf } = knowledge
  const { cachesOnlyMarked, marksUnmarked, hasRegionalPrices = () => false } = knowledge
  const listedById = new Map(listed.map((model) => [model.upstreamModelId, model]))
  const writtenIds = new Set(settings.written.map(({ id }) => id))
  const writtenUpstreamIds = new Set(settings.written.map(({ upstreamModelId }) => upstreamModelId))
  const models = [
    ...settings.written.map((written) => {
      const { upstreamModelId } = written
      return {
        model: listedById.get(upstreamModelId) ?? { ...NOT_LISTED, upstreamModelId },
        written,
      }
    }),
    ...listed
      .filter(
        ({ upstreamModelId }) =>
          !writtenUpstreamIds.has(upstreamModelId) &&
          !writtenIds.has(`${author}/${upstreamModelId}`),
      )
      .map((model) => ({ model, written: null })),
  ]
  const rows: object[] = []
  const unlisted = new Map<string, UnlistedFacts>()
  const regionalIds = new Set<string>()
  const skipped: SkippedRow[] = []
  for (const { model, written } of models) {
    const modelId = written?.id ?? `${author}/${model.upstreamModelId}`
    const known = knownModel(model.upstreamModelId)
    const facts = factsOf(model.upstreamModelId) ?? (written === null ? null : TEXT_MODEL)
    const pricing = pricingOf(written, known)
    if (pricing === null || facts === null) {
      skipped.push({
        modelId,
        why: linesToWrite({ modelId, upstreamModelId: model.upstreamModelId, pricing }),
      })
      continue
    }
    const { uncappedThinkingTokens } = written ?? {}
    unlisted.set(modelId, {
      upstreamModelId: model.upstreamModelId,
      authoredId: authoredIdOf(model.upstreamModelId),
      ...(promptAdditions === undefined ? {} : { promptAdditions }),
      ...(cachesOnlyMarked === undefined ? {} : { cachesOnlyMarked }),
      ...(marksUnmarked === undefined ? {} : { marksUnmarked }),
      ...(uncappedThinkingTokens === undefined ? {} : { uncappedThinkingTokens }),
      openWeights: written?.openWeights === true,
    })
    // Prices that the operator has written are those of the region.
    const hasKnownPrices = (written?.prices ?? null) === null
    if (hasKnownPrices && hasRegionalPrices(model.upstreamModelId)) regionalIds.add(modelId)
    rows.push(rowOf({ modelId, model, written, known, facts, pricing }))
  }
  if (rows.length === 0) {
    throw new NoModelOffered(
      `the upstream lists ${countInWords(listed.length, 'model')} and no prices. Write the models to offer, with their prices, below \`models\` of the upstream: ${EXAMPLE_LINES}`,
    )
  }
  const parsed = parseModels({ data: rows }, settings)
  return {
    ...parsed,
    models: parsed.models.map((model) => {
      const { modelId, prices } = model.offer
      const regional = regionalIds.has(modelId) ? { regionalPrices: tenPercentMore(prices) } : {}
      return { ...model, offer: { ...model.offer, ...unlisted.get(modelId), ...regional } }
    }),
    skipped: [...parsed.skipped, ...skipped],
  }
}

/** The facts that a row of OpenRouter's layout has no place for. */
type UnlistedFacts = Pick<
  Offer,
  | 'upstreamModelId'
  | 'authoredId'
  | 'promptAdditions'
  | 'cachesOnlyMarked'
  | 'marksUnmarked'
  | 'uncappedThinkingTokens'
  | 'openWeights'
>

const NOT_LISTED = { name: null, created: null, contextTokens: null, outputTokensMax: null }

/** The defaults of a model that the settings define. It takes a cap: without one its answer has no bound. */
const TEXT_MODEL: ModelFacts = {
  outputTokensMax: null,
  inputModalities: ['text'],
  supportedParameters: ['max_tokens'],
}

const EXAMPLE_LINES =
  '`- { id: local/my-model, upstream_id: my-model, context: 32768, max_output: 8192, prices: { input: 0.05, output: 0.20 } }`'

function linesToWrite({
  modelId,
  upstreamModelId,
  pricing,
}: {
  readonly modelId: string
  readonly upstreamModelId: string
  readonly pricing: object | null
}): string {
  const what = pricing === null ? 'no price is known for it' : 'its limits are not known'
  const figures =
    pricing === null
      ? 'prices: { input: …, output: … }, context: …, max_output: …'
      : 'context: …, max_output: …'
  return `${what}: to offer it, write \`- { id: ${modelId}, upstream_id: ${upstreamModelId}, ${figures} }\` below \`models\``
}

/** The names of a listed row's prices, by those of the settings. */
const LISTED_NAMES: readonly (readonly [name: WrittenPriceName, listedName: string])[] = [
  ['input', 'prompt'],
  ['output', 'completion'],
  ['cacheRead', 'input_cache_read'],
  ['cacheWrite', 'input_cache_write'],
  ['cacheWriteLong', 'input_cache_write_1h'],
  ['reasoning', 'internal_reasoning'],
  ['search', 'web_search'],
  ['request', 'request'],
]

// Prices of the settings replace all known prices, which may be of another agreement, with other prices for longer
// prompts.
function pricingOf(written: WrittenModel | null, known: KnownModel | null): object | null {
  const prices = written?.prices ?? null
  if (prices === null) return known?.pricing ?? null
  const overrides = (written?.longPrompts ?? []).map((longPrompt) => ({
    min_prompt_tokens: longPrompt.inputTokensAbove,
    ...listedPrices(longPrompt.prices),
  }))
  const pricing = { prompt: '0', completion: '0', ...listedPrices(prices) }
  return overrides.length === 0 ? pricing : { ...pricing, overrides }
}

function listedPrices(prices: WrittenPrices): Readonly<Record<string, string>> {
  const listed: Record<string, string> = {}
  for (const [name, listedName] of LISTED_NAMES) {
    const price = prices[name]
    if (price !== undefined) listed[listedName] = formatDecimal(decimalOfPicos(price))
  }
  return listed
}

/** The model as a row of OpenRouter's layout, which every list is read in. */
function rowOf({
  modelId,
  model,
  written,
  known,
  facts,
  pricing,
}: {
  readonly modelId: string
  readonly model: VendorModel
  readonly written: WrittenModel | null
  readonly known: KnownModel | null
  readonly facts: ModelFacts
  readonly pricing: object
}): object {
  return {
    id: modelId,
    name: model.name ?? modelId,
    created: model.created ?? 0,
    context_length: written?.contextTokens ?? model.contextTokens ?? known?.contextTokens ?? null,
    architecture: {
      input_modalities: written?.inputModalities ?? facts.inputModalities,
      output_modalities: written?.outputModalities ?? facts.outputModalities ?? ['text'],
    },
    top_provider: {
      max_completion_tokens:
        written?.outputTokensMax ?? model.outputTokensMax ?? facts.outputTokensMax,
    },
    supported_parameters: written?.supportedParameters ?? facts.supportedParameters,
    pricing,
  }
}
