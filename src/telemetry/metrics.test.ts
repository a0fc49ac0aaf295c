import { beforeEach, expect, test } from 'vitest'
import { images } from '../formats/images.ts'
import { responses } from '../formats/responses.ts'
import { StoreUnavailable } from '../store/store-failure.ts'
import { micros } from '../vocabulary/money.ts'
import { Problem } from '../vocabulary/problem.ts'
import { METRICS } from './metric-table.ts'
import { type MetricSources, Metrics } from './metrics.ts'
import { ended } from './testing/ended-request.ts'

const SOURCES: MetricSources = {
  clock: { nowMs: () => 100_000 },
  storeClock: { nowMs: () => 110_000 },
  inFlight: () => 2,
  bufferBytes: () => 10,
  bufferBytesMax: 100,
  readSale: async () => ({
    purchases: [
      {
        method: 'card',
        state: 'credited',
        purchases: 2,
        creditMicros: micros(30_000_000),
        reversedMicros: micros(5_000_000),
      },
    ],
    looks: [{ source: 'stripe', position: '7', lookedAtMs: 1_000 }],
  }),
  countHolds: async () => [
    { state: 'open', holds: 1, oldestOpenedAtMs: 100_000 },
    { state: 'provisional', holds: 0, oldestOpenedAtMs: null },
    { state: 'unresolved', holds: 4, oldestOpenedAtMs: 50_000 },
  ],
  waiting: () => ({ requests: 3, nextDueAtMs: 107_000 }),
  catalog: () => ({
    modelIds: new Set(['acme/kept']),
    refreshedAtMs: new Map([
      ['openrouter', 40_000],
      ['second', 90_000],
    ]),
  }),
  checks: () => [
    { name: 'store', fault: null },
    { name: 'prices', fault: 'old' },
  ],
  accountsRefused: () => new Map([['openrouter', true]]),
}

let metrics: Metrics
beforeEach(() => {
  metrics = new Metrics({ version: '1', mode: 'live' })
})

async function linesOf(name: string): Promise<string[]> {
  const lines = (await metrics.render()).split('\n')
  return lines.filter((line) => line.startsWith(name))
}

test('the registered metrics are the table: names, types and help', async () => {
  const text = await metrics.render()
  const registered = [...text.matchAll(/^# TYPE (tollgate_\w+) (\w+)$/gm)].map(([, name, kind]) => {
    const [, help] = new RegExp(`^# HELP ${name} (.*)$`, 'm').exec(text) ?? []
    return [name, { kind, help }]
  })
  const listed = Object.entries(METRICS).map(([name, { kind, help }]) => [name, { kind, help }])
  expect(Object.fromEntries(registered)).toEqual(Object.fromEntries(listed))
  expect(text).toContain('nodejs_eventloop_lag_seconds')
  expect(text).toContain('tollgate_build_info{version="1",mode="live"} 1')
})

test('an ended request counts once in each metric, with exact money and each token under one kind', async () => {
  for (let i = 0; i < 3; i++) metrics.requestEnded(ended({}))
  // A read must not count anything.
  await metrics.render()
  expect(await linesOf('tollgate_requests_total')).toEqual([
    'tollgate_requests_total{endpoint="chat",model="acme/kept",status="2xx",state="final",upstream="router"} 3',
  ])
  expect(await linesOf('tollgate_tokens_total')).toEqual([
    'tollgate_tokens_total{model="acme/kept",kind="input"} 30',
    'tollgate_tokens_total{model="acme/kept",kind="cache_read"} 60',
    'tollgate_tokens_total{model="acme/kept",kind="cache_write"} 105',
    'tollgate_tokens_total{model="acme/kept",kind="output"} 120',
  ])
  expect(await linesOf('tollgate_charges_dollars_total')).toEqual([
    'tollgate_charges_dollars_total{model="acme/kept"} 0.00018',
  ])
  expect(await linesOf('tollgate_time_to_first_byte_seconds_sum')).toEqual([
    'tollgate_time_to_first_byte_seconds_sum{endpoint="chat",stream="false",upstream="router"} 1.5',
  ])
  expect(await linesOf('tollgate_request_duration_seconds_sum')).toEqual([
    'tollgate_request_duration_seconds_sum{endpoint="chat",stream="false",upstream="router"} 6',
  ])
  expect(await linesOf('tollgate_overruns_total')).toEqual([])
})

test('tokens and charges of a model are summed over its endpoints', async () => {
  metrics.requestEnded(ended({}))
  metrics.requestEnded(ended({}, { format: responses }))
  expect(await linesOf('tollgate_charges_dollars_total')).toEqual([
    'tollgate_charges_dollars_total{model="acme/kept"} 0.00012',
  ])
  expect(await linesOf('tollgate_requests_total')).toHaveLength(2)
})

test('a refusal counts under its code and in no duration', async () => {
  const refused = {
    modelId: null,
    upstream: null,
    state: null,
    chargeMicros: null,
    holdMicros: null,
    usage: null,
  }
  const problem = new Problem('model_not_found')
  metrics.requestEnded(ended(refused, { problem, httpStatus: 404 }))
  expect(await linesOf('tollgate_refusals_total')).toEqual([
    'tollgate_refusals_total{endpoint="chat",code="model_not_found"} 1',
  ])
  expect(await linesOf('tollgate_requests_total')).toEqual([
    'tollgate_requests_total{endpoint="chat",model="",status="4xx",state="none",upstream=""} 1',
  ])
  expect(await linesOf('tollgate_request_duration_seconds_count')).toEqual([])
})

test('overruns of images and of text count apart', async () => {
  metrics.requestEnded(ended({ chargeMicros: 101 }))
  metrics.requestEnded(ended({ chargeMicros: 100 }))
  metrics.requestEnded(ended({ chargeMicros: 350 }, { format: images }))
  expect(await linesOf('tollgate_overrun')).toEqual([
    'tollgate_overruns_total{kind="text"} 1',
    'tollgate_overruns_total{kind="image"} 1',
    'tollgate_overrun_dollars_total{kind="text"} 0.000001',
    'tollgate_overrun_dollars_total{kind="image"} 0.00025',
  ])
})

test('a correction counts the difference, and an overrun only if there was none before', async () => {
  const settlement = (differenceMicros: number, overrunMicros: number) => ({
    requestId: 'req_1',
    costReported: false,
    correction: { kind: 'givenUp' as const },
    corrected: {
      kind: 'corrected' as const,
      state: 'final' as const,
      chargedMicros: micros(1_000),
      differenceMicros: micros(differenceMicros),
      overrunMicros: micros(overrunMicros),
    },
  })
  metrics.reconciled(settlement(500_000, 0))
  metrics.reconciled(settlement(-250_000, 0))
  metrics.reconciled(settlement(5, 7))
  metrics.reconciled(settlement(8, 7))
  expect(await linesOf('tollgate_corrections')).toEqual([
    'tollgate_corrections_dollars_total{direction="up"} 0.500013',
    'tollgate_corrections_dollars_total{direction="down"} 0.25',
  ])
  expect(await linesOf('tollgate_reconciled_total')).toEqual([
    'tollgate_reconciled_total{outcome="given_up"} 4',
  ])
  expect(await linesOf('tollgate_overruns_total')).toEqual([
    'tollgate_overruns_total{kind="text"} 1',
  ])
})

test('a model that has left the catalog loses its series at the next refresh', async () => {
  metrics.watch(SOURCES)
  metrics.requestEnded(ended({}))
  metrics.requestEnded(ended({ modelId: 'acme/gone' }))
  metrics.requestEnded(ended({ modelId: null }))
  expect(await metrics.render()).toContain('acme/gone')
  metrics.catalogRefreshed({ kind: 'failed', cause: null }, 'second')
  expect(await metrics.render()).toContain('acme/gone')
  metrics.catalogRefreshed(
    { kind: 'refreshed', models: 1, skipped: [], doubts: [], storeFailure: null },
    'openrouter',
  )
  expect(await linesOf('tollgate_catalog_refreshes_total')).toEqual([
    'tollgate_catalog_refreshes_total{outcome="failed",upstream="second"} 1',
    'tollgate_catalog_refreshes_total{outcome="refreshed",upstream="openrouter"} 1',
  ])
  expect(await metrics.render()).not.toContain('acme/gone')
  expect(await linesOf('tollgate_requests_total')).toHaveLength(2)
})

test('gauges have the figures of their sources, and ages are never negative', async () => {
  metrics.watch(SOURCES)
  const gauges = (await metrics.render()).split('\n').filter((line) => /^tollgate/.test(line))
  expect(gauges).toEqual(
    expect.arrayContaining([
      'tollgate_requests_in_flight 2',
      'tollgate_ready{check="store"} 1',
      'tollgate_ready{check="prices"} 0',
      'tollgate_holds{state="open"} 1',
      'tollgate_holds{state="provisional"} 0',
      'tollgate_holds{state="unresolved"} 4',
      'tollgate_oldest_hold_age_seconds{state="open"} 10',
      'tollgate_oldest_hold_age_seconds{state="provisional"} 0',
      'tollgate_oldest_hold_age_seconds{state="unresolved"} 60',
      'tollgate_reconcile_waiting 3',
      'tollgate_reconcile_lag_seconds 3',
      'tollgate_catalog_models 1',
      'tollgate_catalog_age_seconds{upstream="openrouter"} 60',
      'tollgate_catalog_age_seconds{upstream="second"} 10',
      'tollgate_upstream_account_refused{upstream="openrouter"} 1',
      'tollgate_buffer_bytes 10',
      'tollgate_buffer_limit_bytes 100',
    ]),
  )
  const atZero = { nowMs: () => 0 }
  metrics.watch({ ...SOURCES, storeClock: atZero, clock: atZero })
  expect(await linesOf('tollgate_oldest_hold_age_seconds')).toEqual([
    'tollgate_oldest_hold_age_seconds{state="open"} 0',
    'tollgate_oldest_hold_age_seconds{state="provisional"} 0',
    'tollgate_oldest_hold_age_seconds{state="unresolved"} 0',
  ])
})

test('without an answer of the store only the figures of holds are missing', async () => {
  metrics.watch(SOURCES)
  await metrics.render()
  metrics.watch({ ...SOURCES, countHolds: () => Promise.reject(new Error('away')) })
  expect(await linesOf('tollgate_holds')).toEqual([])
  expect(await linesOf('tollgate_oldest_hold_age_seconds')).toEqual([])
  expect(await linesOf('tollgate_requests_in_flight')).toHaveLength(1)
})

test('commits count with the size of their batches, and failed ones count apart', async () => {
  metrics.committed({ commands: 11, durationMs: 2, outcome: 'committed', failure: null })
  metrics.committed({ commands: 1, durationMs: 2, outcome: 'unwritten', failure: null })
  metrics.committed({
    commands: 1,
    durationMs: 500,
    outcome: 'unavailable',
    failure: new StoreUnavailable('away'),
  })
  expect(await linesOf('tollgate_commit_commands_sum')).toEqual(['tollgate_commit_commands_sum 13'])
  expect(await linesOf('tollgate_commit_duration_seconds_count')).toEqual([
    'tollgate_commit_duration_seconds_count 3',
  ])
  expect(await linesOf('tollgate_commit_failures_total')).toEqual([
    'tollgate_commit_failures_total 1',
  ])
})

test('looks at a chain are counted by result, and failures by node', async () => {
  const waiting = {
    USDT: { kind: 'noRate', reason: 'its price is stale' },
    USDC: { kind: 'catchingUp', reason: 'it is being scanned' },
  } as const
  metrics.chainLooked({ kind: 'advanced', to: 7, top: 9, added: 1, waiting })
  metrics.chainLooked({ kind: 'disagreed', reason: 'the transfers' })
  metrics.chainLooked(null)
  metrics.chainNodeFailed('node.example')
  expect(await linesOf('tollgate_chain')).toEqual([
    'tollgate_chain_looks_total{outcome="advanced"} 1',
    'tollgate_chain_looks_total{outcome="disagreed"} 1',
    'tollgate_chain_looks_total{outcome="failed"} 1',
    'tollgate_chain_node_failures_total{node="node.example"} 1',
    'tollgate_chain_lag_blocks 2',
    'tollgate_chain_tokens_waiting 1',
  ])
  metrics.chainLooked({ kind: 'idle', to: 9, added: 0, waiting: {} })
  expect(await linesOf('tollgate_chain_lag_blocks')).toEqual(['tollgate_chain_lag_blocks 0'])
})

test("the rest of a key's limit is shown to the cent, and nothing without a limit", async () => {
  metrics.creditLeft('router', { digits: 7425n, exponent: -2 })
  expect(await linesOf('tollgate_upstream_credit_dollars')).toEqual([
    'tollgate_upstream_credit_dollars{upstream="router"} 74.25',
  ])
  metrics.creditLeft('router', null)
  expect(await linesOf('tollgate_upstream_credit_dollars')).toEqual([])
})
