import type { JsonObject } from './json-value.ts'

/** Prices of a row: decimal strings of dollars a unit, as the wire has them. */
export type Pricing = {
  readonly prompt: string
  readonly completion: string
  readonly request?: string
  /** Per input image. */
  readonly image?: string
  /** Per output-image token. */
  readonly image_output?: string
  readonly web_search?: string
  readonly internal_reasoning?: string
  readonly input_cache_read?: string
  readonly input_cache_write?: string
  readonly input_cache_write_1h?: string
  readonly overrides?: readonly PriceOverride[]
}

/** Prices that replace the row's own while every condition holds. */
export type PriceOverride = {
  /** Holds for prompts strictly longer. */
  readonly min_prompt_tokens?: number
  /** HHMM, half-open with `utc_end`, may wrap midnight. */
  readonly utc_start?: number
  readonly utc_end?: number
  readonly prompt?: string
  readonly completion?: string
  readonly input_cache_read?: string
  readonly input_cache_write?: string
  readonly input_cache_write_1h?: string
}

/** One model as `GET /v1/models` lists it. */
export type CatalogRow = {
  readonly id: string
  readonly canonical_slug: string
  /** Set where the weights are open; the empty string otherwise. */
  readonly hugging_face_id: string
  readonly name: string
  /** Unix seconds. */
  readonly created: number
  readonly description: string
  readonly context_length: number | null
  readonly architecture: {
    readonly modality: string
    readonly input_modalities: readonly string[]
    readonly output_modalities: readonly string[]
    readonly tokenizer: string
    readonly instruct_type: null
  }
  readonly pricing: Pricing
  readonly top_provider: {
    readonly context_length: number | null
    readonly max_completion_tokens: number | null
    readonly is_moderated: boolean
  }
  readonly per_request_limits: null
  readonly supported_parameters: readonly string[]
  readonly default_parameters: JsonObject
  readonly knowledge_cutoff: null
  readonly expiration_date: string | null
  /** Only on rows that are another name of a model. */
  readonly alias_target?: { readonly name: string; readonly slug: string }
  readonly links: { readonly details: string }
}

/** The behaviour of a row in the simulator that its listing does not show. */
export interface Traits {
  /** False: its answers name no cost. Default true. */
  readonly reportsCost: boolean
  /** True: bodies of messages and responses have ids of their own, and only the header has `gen-…`. */
  readonly nativeIds: boolean
  /** Whether it takes legacy completions. */
  readonly completions: boolean
  /** Whether its pictures can be streamed. */
  readonly streamsImages: boolean
  /** Dollars a picture; null where pictures are priced by token. */
  readonly flatImageUsd: string | null
  /** Whether its answers are paced events for load tests. */
  readonly paced: boolean
}

const PLAIN_TRAITS: Traits = {
  reportsCost: true,
  nativeIds: false,
  completions: true,
  streamsImages: true,
  flatImageUsd: null,
  paced: false,
}

const TRAITS: ReadonlyMap<string, Traits> = new Map([
  ['sim/no-cost', { ...PLAIN_TRAITS, reportsCost: false }],
  ['sim/dated', { ...PLAIN_TRAITS, nativeIds: true }],
  ['sim/image-chat', { ...PLAIN_TRAITS, completions: false }],
  ['sim/search', { ...PLAIN_TRAITS, completions: false }],
  ['sim/image-flat', { ...PLAIN_TRAITS, streamsImages: false, flatImageUsd: '0.05' }],
  ['sim/paced', { ...PLAIN_TRAITS, paced: true }],
])

/** How the simulator plays the model of this id. */
export function traitsOf(id: string): Traits {
  return TRAITS.get(id) ?? PLAIN_TRAITS
}

/** The fields of a row that can change while the simulator runs. */
interface RowChange {
  readonly pricing?: Partial<Pricing>
  readonly context_length?: number | null
  readonly max_completion_tokens?: number | null
  readonly hugging_face_id?: string
  readonly supported_parameters?: readonly string[]
}

/** A second provider of a model, which serves the requests that the first can't. */
interface OtherProvider {
  /** A field that the first does not take: a request that has it goes here. */
  readonly parameter: string
  readonly pricing: Pricing
}

const OTHER_PROVIDERS: ReadonlyMap<string, OtherProvider> = new Map([
  [
    'sim/steered',
    { parameter: 'seed', pricing: { prompt: '0.000008', completion: '0.00004', request: '0.001' } },
  ],
])

/** The rows on sale; a test may replace them, and prices may rise while it looks. */
export class Catalog {
  readonly #builtIn: readonly CatalogRow[]
  #rows: readonly CatalogRow[]
  #byName: ReadonlyMap<string, CatalogRow>
  #otherProviders = new Map(OTHER_PROVIDERS)

  /** By position: the built-in rows. */
  constructor(builtIn: readonly CatalogRow[]) {
    this.#builtIn = builtIn
    this.#rows = builtIn
    this.#byName = index(builtIn)
  }

  get rows(): readonly CatalogRow[] {
    return this.#rows
  }

  /** The row of this id, canonical slug or alias; null for a name that is none of them. */
  find(name: string): CatalogRow | null {
    return this.#byName.get(name) ?? null
  }

  /** The row's faster tier: a model of its name with `-fast` behind it that costs no less. */
  fastTierOf(row: CatalogRow): CatalogRow | null {
    const fast = this.find(`${row.id}-fast`)
    const costsMore =
      fast !== null &&
      Number(fast.pricing.prompt) >= Number(row.pricing.prompt) &&
      Number(fast.pricing.completion) >= Number(row.pricing.completion)
    return costsMore ? fast : null
  }

  /** Puts these rows in the place of all others. */
  replace(rows: readonly CatalogRow[]): void {
    this.#rows = rows
    this.#byName = index(rows)
  }

  /** Changes one row. Throws RangeError where no row has this id. */
  change(id: string, change: RowChange): void {
    if (!this.#rows.some((row) => row.id === id)) throw new RangeError(`no such model: ${id}`)
    this.replace(this.#rows.map((row) => (row.id === id ? changed(row, change) : row)))
  }

  /** Puts the built-in rows back. */
  restore(): void {
    this.replace(this.#builtIn)
    this.#otherProviders = new Map(OTHER_PROVIDERS)
  }

  /** Gives the model of this id a second provider. */
  addProvider(id: string, provider: OtherProvider): void {
    this.#otherProviders.set(id, provider)
  }

  /** The row at the prices of the provider that a request of it goes to. */
  routed(row: CatalogRow, request: JsonObject): CatalogRow {
    const other = this.#otherProviders.get(row.id)
    const goesThere = other !== undefined && (request[other.parameter] ?? null) !== null
    return goesThere ? { ...row, pricing: other.pricing } : row
  }

  /** The answer of `GET /models/{author}/{slug}/endpoints`; null for an unknown model. */
  endpoints(id: string): JsonObject | null {
    const row = this.find(id)
    if (row === null) return null
    const other = this.#otherProviders.get(row.id)
    const endpoints = [endpointJson(row, { tag: 'simulator', pricing: row.pricing })]
    if (other !== undefined) endpoints.push(endpointJson(row, { tag: 'other', ...other }))
    return {
      data: {
        id: row.id,
        name: row.name,
        created: row.created,
        description: row.description,
        architecture: row.architecture,
        endpoints,
      },
    }
  }

  /** The answer of `GET /models`: rows of text output unless the query asks for others. */
  list(query: URLSearchParams): JsonObject {
    const wanted = (query.get('output_modalities') ?? 'text').split(',')
    const all = wanted.includes('all')
    const rows = this.#rows.filter(
      (row) => all || row.architecture.output_modalities.some((name) => wanted.includes(name)),
    )
    const offset = Number(query.get('offset') ?? 0)
    const limit = Number(query.get('limit') ?? rows.length)
    const page = rows.slice(offset, offset + limit)
    const following = offset + limit < rows.length
    const next = following ? `/api/v1/models?offset=${offset + limit}&limit=${limit}` : null
    return { data: page, total_count: rows.length, links: { next } }
  }

  /** The answer of `GET /images/models`. */
  listImages(): JsonObject {
    return { data: this.#rows.filter(makesImages).map(imageModelJson) }
  }

  /** The answer of `GET /images/models/{author}/{slug}/endpoints`; null for an unknown model. */
  imageEndpoints(id: string): JsonObject | null {
    const row = this.find(id)
    if (row === null || !makesImages(row)) return null
    return { id: row.id, endpoints: [imageEndpointJson(row)] }
  }
}

function index(rows: readonly CatalogRow[]): ReadonlyMap<string, CatalogRow> {
  const byName = new Map<string, CatalogRow>()
  for (const row of rows) byName.set(row.canonical_slug, row)
  for (const row of rows) byName.set(row.id, row)
  for (const row of rows) {
    const target = row.alias_target === undefined ? undefined : byName.get(row.alias_target.slug)
    if (target !== undefined) byName.set(row.id, target)
  }
  return byName
}

function changed(row: CatalogRow, change: RowChange): CatalogRow {
  const { pricing, max_completion_tokens: outputMax, ...rest } = change
  return {
    ...row,
    ...rest,
    pricing: { ...row.pricing, ...pricing },
    top_provider: {
      ...row.top_provider,
      ...(outputMax === undefined ? {} : { max_completion_tokens: outputMax }),
    },
  }
}

function endpointJson(
  row: CatalogRow,
  provider: { readonly tag: string; readonly pricing: Pricing },
): JsonObject {
  return {
    name: `${provider.tag} | ${row.id}`,
    model_id: row.id,
    model_name: row.name,
    context_length: row.context_length,
    pricing: provider.pricing,
    provider_name: provider.tag,
    tag: provider.tag,
    quantization: null,
    max_completion_tokens: row.top_provider.max_completion_tokens,
    max_prompt_tokens: null,
    supported_parameters: row.supported_parameters,
    status: 0,
    uptime_last_30m: 100,
    supports_implicit_caching: false,
  }
}

function makesImages(row: CatalogRow): boolean {
  return row.architecture.output_modalities.includes('image')
}

function imageModelJson(row: CatalogRow): JsonObject {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    created: row.created,
    architecture: {
      input_modalities: row.architecture.input_modalities,
      output_modalities: row.architecture.output_modalities,
    },
    supported_parameters: IMAGE_PARAMETERS,
    supports_streaming: traitsOf(row.id).streamsImages,
    endpoints: `/api/v1/images/models/${row.id}/endpoints`,
  }
}

const IMAGE_PARAMETERS: JsonObject = {
  quality: { type: 'enum', values: ['auto', 'low', 'medium', 'high'] },
  n: { type: 'range', min: 1, max: 10 },
  seed: { type: 'boolean' },
}

function imageEndpointJson(row: CatalogRow): JsonObject {
  const flat = traitsOf(row.id).flatImageUsd
  const byToken = Number(row.pricing.image_output ?? row.pricing.completion)
  return {
    provider_name: 'Simulator',
    provider_slug: 'simulator',
    provider_tag: 'simulator',
    supported_parameters: IMAGE_PARAMETERS,
    allowed_passthrough_parameters: [],
    supports_streaming: traitsOf(row.id).streamsImages,
    pricing:
      flat === null
        ? [{ billable: 'output_image', unit: 'token', cost_usd: byToken }]
        : [
            { billable: 'output_image', unit: 'image', cost_usd: Number(flat) },
            { billable: 'output_image', unit: 'image', cost_usd: 2 * Number(flat), variant: '4k' },
          ],
  }
}
