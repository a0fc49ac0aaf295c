import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { VendorName } from '../../simulator/vendors.ts'
import { valuesOf } from '../dialects/field-values.ts'
import type { Plant } from './charge-most.ts'
import { bodiesOf, countBody, expectFound, seed, type Tally } from './hold-search.ts'
import { type HoldWorld, modelIdsOf, vendorWorld } from './hold-worlds.ts'
import { type RandomBody, randomBody } from './random-bodies.ts'

/**
 * The search for a field that a table lets pass and no hold covers: bodies with any of the listed fields, sent to a vendor
 * that obeys all of them and does the most that they let it. A run prints its seed; a seed in `HOLD_SEARCH_SEED` runs the
 * same search again.
 */

const bodies = bodiesOf(1_000)

const ONE_COMPLETION: Plant = { call: () => ({ completions: 1 }) }

/** A search proves something only if it finds planted faults. */
const PLANTS: Readonly<Record<VendorName, readonly (readonly [string, Plant])[]>> = {
  openai: [
    ['several completions are held as one', ONE_COMPLETION],
    ['a prediction is not held', { call: () => ({ predictionTokens: 0 }) }],
  ],
  anthropic: [
    ['a cache mark is not seen', { call: () => ({ cacheWrites: 'none' }) }],
    ['`thread` passes', { unread: { thread: { type: 'continue', previous_message_id: 'msg_1' } } }],
  ],
  'openai-compatible': [
    ['several completions are held as one', ONE_COMPLETION],
    ['thoughts beside the cap are not held', { call: () => ({ thinkingTokens: 0 }) }],
    ['`n_predict` passes', { unread: { n_predict: 100_000 } }],
  ],
}

describe.each<VendorName>(['openai', 'anthropic', 'openai-compatible'])('%s', (vendor) => {
  let world: HoldWorld
  let modelIds: ReturnType<typeof modelIdsOf>

  beforeAll(async () => {
    world = await vendorWorld(vendor)
    modelIds = modelIdsOf(world)
  })

  /** A body with its own model and conversation, and any of the fields that its table lists. */
  function listedBody(): fc.Arbitrary<RandomBody> {
    const spoken = randomBody.filter(({ endpoint }) => world.wires.has(endpoint))
    return fc.tuple(spoken, fc.nat()).chain(([{ endpoint, body }, place]) => {
      const rows = Object.entries(world.wires.get(endpoint)?.fields ?? {})
      const names = rows.filter(([, { use }]) => use !== 'refused').map(([name]) => name)
      const held = rows.filter(([, { use }]) => use === 'held').map(([name]) => name)
      const ids = modelIds[endpoint === 'embeddings' ? 'embeddings' : 'text']
      // The least of each format: a conversation, and the cap that messages and responses need.
      const { messages, prompt, input, max_tokens, max_output_tokens } = body
      const least = {
        messages,
        prompt,
        input,
        max_tokens,
        max_output_tokens,
        model: ids[place % ids.length],
      }
      return fc
        .tuple(fc.subarray(names, { maxLength: Math.min(names.length, 12) }), fc.subarray(held))
        .chain(([some, ofHold]) => membersOf([...new Set([...some, ...ofHold])], endpoint))
        .map((members) => ({ endpoint, body: { ...least, ...members } }))
    })
  }

  function membersOf(names: readonly string[], endpoint: string) {
    const values = names.map((name) => {
      const known = valuesOf(name, endpoint)
      if (known === null)
        return fc.jsonValue({ maxDepth: 1 }).map((value) => [name, value] as const)
      return known.length === 0
        ? fc.constant(null)
        : fc.constantFrom(...known).map((value) => [name, value] as const)
    })
    return fc.tuple(...values).map((all) => Object.fromEntries(all.filter((each) => each !== null)))
  }

  interface FieldTally extends Tally {
    /** Formats and fields of charged bodies. */
    readonly names: Set<string>
  }

  function neverAboveHold(tally: FieldTally, plant: Plant = {}) {
    return fc.property(
      listedBody(),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (request, share) => {
        const input = { request, grantedShare: share, reportsCost: true, plant, world }
        if (!countBody(tally, input)) return
        for (const name of Object.keys(request.body)) tally.names.add(`${request.endpoint} ${name}`)
      },
    )
  }

  test('no body of listed fields is charged above its hold, even if the vendor bills the most that they allow', () => {
    const tally: FieldTally = { charged: 0, refused: 0, names: new Set() }
    try {
      fc.assert(neverAboveHold(tally), { seed, numRuns: bodies })
    } finally {
      console.log(`HOLD_SEARCH_SEED=${seed}: ${vendor}: ${tally.charged} of ${bodies} charged`)
    }
    expect(tally.charged).toBeGreaterThan(bodies / 20)
    // OpenAI has no model of legacy completions any more.
    const charged = [...world.wires].filter(([endpoint]) => tally.names.has(`${endpoint} model`))
    const held = charged.flatMap(([endpoint, { fields = {} }]) =>
      Object.keys(fields)
        .filter((name) => fields[name]?.use === 'held')
        .map((name) => `${endpoint} ${name}`),
    )
    expect([...tally.names]).toEqual(expect.arrayContaining(held))
  })

  test.each(PLANTS[vendor])('the same search finds that %s', (_, plant) => {
    const tally = { charged: 0, refused: 0, names: new Set<string>() }
    expectFound(neverAboveHold(tally, plant), 2 * bodies)
  })
})
