import { isTokenCount, readRecord } from '../../json/walk.ts'
import { type Picos, parsePrice } from '../../vocabulary/money.ts'
import type { PriceTable } from '../../vocabulary/offer.ts'
import type { ResponseBounds } from '../buffered-request.ts'
import {
  type ListedModel,
  type ListingSettings,
  type ParsedCatalog,
  type ParsedRow,
  parseRow,
  type SkippedRow,
} from '../listing/listing.ts'
import { highestTable } from '../listing/price-table.ts'
import { decimalText, parsePricing, RowRefusal } from '../listing/pricing.ts'
import { UpstreamRefusesAccount } from '../provider-records.ts'
import type { HighestTerms, Upstream } from '../upstream.ts'

/** The time limit for all pages together: a refresh by an operator waits for them. */
const LIST_TIMEOUT_MS = 10_000
const LIST_BYTES_MAX = 64 * 1024 * 1024

const MODELS_QUERY = 'output_modalities=all'

// A page has up to a thousand models. A longer list is one that repeats itself.
const MODEL_PAGES_MAX = 20

/** All models, of any output and on all pages, within {@link LIST_TIMEOUT_MS}. Rejects for any answer but a 200. */
export async function fetchModels(upstream: Upstream): Promise<unknown> {
  const models: unknown[] = []
  let query: string | null = MODELS_QUERY
  const startedAtMs = performance.now()
  for (let pages = 0; query !== null; pages++) {
    if (pages === MODEL_PAGES_MAX) throw new Error("the upstream's list of models does not end")
    const leftMs = LIST_TIMEOUT_MS - Math.ceil(performance.now() - startedAtMs)
    const answer = await fetchModelPage(upstream, query, Math.max(1, leftMs))
    const rows = readRecord(answer)?.['data']
    query = nextQuery(answer)
    if (pages === 0 && query === null) return answer
    if (!Array.isArray(rows))
      throw new Error("a page of the upstream's list of models has no `data`")
    for (const row of rows) models.push(row)
  }
  return { data: models }
}

/** By position: the upstream, the page, and the time that is left for it. */
async function fetchModelPage(
  upstream: Upstream,
  query: string,
  timeoutMs: number,
): Promise<unknown> {
  const bounds = { timeoutMs, bytesMax: LIST_BYTES_MAX }
  const { httpStatus, json } = await upstream.getJson(`/models?${query}`, bounds)
  if (httpStatus === 401 || httpStatus === 402) throw new UpstreamRefusesAccount(httpStatus)
  if (httpStatus !== 200)
    throw new Error(`the upstream answers ${httpStatus} to its list of models`)
  return json
}

// Only the query of the next page's address is used: our key goes to no other host. Null: no more pages.
function nextQuery(answer: unknown): string | null {
  const next = readRecord(readRecord(answer)?.['links'])?.['next'] ?? null
  if (next === null) return null
  const at = typeof next === 'string' ? URL.parse(next, 'http://upstream') : null
  if (at === null || at.search === '') {
    throw new Error("the next page of the upstream's list of models has no usable address")
  }
  if (!at.searchParams.has('output_modalities')) at.searchParams.set('output_modalities', 'all')
  return at.searchParams.toString()
}

/** The upstream's answer is not a list of models, or lists none that can be sold. */
export class CatalogRefused extends Error {
  override readonly name: string = 'CatalogRefused'
}

/** The upstream lists its models, and none of them can be sold. */
export class NoModelOffered extends CatalogRefused {
  override readonly name: string = 'NoModelOffered'
}

/**
 * Reads the upstream's list of models. An invalid row is skipped. Throws CatalogRefused for a malformed or empty
 * list, and nothing else.
 */
export function parseModels(upstreamAnswer: unknown, settings: ListingSettings): ParsedCatalog {
  const rows = readRecord(upstreamAnswer)?.['data']
  if (!Array.isArray(rows)) throw new CatalogRefused('the answer has no list of models in `data`')
  const parsed = dropContradictions(rows.map((row: unknown) => parseRow(row, settings)))
  const aliases = aliasesByModelId(parsed)
  const models: ListedModel[] = []
  const unreadableIds = new Set<string>()
  const skipped: SkippedRow[] = []
  for (const row of parsed) {
    if (row.kind === 'model') {
      const { offer, listing } = row
      models.push({ offer, listing, aliases: aliases.get(offer.modelId) ?? [] })
    } else if (row.kind !== 'alias') {
      if (row.kind === 'unreadable' && row.modelId !== null) unreadableIds.add(row.modelId)
      skipped.push({ modelId: row.modelId, why: row.why })
    }
  }
  if (models.length === 0) throw new NoModelOffered(whyNone(rows, skipped))
  return { models, unreadableIds, skipped }
}

const REASONS_SHOWN = 3
const ID_CHARS_SHOWN = 100

/** By position: all rows of the list, and why each was skipped. */
function whyNone(rows: readonly unknown[], skipped: readonly SkippedRow[]): string {
  const hasPrices = rows.some((row) => readRecord(row)?.['pricing'] !== undefined)
  if (rows.length > 0 && !hasPrices) {
    // So vLLM, Ollama and LiteLLM answer, whose address fits the usual dialect.
    return 'the upstream lists models without prices, so it does not have the API of OpenRouter: give it the dialect openai-compatible in the file of TOLLGATE_UPSTREAMS, and write its models and prices there (docs/upstreams.md)'
  }
  return `the list has no model that can be offered${firstReasons(skipped)}`
}

/** Why the first rows are not offered: `: acme/one: no price of the prompt`. */
function firstReasons(skipped: readonly SkippedRow[]): string {
  const shown = skipped
    .slice(0, REASONS_SHOWN)
    .map(
      ({ modelId, why }) => `${modelId?.slice(0, ID_CHARS_SHOWN) ?? 'a row without an ID'}: ${why}`,
    )
  const more = skipped.length > shown.length ? ', and so on' : ''
  return shown.length === 0 ? '' : `: ${shown.join(', ')}${more}`
}

/** Keeps one row per id. If rows of one id disagree on a figure that holds depend on, the model is unreadable. */
function dropContradictions(rows: readonly ParsedRow[]): readonly ParsedRow[] {
  const kept = new Map<string, ParsedRow>()
  const nameless: ParsedRow[] = []
  for (const row of rows) {
    const modelId =
      row.kind === 'model' ? row.offer.modelId : row.kind === 'alias' ? row.name : row.modelId
    if (modelId === null) {
      nameless.push(row)
      continue
    }
    const earlier = kept.get(modelId)
    if (earlier === undefined) kept.set(modelId, row)
    else if (!agree(earlier, row)) {
      kept.set(modelId, { kind: 'unreadable', modelId, why: 'its rows contradict each other' })
    }
  }
  return [...kept.values(), ...nameless]
}

function agree(a: ParsedRow, b: ParsedRow): boolean {
  if (a.kind === 'model' && b.kind === 'model') {
    return (
      a.offer.priceSnapshotId === b.offer.priceSnapshotId &&
      a.offer.contextTokens === b.offer.contextTokens &&
      a.offer.outputTokensMax === b.offer.outputTokensMax
    )
  }
  if (a.kind === 'alias' && b.kind === 'alias') return a.target === b.target
  return a.kind === b.kind
}

/**
 * Other names of each model. A model with a suffix (`:free`) has none: its slug is often that of the model
 * without the suffix, which has another price.
 */
function aliasesByModelId(rows: readonly ParsedRow[]): ReadonlyMap<string, readonly string[]> {
  const modelIds = new Set<string>()
  const bySlug = new Map<string, string | null>()
  const aliases = new Map<string, string[]>()
  for (const row of rows) {
    if (row.kind !== 'model') continue
    const { modelId } = row.offer
    const slug = row.listing.canonical_slug
    modelIds.add(modelId)
    if (slug === null || slug === modelId || modelId.includes(':')) continue
    // A slug that two models share names neither of them.
    bySlug.set(slug, bySlug.has(slug) ? null : modelId)
  }
  const add = (alias: { readonly name: string; readonly modelId: string }) => {
    const names = aliases.get(alias.modelId)
    if (names === undefined) aliases.set(alias.modelId, [alias.name])
    else names.push(alias.name)
  }
  for (const [name, modelId] of bySlug) if (modelId !== null) add({ name, modelId })
  for (const row of rows) {
    if (row.kind !== 'alias') continue
    const modelId = modelIds.has(row.target) ? row.target : bySlug.get(row.target)
    if (typeof modelId === 'string') add({ name: row.name, modelId })
  }
  return aliases
}

// A model has a few dozen providers, of a kilobyte or two each.
const ENDPOINTS_BYTES_MAX = 1024 * 1024

/** The list of a model's providers and their prices. Rejects for any answer but a 200. */
export async function fetchEndpoints(
  upstream: Upstream,
  modelId: string,
  bounds: Omit<ResponseBounds, 'bytesMax'>,
): Promise<unknown> {
  const path = modelId.split('/').map(encodeURIComponent).join('/')
  const { httpStatus, json } = await upstream.getJson(`/models/${path}/endpoints`, {
    ...bounds,
    bytesMax: ENDPOINTS_BYTES_MAX,
  })
  if (httpStatus !== 200)
    throw new Error(`the upstream answers ${httpStatus} to a model's list of endpoints`)
  return json
}

/** The list of a model's image prices; null if the upstream has none for it. */
export async function fetchImageEndpoints(upstream: Upstream, modelId: string): Promise<unknown> {
  const path = modelId.split('/').map(encodeURIComponent).join('/')
  const { httpStatus, json } = await upstream.getJson(`/images/models/${path}/endpoints`, {
    timeoutMs: LIST_TIMEOUT_MS,
    bytesMax: ENDPOINTS_BYTES_MAX,
  })
  // Any other 404 may come from a proxy in between, and says nothing about the price.
  if (httpStatus === 404 && json !== undefined) return null
  if (httpStatus !== 200)
    throw new Error(`the upstream answers ${httpStatus} to an image model's prices`)
  return json
}

// Far above real lists: comparing two price tables takes the product of their tiers.
const ENDPOINTS_MAX = 256
const ENDPOINT_TIERS_MAX = 32

/** A list of a model's endpoints that can't be used. */
export class EndpointsRefused extends Error {
  override readonly name = 'EndpointsRefused'
}

/**
 * The highest prices in an answer of `/models/{id}/endpoints`, price by price, and the largest window. Throws
 * EndpointsRefused for an empty list, and if the prices of any endpoint can't be read: it may be the most expensive.
 */
export function parseEndpointTerms(answer: unknown): HighestTerms {
  const endpoints = readRecord(readRecord(answer)?.['data'])?.['endpoints']
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    throw new EndpointsRefused('the answer lists no endpoints of the model')
  }
  if (endpoints.length > ENDPOINTS_MAX)
    throw new EndpointsRefused('the list has too many endpoints')
  const prices = endpoints.map(endpointPrices).reduce((highest, own) => {
    const table = highestTable(highest, own)
    if (table.tiers.length <= ENDPOINT_TIERS_MAX) return table
    throw new EndpointsRefused('the endpoints have prices for too many prompt sizes')
  })
  const windows = endpoints
    .map((endpoint) => readRecord(endpoint)?.['context_length'])
    .filter(isTokenCount)
  return { prices, contextTokens: windows.length === 0 ? null : Math.max(...windows) }
}

function endpointPrices(endpoint: unknown): PriceTable {
  try {
    const { prices } = parsePricing(readRecord(endpoint)?.['pricing'])
    if (prices.tiers.length <= ENDPOINT_TIERS_MAX) return prices
  } catch (error) {
    if (!(error instanceof RowRefusal)) throw error
  }
  // The refusal's message may quote the provider's text, which must not be logged.
  throw new EndpointsRefused('the prices of an endpoint cannot be read')
}

/**
 * The highest flat price of one generated image in an answer of `/images/models/{id}/endpoints`, of all providers
 * and resolutions. Zero if it lists none; null if it can't be read.
 */
export function parseFlatImagePrice(answer: unknown): Picos | null {
  const endpoints = readRecord(answer)?.['endpoints']
  if (!Array.isArray(endpoints)) return null
  let highest = 0n
  for (const element of endpoints) {
    const pricing = readRecord(element)?.['pricing']
    if (!Array.isArray(pricing)) return null
    for (const billable of pricing) {
      const line = readRecord(billable)
      if (line === null) return null
      if (line['billable'] !== 'output_image' || line['unit'] !== 'image') continue
      const text = decimalText(line['cost_usd'])
      const price = text === null ? null : parsePrice(text)
      if (price === null || price < 0n) return null
      if (price > highest) highest = price
    }
  }
  return highest
}
