import { expect, test } from 'vitest'
import { DEFAULT_CATALOG_SETTINGS } from '../../catalog/catalog.ts'
import { parseRow } from '../../upstreams/listing/listing.ts'
import { upstreamRow } from '../../upstreams/openrouter/testing/upstream-list.ts'
import { NO_MEDIA } from '../../vocabulary/testing/no-media.ts'
import { sizeHold } from './hold.ts'
import { callWith, type TestCall } from './testing/offers.ts'

/** A hold includes every listed price that can raise a charge. */

type Listed = Readonly<Record<string, unknown>>

const ORDINARY: Listed = { prompt: '0.000001', completion: '0.000002' }

/** The call's hold at these listed prices, in micro-dollars. */
function holdAt(pricing: Listed, fields: Partial<TestCall>): number {
  const row = upstreamRow({
    pricing,
    architecture: { input_modalities: ['text'], output_modalities: ['text', 'image', 'audio'] },
  })
  const parsed = parseRow(row, DEFAULT_CATALOG_SETTINGS)
  if (parsed.kind !== 'model') throw new Error('the row is no model')
  return sizeHold(callWith(fields), parsed.offer).neededMicros
}

const media = (some: Partial<typeof NO_MEDIA>): Partial<TestCall> => ({
  media: { ...NO_MEDIA, ...some },
})
const SEARCHING: Partial<TestCall> = {
  tools: { clientTools: 0, serverTools: true, steps: 3, searchResultTokens: 8_000 },
}

/** Each price by its documented name, with calls that it can be charged for. */
const CHARGED: readonly (readonly [string, string, Partial<TestCall>])[] = [
  ['prompt', '0.00001', {}],
  ['prompt', '0.00001', { endpoint: 'embeddings' }],
  ['completion', '0.00001', {}],
  ['request', '0.01', {}],
  ['request', '0.01', { endpoint: 'images' }],
  ['image', '0.5', media({ imagesInline: 1 })],
  ['image', '5', media({ imagesByUrl: 1 })],
  ['image', '0.5', { endpoint: 'images' }],
  ['image_token', '0.00001', media({ imagesInline: 1 })],
  ['image_token', '0.00001', media({ imagesByUrl: 1 })],
  ['image_token', '0.00001', { endpoint: 'images', ...media({ imagesByUrl: 1 }) }],
  ['image_output', '0.0001', {}],
  ['image_output', '0.0001', { endpoint: 'images' }],
  ['audio', '0.00001', media({ videosByUrl: 1 })],
  ['audio', '0.00001', media({ videosInline: 1 })],
  ['audio_output', '0.0001', {}],
  ['input_audio_cache', '0.00001', media({ videosByUrl: 1 })],
  ['web_search', '0.05', SEARCHING],
  ['internal_reasoning', '0.00001', {}],
  ['input_cache_read', '0.00001', {}],
  ['input_cache_write', '0.00001', {}],
  ['input_cache_write_1h', '0.00001', { cacheWrites: 'long' }],
]

test.each(CHARGED)('%s at %s is held', (name, price, fields) => {
  const ordinary = holdAt(ORDINARY, fields)
  expect(holdAt({ ...ORDINARY, [name]: price }, fields)).toBeGreaterThan(ordinary)
})

test.each(CHARGED)('%s at %s is held if a condition may apply it', (name, price, fields) => {
  const overrides = [{ utc_start: 0, utc_end: 2400, [name]: price }]
  expect(holdAt({ ...ORDINARY, overrides }, fields)).toBe(
    holdAt({ ...ORDINARY, [name]: price }, fields),
  )
})

test('a discount does not lower the hold', () => {
  expect(holdAt({ ...ORDINARY, discount: 0.5 }, {})).toBe(holdAt(ORDINARY, {}))
})
