import { beforeEach, describe, expect, test } from 'vitest'
import type { Store } from '../store/store.ts'
import { MADE_DATABASES, storeOfTest } from '../store/testing/test-databases.ts'
import {
  IMAGE_ARCHITECTURE,
  upstreamList,
  upstreamRow,
} from '../upstreams/openrouter/testing/upstream-list.ts'
import { writtenModel } from '../upstreams/testing/written-model.ts'
import type { WrittenModel } from '../upstreams/upstream-settings.ts'
import { Problem } from '../vocabulary/problem.ts'
import { DEFAULT_CATALOG_SETTINGS } from './catalog.ts'
import { createCatalogStore } from './catalog-store.ts'
import {
  type CatalogProcess,
  type CatalogProcessInput,
  inputPrice,
  priced,
  refreshWith,
  START_MS,
  startCatalogProcess,
} from './testing/catalog-process.ts'

/** The model of the upstream's list, as the settings write it. */
const written = (model: Partial<WrittenModel> = {}) =>
  writtenModel('acme/sage-pro', {
    upstreamModelId: 'acme/sage-pro',
    prices: { input: 3_000_000n },
    ...model,
  })

let store: Store

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  beforeEach(async () => {
    store = await storeOfTest(create)
  })

  /** One process after another, on the store of the test. */
  const startProcess = (input: Omit<CatalogProcessInput, 'store'> = {}) =>
    startCatalogProcess({ store: createCatalogStore(store.db), ...input })

  describe('a restart', () => {
    test('has the prices of the last refresh at once, with their age', async () => {
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
      const byId = (process: CatalogProcess) =>
        process.catalog.rows().toSorted((a, b) => (a.offer.modelId < b.offer.modelId ? -1 : 1))
      expect(byId(after)).toEqual(byId(before))
      expect(after.catalog.offerFor('~acme/sage-latest', 'chat').prices.tiers).toHaveLength(1)
      expect(after.fetches()).toBe(0)
      after.world.nowMs += DEFAULT_CATALOG_SETTINGS.pricesStaleAfterMs + 1
      expect(() => after.catalog.offerFor('acme/sage-pro', 'chat')).toThrow(Problem)
    })

    test('keeps a price whose decrease was doubted', async () => {
      const before = startProcess()
      await before.refresher.refreshNow()
      await refreshWith(before, upstreamList(priced('0.00000003')))
      const after = startProcess()
      await after.refresher.load()
      expect(inputPrice(after)).toBe(3_000_000n)
    })

    test('keeps a context window and a longest answer whose decrease was doubted', async () => {
      const before = startProcess()
      await before.refresher.refreshNow()
      const fallen = upstreamRow({
        context_length: 1_000,
        top_provider: { context_length: 1_000, max_completion_tokens: 100 },
      })
      await refreshWith(before, upstreamList(fallen))
      const after = startProcess()
      await after.refresher.load()
      const { contextTokens, outputTokensMax } = after.catalog.offerFor('acme/sage-pro', 'chat')
      expect([contextTokens, outputTokensMax]).toEqual([1_000_000, 64_000])
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

    test('from another address shows nothing of the first, and stores nothing of it after a refresh', async () => {
      await startProcess().refresher.refreshNow()
      const other = startProcess({ source: 'https://other.example/v1' })
      await other.refresher.load()
      expect(other.catalog.rows()).toEqual([])
      await refreshWith(other, upstreamList(upstreamRow({ id: 'other/model' })))
      const back = startProcess()
      await back.refresher.load()
      expect(back.catalog.rows()).toEqual([])
      expect(
        await store.db.selectFrom('catalog_models').select(['upstream', 'id']).execute(),
      ).toEqual([{ upstream: 'openrouter', id: 'other/model' }])
    })

    test('from another address that lists the very same has it as its own', async () => {
      await startProcess().refresher.refreshNow()
      await startProcess({ source: 'https://other.example/v1' }).refresher.refreshNow()
      const after = startProcess({ source: 'https://other.example/v1' })
      await after.refresher.load()
      expect(inputPrice(after)).toBe(3_000_000n)
    })

    test('leaves out models that the settings no longer offer', async () => {
      const rows = [upstreamRow(), upstreamRow({ id: 'acme/next' })]
      await refreshWith(startProcess(), upstreamList(...rows))
      const after = startProcess({ narrowing: { only: null, except: ['acme/next'] } })
      await after.refresher.load()
      expect(after.catalog.rows().map(({ offer }) => offer.modelId)).toEqual(['acme/sage-pro'])
    })

    test('keeps a model of the file whose lines are unchanged', async () => {
      await startProcess({ written: [written()] }).refresher.refreshNow()
      const after = startProcess({ written: [written()] })
      await after.refresher.load()
      expect(inputPrice(after)).toBe(3_000_000n)
    })

    test.each<[string, readonly WrittenModel[]]>([
      ['at another price', [written({ prices: { input: 30_000n } })]],
      ['for another model of the upstream', [written({ upstreamModelId: 'sage-2' })]],
      ['no more', []],
    ])(
      'leaves out a model that is written %s, and believes its new price at once',
      async (_, now) => {
        await startProcess({ written: [written()] }).refresher.refreshNow()
        const after = startProcess({ written: now })
        await after.refresher.load()
        expect(after.catalog.rows()).toEqual([])
        await refreshWith(after, upstreamList(priced('0.00000003')))
        expect(inputPrice(after)).toBe(30_000n)
        expect(after.refresher.doubtedIds).toEqual([])
      },
    )

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
      const first = process.catalog.offerFor('acme/sage-pro', 'chat').priceSnapshotId
      process.world.nowMs += 1_000
      await refreshWith(process, upstreamList(priced('0.000004')))
      const second = process.catalog.offerFor('acme/sage-pro', 'chat').priceSnapshotId
      process.world.nowMs += 1_000
      await refreshWith(process, upstreamList(upstreamRow()))
      expect(process.catalog.offerFor('acme/sage-pro', 'chat').priceSnapshotId).toBe(first)
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
})
