import { Command } from 'commander'
import { DEFAULT_CATALOG_SETTINGS } from '../catalog/catalog.ts'
import { createCatalogStore, decodeModel } from '../catalog/catalog-store.ts'
import type { CatalogRow } from '../catalog/claims.ts'
import { servedModel } from '../catalog/served-models.ts'
import { catalogRefreshShape } from '../operations/gateway/upkeep.ts'
import { decimalOfPicos, type Picos, showDollars, showMicros } from '../vocabulary/money.ts'
import type { PriceTable, PriceTier } from '../vocabulary/offer.ts'
import { type CommandContext, type CommandInput, withStore } from './command-context.ts'
import { addHelp } from './help-text.ts'
import { type OperationCommand, operationCommand, show } from './operation-command.ts'
import { counted, type FittingTable, fittingTable, listed, moment } from './table.ts'
import { CommandFailure } from './terminal.ts'

interface JsonOption {
  readonly json?: true
}

const REFRESH: OperationCommand = {
  name: 'refresh',
  runs: 'refreshCatalog',
  words: 'fetch models and prices now, for `catalog list` and the next start of a server',
  begins({ settings }) {
    if (settings().upstreams !== undefined) return 'fetching models …'
    throw new CommandFailure(
      'no upstream is configured: a server with the simulator fetches its models itself',
    )
  },
  takes: [],
  help: `A running server does not read them: it fetches its own every few minutes, and
sooner after a failure. Health on the page and POST /v1/admin/catalog/refresh
make it fetch them now.`,
  examples: ['tollgate catalog refresh'],
  progress: (models) => `fetched the prices of ${counted(models, 'imageModel')}`,
  show: show(catalogRefreshShape, ({ models, skipped, doubts }) => {
    const counts = listed([
      [models, 'model'],
      [skipped.length, 'skippedRow'],
      [doubts.length, 'doubtedModel'],
    ])
    const lines = doubts.map(({ model, why }) => `${model}: ${why}`)
    return { out: [counts, ...lines].join('\n'), ...(doubts.length > 0 && { note: DOUBTED }) }
  }),
}

const DOUBTED =
  'Holds use the earlier figures of these models until a running server has read the new ones three times in a row. Compare them with the prices of the provider: if they are right, there is nothing to do; if not, report them to the provider.'

/**
 * `tollgate catalog`: the models on sale, as the store has them. `list` is no operation: over HTTP it is
 * `GET /v1/models`.
 */
export function catalogCommand(input: CommandInput): Command {
  const command = new Command('catalog').description('list and refresh models and prices')
  const listCommand = command
    .command('list')
    .description('list the models of the last refresh, with prices in dollars before the fee')
    .option('--json', 'print JSON')
    .action((options: JsonOption) => withStore(input, (opened) => list(input, opened, options)))
  addHelp(listCommand, {
    help: 'INPUT/M and OUTPUT/M are dollars for a million tokens.',
    examples: ['tollgate catalog list'],
  })
  return command.addCommand(operationCommand(input, REFRESH))
}

/** By position: the command's inputs, the open store, and the options. */
async function list(
  input: CommandInput,
  { store, terminal }: CommandContext,
  options: JsonOption,
): Promise<void> {
  const settings = input.settings().upstreams?.catalog ?? DEFAULT_CATALOG_SETTINGS
  const lists = await createCatalogStore(store.db).loadAll()
  const byId = new Map<string, CatalogRow>()
  const endpointsById = new Map<string, Set<string>>()
  for (const { models, refreshedAtMs: catalogRefreshedAtMs } of lists) {
    for (const { modelId, itemJson } of models) {
      const row = decodeModel({ itemJson, catalogRefreshedAtMs, settings })
      if (row === null) continue
      if (!byId.has(modelId)) byId.set(modelId, row)
      const endpoints = endpointsById.get(modelId) ?? new Set()
      endpointsById.set(modelId, endpoints.union(new Set(row.offer.endpoints)))
    }
  }
  const rows = [...byId.values()]
  if (options.json === true) {
    const models = rows.map(({ offer: { modelId, feeBasisPoints }, listing }) => {
      const endpoints = [...(endpointsById.get(modelId) ?? [])]
      return servedModel({ listing, endpoints, feeBasisPoints }, settings.pricesListed)
    })
    terminal.out(JSON.stringify({ object: 'list', data: models }))
    return
  }
  terminal.out(
    rows.length === 0
      ? 'no models yet: start `tollgate serve`, or run `tollgate catalog refresh`'
      : modelTable(rows)(terminal.columnsMax),
  )
}

function modelTable(rows: readonly CatalogRow[]): FittingTable {
  return fittingTable(
    ['MODEL', 'CONTEXT', 'INPUT/M', 'OUTPUT/M', 'REFRESHED', 'OTHER PRICES'],
    rows.map(({ offer, listing, refreshedAtMs }) => [
      offer.modelId,
      listing.context_length ?? '-',
      perMillion(offer.prices.input),
      perMillion(offer.prices.output),
      moment(refreshedAtMs),
      otherPrices(offer.prices),
    ]),
    {},
  )
}

/** The price of a million tokens: pico-dollars of one token are micro-dollars of a million. */
function perMillion(price: Picos): string {
  return showMicros(Number(price))
}

/** Every price but input and output, if it differs from its default. */
function otherPrices(prices: PriceTable): string {
  const parts = [...cachePrices(prices)]
  for (const [name, words] of TOKEN_PRICES) {
    if (prices[name] !== 0n) parts.push(`${words} ${perMillion(prices[name])}/M`)
  }
  for (const [name, words] of FLAT_PRICES) {
    if (prices[name] !== 0n) parts.push(`${words} ${showDollars(decimalOfPicos(prices[name]))}`)
  }
  for (const tier of prices.tiers) {
    const of = [`input ${perMillion(tier.input)}/M`, `output ${perMillion(tier.output)}/M`]
    parts.push(`above ${tier.inputTokensAbove} tokens: ${[...of, ...cachePrices(tier)].join(', ')}`)
  }
  return parts.length === 0 ? '-' : parts.join('; ')
}

// An unlisted cache price equals the input price; the one-hour write price equals the other write price.
function cachePrices(prices: PriceTable | PriceTier): string[] {
  const { input, cacheRead, cacheWrite, cacheWriteLong } = prices
  return [
    ...(cacheRead === input ? [] : [`cache read ${perMillion(cacheRead)}/M`]),
    ...(cacheWrite === input ? [] : [`cache write ${perMillion(cacheWrite)}/M`]),
    ...(cacheWriteLong === cacheWrite ? [] : [`1 h cache write ${perMillion(cacheWriteLong)}/M`]),
  ]
}

const TOKEN_PRICES = [
  ['reasoning', 'reasoning'],
  ['imageOutput', 'image output'],
  ['audioOutput', 'audio output'],
  ['imageInputToken', 'image input'],
  ['audioInput', 'audio input'],
] as const

const FLAT_PRICES = [
  ['imageInput', 'input image'],
  ['imageFlat', 'generated image'],
  ['search', 'search'],
  ['request', 'request'],
] as const
