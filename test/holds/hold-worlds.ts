import { findProvider } from '@pydantic/genai-prices'
import { Catalog as SimulatorCatalog } from '../../simulator/catalog.ts'
import { CATALOG_ROWS, catalogRow } from '../../simulator/catalog-rows.ts'
import type { Fault } from '../../simulator/faults.ts'
import { VENDORS, type Vendor, type VendorName } from '../../simulator/vendors.ts'
import { Catalog, DEFAULT_CATALOG_SETTINGS } from '../../src/catalog/catalog.ts'
import { FORMATS } from '../../src/formats/formats.ts'
import { anthropic, anthropicFacts, anthropicId } from '../../src/upstreams/anthropic/anthropic.ts'
import { loadKnownPrices } from '../../src/upstreams/listing/known-prices.ts'
import type { ListedModel } from '../../src/upstreams/listing/listing.ts'
import { meetVendorList, type VendorKnowledge } from '../../src/upstreams/listing/vendor-list.ts'
import { openai, openaiFacts, openaiId } from '../../src/upstreams/openai/openai.ts'
import { openaiCompatible } from '../../src/upstreams/openai-compatible/openai-compatible.ts'
import { parseModels } from '../../src/upstreams/openrouter/catalog.ts'
import { openrouter } from '../../src/upstreams/openrouter/openrouter.ts'
import { upstreamSettings } from '../../src/upstreams/testing/upstream-settings.ts'
import type { Wire } from '../../src/upstreams/wire.ts'
import type { Offer } from '../../src/vocabulary/offer.ts'
import { vendorSettings } from '../dialects/vendor-settings.ts'
import { ROWS } from './random-bodies.ts'

/** A provider with its prices, and a gateway's view of it through one dialect. */
export interface HoldWorld {
  /** The models that the gateway offers, at the listed prices. */
  readonly catalog: Catalog
  /** The dialect's, by format. */
  readonly wires: ReadonlyMap<string, Wire>
  readonly hasLookUps: boolean
  /** The billing models, by the provider's own IDs. */
  readonly provider: Pick<SimulatorCatalog, 'find' | 'fastTierOf'>
  /** How it words its answers; null: as OpenRouter. */
  readonly vendor: Vendor | null
  /** Its maximum bill: Anthropic documents which tokens its marks cover. */
  readonly bills: NonNullable<Fault['bills']>
}

export const NOW_MS = 1_790_000_000_000

/** OpenRouter, which lists its prices and reports its costs. */
export const OPENROUTER: HoldWorld = openrouterWorld()

function openrouterWorld(): HoldWorld {
  const provider = new SimulatorCatalog(CATALOG_ROWS)
  provider.replace(ROWS)
  const list = provider.list(new URLSearchParams({ output_modalities: 'all' }))
  const { models } = parseModels(JSON.parse(JSON.stringify(list)), DEFAULT_CATALOG_SETTINGS)
  const { wires } = openrouter
  return {
    catalog: catalogOf({ models, wires }),
    wires,
    hasLookUps: true,
    provider,
    vendor: null,
    bills: 'most',
  }
}

function catalogOf({
  models,
  wires,
}: Pick<HoldWorld, 'wires'> & { readonly models: readonly ListedModel[] }): Catalog {
  const { upstream } = DEFAULT_CATALOG_SETTINGS
  const endpointsOf = ({ outputModalities }: Offer): string[] =>
    FORMATS.filter(
      (format) => wires.has(format.endpoint) && format.fitsOutputs(outputModalities),
    ).map(({ endpoint }) => endpoint)
  const catalog = new Catalog({
    clock: { nowMs: () => NOW_MS },
    settings: { pricesStaleAfterMs: 1, aliases: new Map(), pricesListed: 'provider' },
    upstreams: [{ name: upstream, models: [], formats: new Set(wires.keys()) }],
  })
  catalog.replace(
    upstream,
    models.map((model) => {
      const offer = { ...model.offer, endpoints: endpointsOf(model.offer) }
      return { ...model, offer, refreshedAtMs: NOW_MS }
    }),
  )
  return catalog
}

const DIALECTS = { openai, anthropic, 'openai-compatible': openaiCompatible } as const
const AUTHORED_IDS = { openai: openaiId, anthropic: anthropicId } as const
const FACTS = { openai: openaiFacts, anthropic: anthropicFacts } as const

/** The models of a world by their output. */
export function modelIdsOf({ catalog }: HoldWorld) {
  const all = [...catalog.modelIds]
  const putsOut = (kind: string) => (id: string) =>
    catalog.offerFor(id, 'chat').outputModalities.has(kind)
  return { text: all.filter(putsOut('text')), embeddings: all.filter(putsOut('embeddings')) }
}

/**
 * A vendor that bills by its counts. OpenAI and Anthropic have the models and prices that a gateway offers of them
 * today; any other server has the simulator's, as an operator writes them.
 */
export async function vendorWorld(vendor: VendorName): Promise<HoldWorld> {
  const models = vendor === 'openai-compatible' ? writtenModels() : await knownModels(vendor)
  const provider = new SimulatorCatalog(CATALOG_ROWS)
  const rows = models.map(({ offer, listing }) =>
    catalogRow({
      id: offer.upstreamModelId,
      name: listing.name,
      description: '',
      pricing: JSON.parse(JSON.stringify(listing.pricing)),
      contextTokens: offer.contextTokens,
      outputTokensMax: offer.outputTokensMax,
      inputs: [...offer.inputModalities],
      outputs: [...offer.outputModalities],
      parameters: [...offer.supportedParameters],
    }),
  )
  provider.replace(rows)
  const { wires } = DIALECTS[vendor]
  return {
    catalog: catalogOf({ models, wires }),
    wires,
    hasLookUps: false,
    provider,
    vendor: VENDORS[vendor],
    bills: vendor === 'anthropic' ? 'mostByMarks' : 'most',
  }
}

async function knownModels(vendor: 'openai' | 'anthropic'): Promise<readonly ListedModel[]> {
  const known = findProvider({ providerId: vendor })?.models ?? []
  const listed = known.map(({ id }) => ({ upstreamModelId: id, ...NOT_LISTED }))
  const knowledge: VendorKnowledge = {
    author: vendor,
    authoredIdOf: AUTHORED_IDS[vendor],
    ...(vendor === 'anthropic' ? { cachesOnlyMarked: true } : {}),
    knownModel: await loadKnownPrices(vendor, NOW_MS),
    factsOf: FACTS[vendor],
  }
  return meetVendorList(listed, knowledge, { ...DEFAULT_CATALOG_SETTINGS, written: [] }).models
}

const NOT_LISTED = { name: null, created: null, contextTokens: null, outputTokensMax: null }

function writtenModels(): readonly ListedModel[] {
  const base = upstreamSettings({ baseUrl: 'http://127.0.0.1/v1' })
  // Settings have one price of each kind.
  const rows = ROWS.map(({ pricing: { overrides: _, ...pricing }, ...row }) => ({
    ...row,
    pricing,
  }))
  const { models: written } = vendorSettings(base, { vendor: 'openai-compatible', rows })
  const knowledge = {
    author: 'local',
    authoredIdOf: () => null,
    knownModel: () => null,
    factsOf: () => null,
  }
  return meetVendorList([], knowledge, { ...DEFAULT_CATALOG_SETTINGS, written }).models
}
