import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { VendorName } from '../../simulator/vendors.ts'
import { onlyShort, type Plant } from './charge-most.ts'
import { bodiesOf, countBody, expectFound, seed, type Tally } from './hold-search.ts'
import { type HoldWorld, modelIdsOf, vendorWorld } from './hold-worlds.ts'
import { type RandomBody, randomBody } from './random-bodies.ts'

/**
 * The search for a charge above the hold under each dialect that bills by counts, with the vendor's own models and
 * prices. A run prints its seed; a seed in `HOLD_SEARCH_SEED` runs the same search again.
 */

const bodies = bodiesOf(3_000)

const share = fc.oneof(fc.constant(1), fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true }))

/** A search proves something only if it finds planted faults: for each dialect, holds with a fault. */
const PLANTS: Readonly<Record<VendorName, readonly (readonly [string, Plant])[]>> = {
  openai: [
    ['higher prices of long prompts are not seen', { offer: untiered }],
    ['a cap is held at half', { call: halfCap }],
    ['the cap that was held is not sent', { rewrites: isNot('max_completion_tokens') }],
    ['one completion is held of several', { call: () => ({ completions: 1 }) }],
  ],
  anthropic: [
    ['a cache mark is not seen', { call: () => ({ cacheWrites: 'none' }) }],
    ['a cache mark of an hour is held as one of five minutes', { call: onlyShort }],
    [
      'searches are not held',
      { call: ({ tools }) => ({ tools: { ...tools, serverTools: false } }) },
    ],
    ['as many searches are sent as the client asked for', { rewrites: isNot('max_uses') }],
    ['a cap is held at half', { call: halfCap }],
  ],
  'openai-compatible': [
    ['the price of thoughts is not seen', { offer: thoughtless }],
    ['the cap that was held is not sent', { rewrites: isNot('max_tokens') }],
    ['one completion is held of several', { call: () => ({ completions: 1 }) }],
    ['a file counts as its text', { call: ({ media }) => ({ media: { ...media, files: 0 } }) }],
  ],
}

function isNot(name: string): NonNullable<Plant['rewrites']> {
  return ({ path }) => path.at(-1) !== name
}

function halfCap({ outputCapTokens }: Parameters<NonNullable<Plant['call']>>[0]) {
  return { outputCapTokens: outputCapTokens === null ? null : Math.ceil(outputCapTokens / 2) }
}

function untiered({ prices }: Parameters<NonNullable<Plant['offer']>>[0]) {
  return { prices: { ...prices, tiers: [] } }
}

function thoughtless({ prices }: Parameters<NonNullable<Plant['offer']>>[0]) {
  return { prices: { ...prices, reasoning: 0n } }
}

describe.each<VendorName>(['openai', 'anthropic', 'openai-compatible'])('%s', (vendor) => {
  let world: HoldWorld
  let modelIds: ReturnType<typeof modelIdsOf>

  beforeAll(async () => {
    world = await vendorWorld(vendor)
    modelIds = modelIdsOf(world)
  })

  /** A body for one of the vendor's models. By position: a body for OpenRouter, and which model. */
  function ofVendor({ endpoint, body }: RandomBody, place: number): RandomBody {
    // The vendor refuses fields that only OpenRouter has.
    const { plugins: _, ...rest } = body
    const ids = modelIds[endpoint === 'embeddings' ? 'embeddings' : 'text']
    return { endpoint, body: { ...rest, model: ids[place % ids.length] } }
  }

  /** Counts what becomes of each body, and fails at a charge above the hold. */
  function neverCharged(tally: Tally, plant: Plant = {}) {
    const spoken = randomBody.filter(({ endpoint }) => world.wires.has(endpoint))
    return fc.property(spoken, fc.nat(), share, (random, place, grantedShare) => {
      const request = ofVendor(random, place)
      const input = { request, grantedShare, reportsCost: true, plant, world }
      countBody(tally, input)
    })
  }

  test('no body is charged above its hold, even if the vendor counts the most that it can', () => {
    const tally = { charged: 0, refused: 0 }
    try {
      fc.assert(neverCharged(tally), { seed, numRuns: bodies })
    } finally {
      const { charged, refused } = tally
      console.log(`HOLD_SEARCH_SEED=${seed}: ${vendor}: ${charged} charged, ${refused} refused`)
    }
    expect(tally.charged).toBeGreaterThan(bodies / 12)
  })

  describe('the same search finds that', () => {
    test.each(PLANTS[vendor])('%s', (_, plant) => {
      expectFound(neverCharged({ charged: 0, refused: 0 }, plant), 2 * bodies)
    })
  })
})
