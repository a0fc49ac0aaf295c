import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chargeMost, onlyShort, type Plant } from './charge-most.ts'
import { bodiesOf, countBody, expectFound, seed, type Tally } from './hold-search.ts'
import { type RandomBody, ROWS, randomBody, randomImagesBody } from './random-bodies.ts'

/**
 * Bodies of all formats are searched for a charge above the hold. The provider bills the most that a
 * body allows as it was sent upstream. A run prints its seed and how much it searched; a seed in
 * `HOLD_SEARCH_SEED` runs the same search again.
 */

const bodies = bodiesOf(3_000)

const fee = fc.oneof(fc.constantFrom(0, 500, 10_000), fc.integer({ min: 0, max: 10_000 }))
const share = fc.oneof(fc.constant(1), fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true }))

/** Counts what becomes of each body, and fails at a charge above the hold. */
function neverCharged(tally: Tally, plant: Plant = {}) {
  const parts = { request: randomBody, grantedShare: share, reportsCost: fc.boolean() }
  return fc.property(fc.record({ ...parts, feeBasisPoints: fee }), (input) => {
    countBody(tally, { ...input, plant })
  })
}

test('no body is charged above its hold, even if the provider bills the most that it can', () => {
  const tally = { charged: 0, refused: 0 }
  try {
    fc.assert(neverCharged(tally), { seed, numRuns: bodies })
  } finally {
    console.log(
      `HOLD_SEARCH_SEED=${seed}: ${tally.charged} bodies charged, ${tally.refused} refused`,
    )
  }
  expect(tally.charged).toBeGreaterThan(tally.refused)
})

test('images are held at their own figure, to the micro-dollar', () => {
  fc.assert(
    fc.property(randomImagesBody, (request) => {
      const { heldMicros } = chargeMost({ request, grantedShare: 1, reportsCost: true })
      expect(heldMicros).toBe(imagesFigureMicros(request))
    }),
    { seed, numRuns: 300 },
  )
})

/** SPEC's figure: the greatest of $0.20, the price of an input image and 8,192 image tokens, for each. */
function imagesFigureMicros({ body }: RandomBody): number {
  const pricing = ROWS.find(({ id }) => id === body['model'])?.pricing
  const eachUsd = Math.max(
    0.2,
    Number(pricing?.image ?? 0),
    8_192 * Number(pricing?.image_output ?? 0),
  )
  const picos = Math.round((eachUsd + Number(pricing?.request ?? 0)) * 1e12)
  return Math.ceil((picos * Number(body['n'] ?? 1)) / 1e6)
}

describe('the same search finds that', () => {
  // Holds with a fault: a search that found none of them would prove nothing.
  const PLANTS: readonly (readonly [string, Plant])[] = [
    [
      'a cap is held at the listed maximum and sent as it is',
      {
        call: ({ outputCapTokens }, { outputTokensMax }) => ({
          outputCapTokens:
            outputCapTokens === null || outputTokensMax === null
              ? outputCapTokens
              : Math.min(outputCapTokens, outputTokensMax),
        }),
      },
    ],
    ['a more expensive tier is held as any other', { call: () => ({ priorityTier: false }) }],
    ['the prices of a faster sibling are not looked at', { offer: slower }],
    ['a prediction is held as input alone', { call: () => ({ predictionTokens: 0 }) }],
    ['a summary is not held', { call: () => ({ compacts: false }) }],
    ['a budget for reasoning is not looked at', { call: () => ({ reasoningTokens: 0 }) }],
    ['one completion is held of several', { call: () => ({ completions: 1 }) }],
    ['a cache mark is not seen', { call: () => ({ cacheWrites: 'none' }) }],
    ['a cache mark of an hour is held as one of five minutes', { call: onlyShort }],
    [
      'searches are not held',
      { call: ({ tools }) => ({ tools: { ...tools, serverTools: false } }) },
    ],
    ['one search is held of thirty', { call: ({ tools }) => ({ tools: { ...tools, steps: 1 } }) }],
    [
      'as many searches are sent as the client asked for',
      { rewrites: (edit) => !['max_tool_calls', 'max_uses'].includes(String(edit.path.at(-1))) },
    ],
    [
      'the cap that was held is not sent',
      {
        rewrites: (edit) => !['max_tokens', 'max_completion_tokens'].includes(String(edit.path[0])),
      },
    ],
    ['a file counts as its text', { call: ({ media }) => ({ media: { ...media, files: 0 } }) }],
    [
      'an image by URL counts as its address',
      { call: ({ media }) => ({ media: { ...media, imagesByUrl: 0 } }) },
    ],
    [
      'images that come with an answer are held as text',
      {
        call: () => ({ outputKinds: { image: false, audio: false } }),
        offer: () => ({ outputModalities: new Set(['text']) }),
      },
    ],
    ['higher prices of long prompts are not seen', { offer: untiered }],
    ['the price of thoughts is not seen', { offer: thoughtless }],
  ]

  function slower(): { readonly fastPrices: null } {
    return { fastPrices: null }
  }

  function untiered({ prices }: Parameters<NonNullable<Plant['offer']>>[0]) {
    return { prices: { ...prices, tiers: [] } }
  }

  function thoughtless({ prices }: Parameters<NonNullable<Plant['offer']>>[0]) {
    return { prices: { ...prices, reasoning: 0n } }
  }

  test.each(PLANTS)('%s', (_, plant) => {
    expectFound(neverCharged({ charged: 0, refused: 0 }, plant), 2 * bodies)
  })
})
