import { expect, test } from 'vitest'
import { parseRow } from '../upstreams/listing/listing.ts'
import { tenPercentMore } from '../upstreams/listing/price-table.ts'
import { upstreamRow } from '../upstreams/openrouter/testing/upstream-list.ts'
import { decodeModel, encodeModel, withFigures } from './catalog-store.ts'

const SETTINGS = {
  upstream: 'acme',
  perSearchIdsAdded: new Set<string>(),
  perSearchIdsRemoved: new Set<string>(),
  fees: { everyModel: 500, models: new Map() },
}

function regionalModel() {
  const parsed = parseRow(upstreamRow(), SETTINGS)
  if (parsed.kind !== 'model') throw new Error('the row is no model')
  const { listing, offer } = parsed
  const regionalPrices = tenPercentMore(offer.prices)
  return { listing, aliases: [], refreshedAtMs: 1, offer: { ...offer, regionalPrices } }
}

test('a stored model keeps its prices within a region, by which answers are charged after a restart', () => {
  const row = regionalModel()
  const at = { catalogRefreshedAtMs: 1 }
  const { itemJson } = encodeModel({ ...at, row, endpointsJson: null, written: null })
  const stored = decodeModel({ ...at, itemJson, settings: SETTINGS })
  expect(stored?.offer.regionalPrices).toEqual(row.offer.regionalPrices)
})

test('a stored model keeps what its server adds to a call, by which its holds are sized after a restart', () => {
  const model = regionalModel()
  const row = {
    ...model,
    offer: { ...model.offer, uncappedThinkingTokens: 32_768, marksUnmarked: true as const },
  }
  const at = { catalogRefreshedAtMs: 1 }
  const { itemJson } = encodeModel({ ...at, row, endpointsJson: null, written: null })
  const stored = decodeModel({ ...at, itemJson, settings: SETTINGS })
  expect(stored?.offer).toMatchObject({ uncappedThinkingTokens: 32_768, marksUnmarked: true })
})

test('while a decrease of prices is doubted, those within a region stay above the others', () => {
  const { offer, ...model } = regionalModel()
  const prices = { ...offer.prices, input: 20n * offer.prices.input }
  const believed = withFigures({ ...model, offer }, { ...offer, prices })
  expect(believed.offer.regionalPrices).toEqual(tenPercentMore(prices))
})
