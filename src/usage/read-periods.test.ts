import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { DAY_MS, HOUR_MS } from '../vocabulary/clock.ts'
import { timeOfId } from '../vocabulary/ids.ts'
import { ofEach } from '../vocabulary/testing/of-each.ts'
import { type PeriodQuery, readPeriods } from './read-periods.ts'
import { HISTORY_FROM_MS, historySteps, UsageHistory } from './testing/usage-history.ts'

// Midnights of zones with quarters of hours too, and any moment.
const bounds = fc
  .uniqueArray(
    fc.oneof(
      fc.integer({ min: -96, max: 96 * 20 }).map((quarters) => quarters * (HOUR_MS / 4)),
      fc.integer({ min: -DAY_MS, max: 20 * DAY_MS }),
    ),
    { minLength: 2, maxLength: 12 },
  )
  .map((places) => places.toSorted((a, b) => a - b).map((place) => HISTORY_FROM_MS + place))

const WHO: readonly Omit<PeriodQuery, 'by' | 'boundsMs'>[] = [
  { accountId: null, apiKeyId: null },
  { accountId: 'A1', apiKeyId: null },
  { accountId: 'A1', apiKeyId: 'K2' },
  { accountId: null, apiKeyId: null, modelId: 'acme/two' },
  { accountId: 'A1', apiKeyId: null, upstream: 'two' },
  { accountId: 'A1', apiKeyId: ['K1', 'K2'], endpoint: ['chat'] },
  { accountId: 'A1', apiKeyId: null, modelId: ['acme/one', 'other/three'], endpoint: 'messages' },
]

const GROUPINGS = ['account', 'model', 'key', 'endpoint', 'upstream', 'finest'] as const

type Grouped = Awaited<ReturnType<UsageHistory['requests']>>[number]

const LABELS: Readonly<Record<(typeof GROUPINGS)[number], (row: Grouped) => string>> = {
  account: ({ accountId }) => accountId,
  model: ({ modelId }) => modelId,
  key: ({ apiKeyId }) => apiKeyId,
  endpoint: ({ endpoint }) => endpoint,
  upstream: ({ upstream }) => upstream,
  finest: (row) => [row.accountId, row.apiKeyId, row.endpoint, row.upstream, row.modelId].join(' '),
}

/** Charges and costs by period and group, as the requests themselves say. */
async function expected(history: UsageHistory, query: PeriodQuery) {
  const { boundsMs, by, accountId, apiKeyId, modelId, endpoint, upstream } = query
  const charges = new Map<string, number>()
  for (const row of await history.requests()) {
    const atMs = timeOfId(row.id) ?? 0
    const place = boundsMs.findLastIndex((boundMs) => boundMs <= atMs)
    if (place === -1 || place === boundsMs.length - 1) continue
    if (accountId !== null && row.accountId !== accountId) continue
    if (apiKeyId !== null && ![apiKeyId].flat().includes(row.apiKeyId)) continue
    if (modelId !== undefined && ![modelId].flat().includes(row.modelId)) continue
    if (endpoint !== undefined && ![endpoint].flat().includes(row.endpoint)) continue
    if (upstream !== undefined && row.upstream !== upstream) continue
    const label = by === null || by === 'tag' ? null : LABELS[by](row)
    const name = `${place} ${label}`
    const earlier = charges.get(name) ?? 0
    const { costMicros, costRestPico } = row.cost ?? { costMicros: 0, costRestPico: 0 }
    const costPicos = costMicros * 1_000_000 + costRestPico
    charges.set(
      name,
      earlier + 1_000_000 + row.backedChargeMicros + row.freeChargeMicros + costPicos,
    )
  }
  return charges
}

async function read(history: UsageHistory, query: PeriodQuery) {
  const sums = await readPeriods(history.bench.store.pages({ owner: 'test' }), query)
  const charge = (row: (typeof sums)[number]['sums']): number =>
    row.requests * 1_000_000 +
    row.backed_charge_micros +
    row.free_charge_micros +
    (row.cost_micros + row.uncharged_cost_micros) * 1_000_000 +
    row.cost_rest_pico +
    row.uncharged_cost_rest_pico
  return new Map(sums.map((row) => [`${row.place} ${row.label}`, charge(row.sums)]))
}

const nonZero = (charges: ReadonlyMap<string, number>) =>
  new Map([...charges].filter(([, charge]) => charge !== 0).toSorted())

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  const history = ofEach(() => UsageHistory.open(open))

  test('periods have the requests whose IDs were made in them, rolled up or not', async () => {
    const steps = fc.sample(historySteps, 2).flat()
    for (const step of steps) if (step.kind !== 'prune') await history.run(step)
    await fc.assert(
      fc.asyncProperty(
        bounds,
        fc.constantFrom(...WHO),
        fc.constantFrom<PeriodQuery['by']>(null, ...GROUPINGS),
        async (boundsMs, who, by) => {
          const query = { ...who, by, boundsMs }
          expect(nonZero(await read(history, query))).toEqual(
            nonZero(await expected(history, query)),
          )
        },
      ),
      { numRuns: 60 },
    )
  })

  test('periods side by side have each request once, pruned ones too', async () => {
    for (const step of fc.sample(historySteps, 2).flat()) await history.run(step)
    history.wait(5 * DAY_MS)
    await history.roll()
    await history.run({ kind: 'prune' })
    const [fromMs, untilMs] = [HISTORY_FROM_MS - 3 * DAY_MS, history.nowMs + DAY_MS]
    const all = (charges: ReadonlyMap<string, number>) =>
      [...charges.values()].reduce((sum, charge) => sum + charge, 0)
    await fc.assert(
      fc.asyncProperty(bounds, fc.constantFrom(...WHO), async (inner, who) => {
        const within = inner.filter((boundMs) => boundMs > fromMs && boundMs < untilMs)
        const query = { ...who, by: null, boundsMs: [fromMs, ...within, untilMs] }
        const whole = { ...query, boundsMs: [fromMs, untilMs] }
        expect(all(await read(history, query))).toBe(all(await expected(history, whole)))
      }),
      { numRuns: 40 },
    )
  })
})
