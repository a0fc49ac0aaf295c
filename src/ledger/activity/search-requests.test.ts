import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS } from '../../vocabulary/clock.ts'
import { firstIdOf } from '../../vocabulary/ids.ts'
import { LEDGER_LIMITS_DEFAULT } from '../ledger.ts'
import { STORE_BENCHES } from '../testing/benches.ts'
import { holdInput, runScript } from '../testing/script.ts'
import type { StoreBench } from '../testing/store-bench.ts'
import { listRequests, type RequestFilter } from './activity.ts'
import { searchRequests } from './search-requests.ts'

const FROM_MS = Date.parse('2026-03-01T00:00:00Z')
const DAYS = 40

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: StoreBench

  // One request a day, every tenth of another model.
  beforeEach(async () => {
    bench = await open({ limits: { ...LEDGER_LIMITS_DEFAULT, openHoldsMax: 1_000 } })
    await runScript(bench, 'account A\nkey K A\ncredit A backed 1000 r')
    for (let day = 0; day < DAYS; day++) {
      bench.nowMs = FROM_MS + day * DAY_MS
      await bench.ledger.openHold(
        holdInput(requestIdOf(day), {
          modelId: day % 10 === 0 ? 'acme/rare' : 'acme/usual',
          tags: day % 10 === 1 ? ['nightly', 'rare'] : null,
        }),
      )
    }
  })
  afterEach(() => bench.close())

  test.each<[string, RequestFilter]>([
    ['a model', { modelId: 'acme/rare' }],
    ['models', { modelId: ['acme/rare', 'acme/none'] }],
    ['an endpoint', { endpoint: 'chat' }],
    ['a tag', { tag: 'rare' }],
    ['another endpoint', { accountId: 'A', endpoint: ['messages', 'images'] }],
    ['requests that ended well', { failed: false }],
    ['failed requests', { failed: true }],
    ['states', { state: ['open', 'final'] }],
    ['several keys', { apiKeyId: ['K', 'L'] }],
    [
      'a part of time',
      { modelId: 'acme/rare', sinceMs: FROM_MS + 1, untilMs: FROM_MS + 30 * DAY_MS },
    ],
    ['all', {}],
  ])('a search for %s finds what a list has, page by page', async (_what, filter) => {
    const listed = await listRequests(bench.store.reports, { ...filter, limit: 100 })
    const found: string[] = []
    let cursor: string | null = null
    do {
      const page = await searchRequests(bench.store.reports, { ...filter, cursor, limit: 3 })
      found.push(...page.requests.map(({ id }) => id))
      cursor = page.nextCursor
    } while (cursor !== null)
    expect(found).toEqual(listed.requests.map(({ id }) => id))
  })

  test('a search that takes too long answers its results, how far it searched, and where to continue', async () => {
    // Each look at the clock is 100 ms later than the one before.
    let nowMs = 0
    const elapsedMs = () => {
      nowMs += 100
      return nowMs
    }
    const found: string[] = []
    let cursor: string | null = null
    let calls = 0
    let backToMs = Number.POSITIVE_INFINITY
    do {
      const input = { modelId: 'acme/rare', cursor, limit: 10, elapsedMs }
      const page = await searchRequests(bench.store.reports, input)
      found.push(...page.requests.map(({ id }) => id))
      cursor = page.nextCursor
      calls++
      if (cursor === null) expect(page.searchedBackToMs).toBeNull()
      else {
        expect(page.searchedBackToMs).toBeLessThan(backToMs)
        backToMs = page.searchedBackToMs ?? 0
        expect(page.requests.every(({ openedAtMs }) => openedAtMs >= backToMs)).toBe(true)
      }
    } while (cursor !== null)
    expect(calls).toBeGreaterThan(2)
    expect(found).toEqual([30, 20, 10, 0].map(requestIdOf))
  })
})

function requestIdOf(day: number): string {
  return `${firstIdOf({ prefix: 'req', timeMs: FROM_MS + day * DAY_MS })}${'0'.repeat(16)}`
}
