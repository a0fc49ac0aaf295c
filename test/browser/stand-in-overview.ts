import { dailyPace, daysLeft } from '../../src/vocabulary/pace.ts'
import type { Overview } from '../../web/api/answers.ts'
import { ago, DAY_MS, HELIX, KEYS, MODELS, NOW } from './stand-in-data.ts'
import { NO_FIGURES } from './stand-in-usage.ts'

const ahead = (elapsedMs: number) => ago(-elapsedMs)

const STEPS = Array.from({ length: 30 }, (_, at) =>
  new Date(Date.UTC(2026, 9, 23) + at * DAY_MS).toISOString(),
)

/** Spend that looks like weeks: two quiet days in seven. */
function charges(scaleMicros: number): number[] {
  return STEPS.map((_, at) => {
    const weekday = (at + 5) % 7
    const isQuiet = weekday > 4
    const wave = 1 + 0.35 * Math.sin(at * 1.7 + scaleMicros) + at / 60
    return Math.round(scaleMicros * wave * (isQuiet ? 0.3 : 1))
  })
}

function sum(values: readonly number[]): number {
  return values.reduce((total, one) => total + one, 0)
}

const SERIES = MODELS.map((id, at) => {
  const values = charges([2_395_000, 1_243_000, 755_000, 553_000, 193_000][at] ?? 0)
  return { id, name: id, charges: values, charge: sum(values) }
})
const OTHERS = charges(221_000)

/** The charge of each day, oldest first. */
export const DAY_CHARGES: readonly number[] = STEPS.map(
  (_, at) => (OTHERS[at] ?? 0) + sum(SERIES.map((one) => one.charges[at] ?? 0)),
)
const RECENT_CHARGE = sum(DAY_CHARGES.slice(-7))
const AVAILABLE = HELIX.credit.backed.available
const PACE = dailyPace(RECENT_CHARGE, { sinceMs: 0, nowMs: NOW.getTime() })

/** The Overview of 30 days. */
export const OVERVIEW: Overview = {
  object: 'overview',
  account_id: HELIX.id,
  from: '2026-10-23T00:00:00.000Z',
  to: '2026-11-21T22:05:00.000Z',
  step: 'day',
  by: 'model',
  as_of: NOW.toISOString(),
  credit: {
    available: AVAILABLE,
    ...HELIX.credit,
    has_backed_credit: true,
    held_running: { requests: 3, amount: 2_410_000 },
    held_estimated: { requests: 0, amount: 0 },
    held_unresolved: { requests: 1, amount: 380_000, next_release_at: ahead(82_800_000) },
    recent_charge: RECENT_CHARGE,
    days_left: daysLeft(AVAILABLE, PACE),
  },
  figures: {
    requests: 48_213,
    failed: 198,
    charge: sum([...SERIES.map(({ charge }) => charge), ...OTHERS]),
    input_tokens: 312_400_000,
    cache_read_tokens: 190_600_000,
    cache_write_tokens: 0,
    output_tokens: 18_900_000,
    reasoning_tokens: 4_200_000,
    first_byte_ms_p50: 640,
    first_byte_ms_p95: 2_100,
  },
  before: {
    requests: 44_640,
    failed: 170,
    charge: 138_120_000,
    input_tokens: 280_000_000,
    cache_read_tokens: 160_000_000,
    cache_write_tokens: 0,
    output_tokens: 17_000_000,
    reasoning_tokens: 4_000_000,
    first_byte_ms_p50: 660,
    first_byte_ms_p95: 2_300,
  },
  spend: {
    steps: STEPS,
    series: SERIES,
    others: { count: 6, charge: sum(OTHERS), charges: OTHERS },
  },
  keys: [
    { at: 0, requests: 31_204, failed: 62, charge: 77_340_000 },
    { at: 2, requests: 3_911, failed: 90, charge: 35_580_000 },
    { at: 1, requests: 12_880, failed: 46, charge: 30_940_000 },
    { at: 3, requests: 218, failed: 0, charge: 5_410_000 },
  ].map(({ at, ...figures }) => {
    const { id = '', name = '', prefix = '' } = KEYS[at] ?? {}
    return { id, name, prefix, deleted: false, ...figures }
  }),
  attention: [
    {
      kind: 'key_limit',
      key_id: KEYS[2]?.id ?? '',
      name: 'nightly evals',
      credit_limit: 40_000_000,
      remaining: 3_120_000,
      days_left: 1.4,
    },
    { kind: 'unresolved', requests: 1, held: 380_000, next_release_at: ahead(82_800_000) },
    { kind: 'free_credit_ends', amount: 5_000_000, expires_at: '2026-11-30T00:00:00.000Z' },
  ],
  history: { complete: true, rolled_until: ago(7_200_000) },
}

/** An account that alerts are about. */
export const ALERTED_OVERVIEW: Overview = {
  ...OVERVIEW,
  attention: [
    { kind: 'credit_low', available: 12_400_000, credited: 100_000_000, days_left: null },
    {
      kind: 'account_allowance',
      allowance: 50_000_000,
      spend: 46_120_000,
      period: 'day',
      resets_at: ahead(7_200_000),
    },
    {
      kind: 'key_allowance',
      key_id: KEYS[0]?.id ?? '',
      name: KEYS[0]?.name ?? '',
      allowance: 20_000_000,
      spend: 20_000_000,
      period: 'month',
      resets_at: ahead(700_000_000),
    },
  ],
}

/** An account on its first day. */
export const FIRST_OVERVIEW: Overview = {
  ...OVERVIEW,
  credit: {
    ...OVERVIEW.credit,
    available: 10_000_000,
    backed: { balance: 10_000_000, held: 0, available: 10_000_000 },
    free: { balance: 0, held: 0, available: 0, expires_at: null },
    held_running: { requests: 0, amount: 0 },
    held_estimated: { requests: 0, amount: 0 },
    held_unresolved: { requests: 0, amount: 0, next_release_at: null },
    recent_charge: 0,
    days_left: null,
  },
  figures: NO_FIGURES,
  before: NO_FIGURES,
  spend: { steps: STEPS, series: [], others: null },
  keys: [],
  attention: [],
}
