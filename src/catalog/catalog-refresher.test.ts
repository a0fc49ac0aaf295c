import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openStore, type Store } from '../store/open-store.ts'
import { Problem } from '../vocabulary/problem.ts'
import { Catalog } from './catalog.ts'
import { createCatalogRefresher, type RefreshOutcome } from './catalog-refresher.ts'
import { createCatalogStore } from './catalog-store.ts'
import { IMAGE_ARCHITECTURE, upstreamList, upstreamRow } from './fixtures/upstream-list.ts'
import { DEFAULT_CATALOG_SETTINGS } from './settings.ts'
import type { CatalogStore } from './stored-catalog.ts'

const START_MS = 1_790_000_000_000
const REFRESH_MS = DEFAULT_CATALOG_SETTINGS.catalogRefreshMs
const SOURCE = 'https://upstream.example/v1'

let folder: string
let store: Store

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-catalog-'))
  store = await openStore({ url: `sqlite:${join(folder, 'test.db')}` })
})

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

interface Timer {
  readonly delayMs: number
  readonly run: () => void
}

interface World {
  /** What the upstream answers next; a function is called for it and may throw. */
  answer: unknown
  imageAnswer: (modelId: string) => unknown
  nowMs: number
}

interface ProcessInput {
  readonly source?: string
  readonly store?: CatalogStore
}

/** One process's catalog and refresher, in a world that the test turns. */
function startProcess(input: ProcessInput = {}) {
  const world: World = {
    answer: upstreamList(upstreamRow()),
    imageAnswer: () => null,
    nowMs: START_MS,
  }
  const clock = { nowMs: () => world.nowMs }
  const settings = DEFAULT_CATALOG_SETTINGS
  const catalog = new Catalog({ clock, settings })
  const timers = new Set<Timer>()
  const outcomes: RefreshOutcome[] = []
  let fetches = 0
  const refresher = createCatalogRefresher({
    catalog,
    store: input.store ?? createCatalogStore(store.db),
    source: input.source ?? SOURCE,
    clock,
    settings,
    fetchModels: async () => {
      fetches++
      return typeof world.answer === 'function' ? world.answer() : world.answer
    },
    fetchImageEndpoints: async (modelId) => world.imageAnswer(modelId),
    onRefreshed: (outcome) => outcomes.push(outcome),
    startTimer: (timer) => {
      timers.add(timer)
      return () => timers.delete(timer)
    },
    random: () => 0.5,
  })
  return { world, catalog, refresher, timers, outcomes, fetches: () => fetches }
}

type Process = ReturnType<typeof startProcess>

const priced = (prompt: string) => upstreamRow({ pricing: { prompt, completion: '0.000015' } })
const inputPrice = ({ catalog }: Process) => catalog.offerFor('acme/sage-pro').prices.input

/** The only timer that is running; it is taken. */
function takeTimer({ timers }: Process): Timer {
  const [timer, ...others] = timers
  if (timer === undefined || others.length > 0) throw new Error(`${timers.size} timers are running`)
  timers.delete(timer)
  return timer
}

async function refreshWith(process: Process, answer: unknown): Promise<RefreshOutcome> {
  process.world.answer = answer
  return process.refresher.refreshNow()
}

describe('a refresh', () => {
  test('puts what the upstream lists on offer', async () => {
    const process = startProcess()
    const outcome = await process.refresher.refreshNow()
    expect(outcome).toEqual({
      kind: 'refreshed',
      models: 1,
      skipped: [],
      doubtedIds: [],
      storeFailure: null,
    })
    expect(inputPrice(process)).toBe(3_000_000n)
  })

  test('drops a model that is no longer listed', async () => {
    const process = startProcess()
    await process.refresher.refreshNow()
    await refreshWith(process, upstreamList(upstreamRow({ id: 'acme/next' })))
    expect(process.catalog.get('acme/sage-pro')).toBeNull()
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

  test('keeps a model whose row can not be read until its own prices are stale', async () => {
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
    expect(process.catalog.offerFor('acme/next').modelId).toBe('acme/next')
    expect(() => inputPrice(process)).toThrow('have not been refreshed for over an hour')
  })

  test('that is asked for while one is under way is that one', async () => {
    const process = startProcess()
    const [first, second] = [process.refresher.refreshNow(), process.refresher.refreshNow()]
    expect(second).toBe(first)
    await first
    expect(process.fetches()).toBe(1)
  })

  test('counts in memory although the store fails, and says so', async () => {
    const failure = new Error('disk full')
    const failing: CatalogStore = { load: async () => null, save: () => Promise.reject(failure) }
    const process = startProcess({ store: failing })
    expect(await process.refresher.refreshNow()).toMatchObject({ storeFailure: failure })
    expect(inputPrice(process)).toBe(3_000_000n)
  })
})

describe('a price', () => {
  test('that rises a hundredfold is held with at once', async () => {
    const process = startProcess()
    await process.refresher.refreshNow()
    await refreshWith(process, upstreamList(priced('0.0003')))
    expect(inputPrice(process)).toBe(300_000_000n)
  })

  test('that falls a hundredfold is believed at the third refresh, and named until then', async () => {
    const process = startProcess()
    await process.refresher.refreshNow()
    const seen: unknown[] = []
    for (let refresh = 0; refresh < 3; refresh++) {
      const outcome = await refreshWith(process, upstreamList(priced('0.00000003')))
      seen.push([inputPrice(process), outcome.kind === 'refreshed' && outcome.doubtedIds])
    }
    expect(seen).toEqual([
      [3_000_000n, ['acme/sage-pro']],
      [3_000_000n, ['acme/sage-pro']],
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

describe('flat prices of images', () => {
  const image = upstreamRow({ id: 'acme/draw', architecture: IMAGE_ARCHITECTURE })
  const flat = (costUsd: number) => ({
    endpoints: [{ pricing: [{ billable: 'output_image', unit: 'image', cost_usd: costUsd }] }],
  })
  const flatPrice = ({ catalog }: Process) => catalog.offerFor('acme/draw').prices.imageFlat

  test('join the prices of models that make images, and are asked of no other', async () => {
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

  test('that can not be fetched and never were are nothing', async () => {
    const process = startProcess()
    process.world.imageAnswer = () => Promise.reject(new Error('refused'))
    await refreshWith(process, upstreamList(image))
    expect(flatPrice(process)).toBe(0n)
  })

  test('are not asked for again and again of an upstream that fails', async () => {
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

  test('starts with the wait where a refresh has been tried already', async () => {
    const process = startProcess()
    await process.refresher.refreshNow()
    expect(process.timers.size).toBe(0)
    process.refresher.start()
    expect(takeTimer(process).delayMs).toBe(REFRESH_MS)
    expect(process.fetches()).toBe(1)
    await process.refresher.stop()
  })

  test('comes back sooner after failures, later after each, and as usual after a success', async () => {
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

  test('has one timer alone, also where refreshes are asked for in between', async () => {
    const process = startProcess()
    process.refresher.start()
    for (let refresh = 0; refresh < 3; refresh++) await process.refresher.refreshNow()
    expect(process.timers.size).toBe(1)
    await process.refresher.stop()
    expect(process.timers.size).toBe(0)
  })
})

describe('a restart', () => {
  test('has the prices of the last refresh at once, as old as they are', async () => {
    const before = startProcess()
    before.world.imageAnswer = () => ({
      endpoints: [{ pricing: [{ billable: 'output_image', unit: 'image', cost_usd: 0.08 }] }],
    })
    const overrides = [{ min_prompt_tokens: 200_000, prompt: '0.000006' }]
    const rows = [
      upstreamRow({ pricing: { prompt: '0.000003', completion: '0.000015', overrides } }),
      upstreamRow({ id: '~acme/sage-latest', alias_target: { slug: 'acme/sage-pro' } }),
      upstreamRow({
        id: 'acme/draw',
        architecture: IMAGE_ARCHITECTURE,
        hugging_face_id: 'acme/draw',
      }),
    ]
    await refreshWith(before, upstreamList(...rows))

    const after = startProcess()
    await after.refresher.load()
    const byId = (process: Process) =>
      process.catalog.rows().toSorted((a, b) => (a.offer.modelId < b.offer.modelId ? -1 : 1))
    expect(byId(after)).toEqual(byId(before))
    expect(after.catalog.offerFor('~acme/sage-latest').prices.tiers).toHaveLength(1)
    expect(after.fetches()).toBe(0)
    after.world.nowMs += DEFAULT_CATALOG_SETTINGS.pricesStaleAfterMs + 1
    expect(() => after.catalog.offerFor('acme/sage-pro')).toThrow(Problem)
  })

  test('keeps a price whose fall was doubted', async () => {
    const before = startProcess()
    await before.refresher.refreshNow()
    await refreshWith(before, upstreamList(priced('0.00000003')))
    const after = startProcess()
    await after.refresher.load()
    expect(inputPrice(after)).toBe(3_000_000n)
  })

  test('keeps the age of a model whose row could not be read', async () => {
    const before = startProcess()
    await before.refresher.refreshNow()
    before.world.nowMs += 1_000
    await refreshWith(
      before,
      upstreamList(
        upstreamRow({ id: 'acme/next' }),
        upstreamRow({ created: 1, context_length: 'x' }),
      ),
    )
    const after = startProcess()
    await after.refresher.load()
    expect(
      after.catalog.rows().map(({ offer, refreshedAtMs }) => [offer.modelId, refreshedAtMs]),
    ).toEqual([
      ['acme/next', START_MS + 1_000],
      ['acme/sage-pro', START_MS],
    ])
  })

  test('with another upstream has nothing of the first, and keeps nothing of it once refreshed', async () => {
    await startProcess().refresher.refreshNow()
    const other = startProcess({ source: 'https://other.example/v1' })
    await other.refresher.load()
    expect(other.catalog.rows()).toEqual([])
    await refreshWith(other, upstreamList(upstreamRow({ id: 'other/model' })))
    const back = startProcess()
    await back.refresher.load()
    expect(back.catalog.rows()).toEqual([])
    expect(await store.db.selectFrom('catalog_models').select(['id', 'source']).execute()).toEqual([
      { id: 'other/model', source: 'https://other.example/v1' },
    ])
  })

  test('leaves out a row that another version wrote, and has the rest', async () => {
    const before = startProcess()
    await refreshWith(before, upstreamList(upstreamRow(), upstreamRow({ id: 'acme/next' })))
    await store.db
      .updateTable('catalog_models')
      .set({ item_json: '{"v":2' })
      .where('id', '=', 'acme/next')
      .execute()
    const after = startProcess()
    await after.refresher.load()
    expect(after.catalog.rows().map(({ offer }) => offer.modelId)).toEqual(['acme/sage-pro'])
  })

  test('of an empty store has nothing, and is not ready', async () => {
    const process = startProcess()
    await process.refresher.load()
    expect(() => inputPrice(process)).toThrow('not loaded yet')
  })
})

describe('price snapshots', () => {
  const snapshots = () =>
    store.db.selectFrom('price_snapshots').selectAll().orderBy('created_at_ms').execute()

  test('are kept one for each price table, from when it was first seen, for ever', async () => {
    const process = startProcess()
    await process.refresher.refreshNow()
    const first = process.catalog.offerFor('acme/sage-pro').priceSnapshotId
    process.world.nowMs += 1_000
    await refreshWith(process, upstreamList(priced('0.000004')))
    const second = process.catalog.offerFor('acme/sage-pro').priceSnapshotId
    process.world.nowMs += 1_000
    await refreshWith(process, upstreamList(upstreamRow()))
    expect(process.catalog.offerFor('acme/sage-pro').priceSnapshotId).toBe(first)
    await refreshWith(
      process,
      upstreamList(upstreamRow({ id: 'acme/next', pricing: { prompt: '1', completion: '1' } })),
    )
    const rows = await snapshots()
    expect(rows.slice(0, 2).map((row) => [row.id, row.model_id, row.created_at_ms])).toEqual([
      [first, 'acme/sage-pro', START_MS],
      [second, 'acme/sage-pro', START_MS + 1_000],
    ])
    expect(rows).toHaveLength(3)
    expect(JSON.parse(rows[0]?.prices_json ?? '')).toMatchObject({
      input: '3000000',
      output: '15000000',
    })
  })

  test('of more models than one statement takes are all kept', async () => {
    const process = startProcess()
    const rows = Array.from({ length: 450 }, (_, i) =>
      upstreamRow({ id: `acme/m${i}`, canonical_slug: null }),
    )
    await refreshWith(process, upstreamList(...rows))
    expect(await snapshots()).toHaveLength(450)
    const after = startProcess()
    await after.refresher.load()
    expect(after.catalog.rows()).toHaveLength(450)
    await refreshWith(process, upstreamList(...rows.slice(0, 10)))
    const later = startProcess()
    await later.refresher.load()
    expect(later.catalog.rows()).toHaveLength(10)
  })
})
