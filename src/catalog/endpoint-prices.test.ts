import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EndpointsRefused, parseEndpointTerms } from '../upstreams/openrouter/catalog.ts'
import { upstreamList, upstreamRow } from '../upstreams/openrouter/testing/upstream-list.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import type { CatalogStore, StoredCatalog } from './catalog-store.ts'
import { refreshWith, startCatalogProcess } from './testing/catalog-process.ts'

const EMPTY_STORE: CatalogStore = { load: async () => null, save: async () => {} }
const ID = 'acme/sage-pro'

const endpoint = (prompt: string, more: object = {}) => ({
  provider_name: 'Acme',
  tag: 'acme',
  pricing: { prompt, completion: '0.000015', ...more },
})
const listing = (...endpoints: unknown[]) => ({ data: { id: ID, endpoints } })

/** A process whose catalog lists one model at 3 micro-dollars a token in. */
async function startProcess(store: CatalogStore = EMPTY_STORE) {
  const process = startCatalogProcess({ store })
  await process.refresher.refreshNow()
  const asked: string[] = []
  return {
    ...process,
    asked,
    answer(answer: unknown) {
      process.world.endpointsAnswer = (modelId) => {
        asked.push(modelId)
        return typeof answer === 'function' ? answer() : answer
      }
    },
    held: async () => process.endpoints.holdOffer(process.catalog.offerFor(ID, 'chat')),
    refresh: () => process.endpoints.refresh(process.catalog.modelIds),
  }
}

const refuse = () => Promise.reject(new Error('refused'))

describe('a hold', () => {
  test('takes the highest of each price that any endpoint of the model has', async () => {
    const process = await startProcess()
    process.answer(
      listing(
        endpoint('0.000003'),
        endpoint('0.000001', { request: '0.01', input_cache_write: '0.00009' }),
        endpoint('0.000005', { completion: '0.000001', web_search: '0.02' }),
      ),
    )
    const { prices } = await process.held()
    expect(prices).toMatchObject({
      input: 5_000_000n,
      output: 15_000_000n,
      cacheWrite: 90_000_000n,
      request: 10_000_000_000n,
      search: 20_000_000_000n,
    })
    expect(process.catalog.offerFor(ID, 'chat').prices.input).toBe(3_000_000n)
  })

  test.each([
    ['larger than the listed one', [4_000_000, 1_000_000], 4_000_000],
    ['smaller than the listed one', [32_768], 1_000_000],
    ['that is no number', ['4000000', null, -1], 1_000_000],
  ])('takes the largest window of the model: of an endpoint %s', async (_, windows, held) => {
    const process = await startProcess()
    const withWindow = (window: unknown) => ({ ...endpoint('0.000003'), context_length: window })
    process.answer(listing(endpoint('0.000003'), ...windows.map(withWindow)))
    expect((await process.held()).contextTokens).toBe(held)
    expect(process.catalog.offerFor(ID, 'chat').contextTokens).toBe(1_000_000)
  })

  test('takes the most expensive tier at every prompt size', async () => {
    const process = await startProcess()
    const override = (above: number, prompt: string) => ({
      overrides: [{ min_prompt_tokens: above, prompt }],
    })
    process.answer(
      listing(
        endpoint('0.000003', override(200, '0.000006')),
        endpoint('0.000004', override(100, '0.000005')),
      ),
    )
    const { prices } = await process.held()
    expect([
      prices.input,
      ...prices.tiers.map((tier) => [tier.inputTokensAbove, tier.input]),
    ]).toEqual([4_000_000n, [100, 5_000_000n], [200, 6_000_000n]])
  })

  test('never takes less than the catalog lists, also after the list has risen', async () => {
    const process = await startProcess()
    process.answer(listing(endpoint('0.000004')))
    expect((await process.held()).prices.input).toBe(4_000_000n)
    const risen = upstreamRow({ pricing: { prompt: '0.00007', completion: '0.000015' } })
    await refreshWith(process, upstreamList(risen))
    expect((await process.held()).prices.input).toBe(70_000_000n)
  })

  test('changes nothing else about the offer', async () => {
    const process = await startProcess()
    process.answer(listing(endpoint('0.000009')))
    const { prices: _, ...held } = await process.held()
    const { prices: __, ...listed } = process.catalog.offerFor(ID, 'chat')
    expect(held).toEqual(listed)
  })
})

describe('endpoints are read', () => {
  test('once for all requests that arrive before the prices do, and not again for later requests', async () => {
    const process = await startProcess()
    const { promise, resolve } = Promise.withResolvers<unknown>()
    process.answer(() => promise)
    const waiting = Array.from({ length: 100 }, () => process.held())
    resolve(listing(endpoint('0.000008')))
    for (const { prices } of await Promise.all(waiting)) expect(prices.input).toBe(8_000_000n)
    const offer = process.catalog.offerFor(ID, 'chat')
    expect(process.endpoints.holdOffer(offer)).toBe(process.endpoints.holdOffer(offer))
    expect(process.asked).toEqual([ID])
  })

  test('with each refresh for as long as the model was used within a day', async () => {
    const process = await startProcess()
    process.answer(listing(endpoint('0.000004')))
    await process.held()
    process.world.nowMs += 23 * HOUR_MS
    process.answer(listing(endpoint('0.000007')))
    await process.refresh()
    process.world.nowMs = process.world.nowMs - 23 * HOUR_MS + 1
    expect((await process.held()).prices.input).toBe(7_000_000n)
    expect(process.asked).toHaveLength(2)
    process.world.nowMs += 24 * HOUR_MS + 1
    await process.refresh()
    expect(process.asked).toHaveLength(2)
  })

  test('of no model that is no longer listed', async () => {
    const process = await startProcess()
    process.answer(listing(endpoint('0.000004')))
    await process.held()
    await process.endpoints.refresh(new Set(['acme/other']))
    expect(process.asked).toHaveLength(1)
  })
})

describe('endpoints that cannot be read', () => {
  test('leave the listed price, counted each time and reported once a change', async () => {
    const process = await startProcess()
    process.answer(refuse)
    expect(await process.held()).toBe(process.catalog.offerFor(ID, 'chat'))
    await process.refresh()
    process.answer(listing(endpoint('0.000008')))
    await process.refresh()
    await process.refresh()
    expect((await process.held()).prices.input).toBe(8_000_000n)
    expect(process.reads.map(({ failure, isChange }) => [failure !== null, isChange])).toEqual([
      [true, true],
      [true, false],
      [false, true],
      [false, false],
    ])
  })

  test('are not asked for again by the next request', async () => {
    const process = await startProcess()
    process.answer(refuse)
    await process.held()
    await process.held()
    expect(process.asked).toHaveLength(1)
  })

  test('leave earlier prices unchanged', async () => {
    const process = await startProcess()
    process.answer(listing(endpoint('0.000008')))
    await process.held()
    for (const answer of [refuse, 'nonsense', listing(), listing(endpoint('-1'))]) {
      process.answer(answer)
      await process.refresh()
      expect((await process.held()).prices.input).toBe(8_000_000n)
    }
  })

  test('are given up when the process stops', async () => {
    const process = await startProcess()
    process.answer(refuse)
    await process.held()
    await process.endpoints.stop()
    await process.refresh()
    expect(process.asked).toHaveLength(1)
  })
})

test('a price that falls more than tenfold is believed at the third reading', async () => {
  const process = await startProcess()
  process.answer(listing(endpoint('0.0008')))
  await process.held()
  process.answer(listing(endpoint('0.000008')))
  const seen: bigint[] = []
  for (let reading = 0; reading < 3; reading++) {
    await process.refresh()
    seen.push((await process.held()).prices.input)
  }
  expect(seen).toEqual([800_000_000n, 800_000_000n, 8_000_000n])
})

test('a restart has the stored prices, and waits for nothing', async () => {
  let saved: StoredCatalog | null = null
  const store: CatalogStore = {
    load: async () => saved,
    async save(refresh) {
      saved = refresh
    },
  }
  const before = await startProcess(store)
  before.answer(listing(endpoint('0.000008')))
  await before.held()
  await before.refresher.refreshNow()
  const after = startCatalogProcess({ store })
  await after.refresher.load()
  const held = after.endpoints.holdOffer(after.catalog.offerFor(ID, 'chat'))
  expect(held).not.toBeInstanceOf(Promise)
  expect((await held).prices.input).toBe(8_000_000n)
  expect(after.reads).toEqual([])
})

describe('a list of endpoints is refused', () => {
  const tiers = (count: number, from: number) => ({
    overrides: Array.from({ length: count }, (_, i) => ({
      min_prompt_tokens: from + i,
      prompt: `0.${String(from + i).padStart(6, '0')}`,
    })),
  })
  test.each<[string, unknown]>([
    ['that is nothing', null],
    ['that is an error', { error: { code: 500 } }],
    ['without endpoints', listing()],
    ['of the wrong type', { data: { endpoints: { 0: endpoint('0.1') } } }],
    ['with one that is no object', listing(endpoint('0.1'), 'x')],
    ['with one without prices', listing(endpoint('0.1'), { pricing: null })],
    ['with one whose price is negative', listing(endpoint('0.1'), endpoint('-0.1'))],
    ['with one whose price is no number', listing(endpoint('0.1'), endpoint('NaN'))],
    ['with more of them than there can be', listing(...new Array(257).fill(endpoint('0.1')))],
    ['with too many prices in one', listing(endpoint('0.1', tiers(33, 200_000)))],
    [
      'with too many prices in all',
      listing(...Array.from({ length: 5 }, (_, i) => endpoint('0.1', tiers(10, 200_000 + 10 * i)))),
    ],
  ])('%s', (_, answer) => {
    expect(() => parseEndpointTerms(answer)).toThrow(EndpointsRefused)
  })

  test('and nothing else is ever thrown', () => {
    const damaged = fc.oneof(fc.jsonValue(), fc.record({ pricing: fc.jsonValue() }))
    fc.assert(
      fc.property(
        fc.oneof(
          fc.jsonValue(),
          fc.array(damaged).map((list) => listing(...list)),
        ),
        (answer) => {
          try {
            parseEndpointTerms(answer)
          } catch (error) {
            expect(error).toBeInstanceOf(EndpointsRefused)
          }
        },
      ),
    )
  })
})
