import { type Picos, parsePrice } from '../../vocabulary/money.ts'
import type { PriceTable } from '../../vocabulary/offer.ts'
import { readRecord } from '../listing/json-reading.ts'
import { decimalText, parsePricing } from '../listing/parse-pricing.ts'
import { dearestTable } from '../listing/price-table.ts'
import { RowRefusal } from '../listing/row-refusal.ts'

// No model has as many providers, nor prices at as many sizes; comparing tables takes their product.
const ENDPOINTS_MAX = 256
const ENDPOINT_TIERS_MAX = 32

/** A list of a model's endpoints that can't be believed. */
export class EndpointsRefused extends Error {
  override readonly name = 'EndpointsRefused'
}

/**
 * The dearest prices in an answer of `/models/{id}/endpoints`, price by price. Throws EndpointsRefused
 * where it lists none, or any whose prices can't be read: that one may be the dearest.
 */
export function parseEndpointPrices(answer: unknown): PriceTable {
  const endpoints = readRecord(readRecord(answer)?.['data'])?.['endpoints']
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    throw new EndpointsRefused('the answer lists no endpoints of the model')
  }
  if (endpoints.length > ENDPOINTS_MAX)
    throw new EndpointsRefused('the list has too many endpoints')
  return endpoints.map(endpointPrices).reduce((dearest, prices) => {
    const table = dearestTable(dearest, prices)
    if (table.tiers.length <= ENDPOINT_TIERS_MAX) return table
    throw new EndpointsRefused('the endpoints have prices for too many prompt sizes')
  })
}

function endpointPrices(endpoint: unknown): PriceTable {
  try {
    const { prices } = parsePricing(readRecord(endpoint)?.['pricing'])
    if (prices.tiers.length <= ENDPOINT_TIERS_MAX) return prices
  } catch (error) {
    if (!(error instanceof RowRefusal)) throw error
  }
  // The refusal's own words name a price that the provider chose: they go into no log.
  throw new EndpointsRefused('the prices of an endpoint can not be read')
}

/**
 * The dearest flat price of one generated image in an answer of `/images/models/{id}/endpoints`: of
 * all providers, at every resolution. Zero where it lists none; null where it can't be read.
 */
export function parseFlatImagePrice(answer: unknown): Picos | null {
  const endpoints = readRecord(answer)?.['endpoints']
  if (!Array.isArray(endpoints)) return null
  let dearest = 0n
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
      if (price > dearest) dearest = price
    }
  }
  return dearest
}
