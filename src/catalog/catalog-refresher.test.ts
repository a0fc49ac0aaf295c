import { describe, expect, test } from 'vitest'
import {
  IMAGE_ARCHITECTURE,
  upstreamList,
  upstreamRow,
} from '../upstreams/openrouter/testing/upstream-list.ts'
import { Problem } from '../vocabulary/problem.ts'
import { DEFAULT_CATALOG_SETTINGS } from './catalog.ts'
import type { CatalogStore } from './catalog-store.ts'
import {
  type CatalogProcess,
  inputPrice,
  priced,
  refreshWith,
  startCatalogProcess,
  type Timer,
} from './testing/catalog-process.ts'

const REFRESH_MS = DEFAULT_CATALOG_SETTINGS.catalogRefreshMs

/** A store that has nothing and keeps nothing. */
const EMPTY_STORE: CatalogStore = { load: async () => null, save: async () => {} }

const startProcess = (input: { readonly store?: CatalogStore } = {}) =>
  startCatalogProcess({ store: EMPTY_STORE, ...input })

/** The only timer that is running; it is taken. */
function takeTimer({ timers }: CatalogProcess): Timer {
  const [timer, ...others] = timers
  if (timer === undefined || others.length > 0) throw new Error(`${timers.size} timers are running`)
  timers.delete(timer)
  return timer
}

describe('a refresh', () => {
  test('offers the models that the upstream lists', async () => {
    const process = startProcess()
    const outcome = await process.refresher.refreshNow()
    expect(outcome).toEqual({
      kind: 'refreshed',
      models: 1,
      skipped: [],
      doubts: [],
      storeFailure: null,
    })
    expect(inputPrice(process)).toBe(3_000_000n)
  })

  test('drops a model that is no longer listed', async () => {
    const process = startProcess()
    await process.refresher.refreshNow()
    await refreshWith(process, upstreamList(upstreamRow({ id: 'acme/next' })))
    expect(process.catalog.idOf('acme/sage-pro')).toBeNull()
  })

  test.each<[string, unknown]>([
    ['is malformed', { data: 'no' }],
    ['is empty', { data: [] }],
    ['is an error', { error: { code: 500 } }],
    [
      'can not be fetched',
      () => {
        throw new Error('refused')
      },
    ],
  ])('whose answer %s keeps the last good prices and makes them no younger', async (_, answer) => {
    const process = startProcess()
    await process.refresher.refreshNow()
    process.world.nowMs += DEFAULT_CATALOG_SETTINGS.pricesStaleAfterMs
    expect((await refreshWith(process, answer)).kind).toBe('failed')
    expect(inputPrice(process)).toBe(3_000_000n)
    process.world.nowMs++
    expect(() => inputPrice(process)).toThrow(Problem)
  })

  test('keeps a model whose row cannot be read until its own prices are stale', async () => {
    const process = startProcess()
    await process.refresher.refreshNow()
    const broken = upstreamList(
      upstreamRow({ id: 'acme/next' }),
      upstreamRow({ context_length: 'x' }),
    )
    process.world.nowMs += DEFAULT_CATALOG_SETTINGS.pricesStaleAfterMs
    await refreshWith(process, broken)
    expect(inputPrice(process)).toBe(3_000_000n)
    process.world.nowMs++
    expect(process.catalog.offerFor('acme/next', 'chat').modelId).toBe('acme/next')
    expect(() => inputPrice(process)).toThrow('have not been refreshed for over an hour')
  })

  test('that is requested during a refresh is that refresh', async () => {
    const process = startProcess()
    const [first, second] = [process.refresher.refreshNow(), process.refresher.refreshNow()]
    expect(second).toBe(first)
    await first
    expect(process.fetches()).toBe(1)
  })

  test('counts in memory when the store fails, and reports it', async () => {
    const failure = new Error('disk full')
    const failing: CatalogStore = { load: async () => null, save: () => Promise.reject(failure) }
    const process = startProcess({ store: failing })
    expect(await process.refresher.refreshNow()).toMatchObject({ storeFailure: failure })
    expect(inputPrice(process)).toBe(3_000_000n)
  })
})

test('prices that requests used while the store refused writes are stored with the next successful refresh', async () => {
  let isDown = true
  const saved: string[] = []
  const process = startProcess({
    store: {
      load: async () => null,
      async save({ snapshots }) {
        if (isDown) throw new Error('disk full')
        saved.push(...snapshots.map(({ id }) => id))
      },
    },
  })
  const ranAt: string[] = []
  for (const price of ['0.000003', '0.000004', '0.000005']) {
    isDown = price !== '0.000005'
    await refreshWith(process, upstreamList(priced(price)))
    ranAt.push(process.catalog.offerFor('acme/sage-pro', 'chat').priceSnapshotId)
  }
  expect(saved).toEqual(ranAt)
  await process.refresher.refreshNow()
  expect(saved).toEqual([...ranAt, ranAt[2]])
})

describe('a price', () => {
  test('that falls a hundredfold is believed at the third refresh, and named until then', async () => {
    const process = startProcess()
    await process.refresher.refreshNow()
    const seen: unknown[] = []
    for (let refresh = 0; refresh < 3; refresh++) {
      const outcome = await refreshWith(process, upstreamList(priced('0.00000003')))
      seen.push([inputPrice(process), outcome.kind === 'refreshed' && outcome.doubts])
    }
    const why = 'the input price fell from $3.00 to $0.03 per million tokens'
    const doubts = [{ modelId: 'acme/sage-pro', why }]
    expect(seen).toEqual([
      [3_000_000n, doubts],
      [3_000_000n, doubts],
      [30_000n, []],
    ])
  })

  test('that falls across a failed refresh is still believed at the third that counts', async () => {
    const process = startProcess()
    await process.refresher.refreshNow()
    const fallen = upstreamList(priced('0.00000003'))
    for (const answer of [fallen, { data: [] }, fallen, null]) await refreshWith(process, answer)
    expect(inputPrice(process)).toBe(3_000_000n)
    await refreshWith(process, fallen)
    expect(inputPrice(process)).toBe(30_000n)
  })
})

describe('a context window and a longest answer', () => {
  const sized = (contextTokens: number | null, outputTokensMax: number | null) =>
    upstreamList(
      upstreamRow({
        context_length: contextTokens,
        top_provider: { context_length: contextTokens, max_completion_tokens: outputTokensMax },
      }),
    )
  const sizesAfterEach = async (
    start: ReturnType<typeof sized>,
    listings: readonly ReturnType<typeof sized>[],
  ) => {
    const process = startProcess()
    await refreshWith(process, start)
    const seen: unknown[] = []
    for (const listing of listings) {
      const outcome = await refreshWith(process, listing)
      const { contextTokens, outputTokensMax } = process.catalog.offerFor('acme/sage-pro', 'chat')
      const doubted = outcome.kind === 'refreshed' && outcome.doubts.length > 0
      seen.push([contextTokens, outputTokensMax, doubted])
    }
    return seen
  }

  test('that fall to a tenth are believed at the third refresh, and named until then', async () => {
    const fallen = sized(20_000, 6_400)
    expect(await sizesAfterEach(sized(200_000, 64_000), [fallen, fallen, fallen])).toEqual([
      [200_000, 64_000, true],
      [200_000, 64_000, true],
      [20_000, 6_400, false],
    ])
  })

  test('that fall by less, rise, or are no longer listed count at once', async () => {
    const listings = [sized(20_001, 6_401), sized(900_000, 800_000), sized(null, null)]
    expect(await sizesAfterEach(sized(200_000, 64_000), listings)).toEqual([
      [20_001, 6_401, false],
      [900_000, 800_000, false],
      [null, null, false],
    ])
  })

  test('are doubted as holds count them: an unknown window is a million, and bounds an unknown answer', async () => {
    const listings = [sized(100_000, 64_000), sized(200_000, 20_000), sized(200_000, 20_001)]
    expect(await sizesAfterEach(sized(null, null), listings)).toEqual([
      [null, null, true],
      [200_000, null, true],
      [200_000, 20_001, false],
    ])
  })

  test('do not hold back a price that rises', async () => {
    const process = startProcess()
    await process.refresher.refreshNow()
    await refreshWith(
      process,
      upstreamList(
        upstreamRow({ context_length: 10, pricing: { prompt: '0.0003', completion: '0.000015' } }),
      ),
    )
    expect(inputPrice(process)).toBe(300_000_000n)
    expect(process.catalog.offerFor('acme/sage-pro', 'chat').contextTokens).toBe(1_000_000)
  })
})

describe('flat prices of images', () => {
  const image = upstreamRow({ id: 'acme/draw', architecture: IMAGE_ARCHITECTURE })
  const flat = (costUsd: number) => ({
    endpoints: [{ pricing: [{ billable: 'output_image', unit: 'image', cost_usd: costUsd }] }],
  })
  const flatPrice = ({ catalog }: CatalogProcess) =>
    catalog.offerFor('acme/draw', 'chat').prices.imageFlat

  test('are read for models that make images, and for no other', async () => {
    const process = startProcess()
    const asked: string[] = []
    process.world.imageAnswer = (modelId) => {
      asked.push(modelId)
      return flat(0.08)
    }
    await refreshWith(process, upstreamList(upstreamRow(), image))
    expect(asked).toEqual(['acme/draw'])
    expect(flatPrice(process)).toBe(80_000_000_000n)
  })

  test.each<[string, () => unknown]>([
    ['can not be fetched', () => Promise.reject(new Error('refused'))],
    ['make no sense', () => ({ endpoints: 'none' })],
  ])('that %s stay what they were', async (_, imageAnswer) => {
    const process = startProcess()
    process.world.imageAnswer = () => flat(0.08)
    await refreshWith(process, upstreamList(image))
    process.world.imageAnswer = imageAnswer
    for (let refresh = 0; refresh < 4; refresh++) await process.refresher.refreshNow()
    expect(flatPrice(process)).toBe(80_000_000_000n)
  })

  test('that cannot be fetched and never were are absent', async () => {
    const process = startProcess()
    process.world.imageAnswer = () => Promise.reject(new Error('refused'))
    await refreshWith(process, upstreamList(image))
    expect(flatPrice(process)).toBe(0n)
  })

  test('are not requested repeatedly from a failing upstream', async () => {
    const process = startProcess()
    let asked = 0
    process.world.imageAnswer = () => {
      asked++
      throw new Error('refused')
    }
    const rows = Array.from({ length: 10 }, (_, i) => ({ ...image, id: `acme/draw-${i}` }))
    await refreshWith(process, upstreamList(...rows))
    expect(asked).toBe(3)
    expect(process.catalog.rows()).toHaveLength(10)
  })
})

describe('the repetition', () => {
  test('refreshes at once and then every five minutes', async () => {
    const process = startProcess()
    process.refresher.start()
    await process.refresher.refreshNow()
    expect(process.fetches()).toBe(1)
    const timer = takeTimer(process)
    expect(timer.delayMs).toBe(REFRESH_MS)
    timer.run()
    await process.refresher.refreshNow()
    expect(process.fetches()).toBe(2)
    await process.refresher.stop()
  })

  test('starts with the wait if a refresh has already been tried', async () => {
    const process = startProcess()
    await process.refresher.refreshNow()
    expect(process.timers.size).toBe(0)
    process.refresher.start()
    expect(takeTimer(process).delayMs).toBe(REFRESH_MS)
    expect(process.fetches()).toBe(1)
    await process.refresher.stop()
  })

  test('retries sooner after failures, later after each, and as usual after a success', async () => {
    const process = startProcess()
    process.world.answer = null
    process.refresher.start()
    const delays: number[] = []
    for (let refresh = 0; refresh < 6; refresh++) {
      await process.refresher.refreshNow()
      const timer = takeTimer(process)
      delays.push(timer.delayMs / REFRESH_MS)
      if (refresh === 4) process.world.answer = upstreamList(upstreamRow())
      timer.run()
    }
    expect(delays).toEqual([0.1, 0.2, 0.4, 0.8, 1, 1])
    expect(process.outcomes.map(({ kind }) => kind)).toEqual([
      'failed',
      'failed',
      'failed',
      'failed',
      'failed',
      'refreshed',
    ])
    await process.refresher.stop()
  })

  test('ends with stop, which waits for the refresh that is under way', async () => {
    const process = startProcess()
    const { promise, resolve } = Promise.withResolvers<unknown>()
    process.world.answer = () => promise
    process.refresher.start()
    const stopped = process.refresher.stop()
    resolve(upstreamList(upstreamRow()))
    await stopped
    expect(process.outcomes.map(({ kind }) => kind)).toEqual(['refreshed'])
    expect(process.timers.size).toBe(0)
  })

  test('begins at once at the first look-up after the clock stepped forward over an hour, and the prices are current again', async () => {
    const process = startProcess()
    process.refresher.start()
    await process.refresher.refreshNow()
    process.world.nowMs += 2 * DEFAULT_CATALOG_SETTINGS.pricesStaleAfterMs
    expect(() => inputPrice(process)).toThrow('have not been refreshed for over an hour')
    expect(process.fetches()).toBe(2)
    // Joins the one that has begun.
    await process.refresher.refreshNow()
    expect(process.fetches()).toBe(2)
    expect(inputPrice(process)).toBe(3_000_000n)
    expect(process.timers.size).toBe(1)
    await process.refresher.stop()
  })

  test('asks a failing upstream once after such a step, however many look-ups find its prices stale', async () => {
    const process = startProcess()
    process.refresher.start()
    await process.refresher.refreshNow()
    process.world.answer = null
    process.world.nowMs += 2 * DEFAULT_CATALOG_SETTINGS.pricesStaleAfterMs
    expect(() => inputPrice(process)).toThrow(Problem)
    expect(process.fetches()).toBe(2)
    await process.refresher.refreshNow()
    for (let lookUp = 0; lookUp < 3; lookUp++) {
      expect(() => inputPrice(process)).toThrow(Problem)
    }
    await process.refresher.stop()
    expect(process.fetches()).toBe(2)
  })

  test('has only one timer, even with refreshes on demand in between', async () => {
    const process = startProcess()
    process.refresher.start()
    for (let refresh = 0; refresh < 3; refresh++) await process.refresher.refreshNow()
    expect(process.timers.size).toBe(1)
    await process.refresher.stop()
    expect(process.timers.size).toBe(0)
  })
})
