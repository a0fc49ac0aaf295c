import { beforeEach, expect, test } from 'vitest'
import { Readiness, type ReadinessSources } from './readiness.ts'

const STALE_AFTER_MS = 3_600_000

let nowMs: number
let readiness: Readiness
let draining: boolean
let alive: boolean
let refreshedAtMs: number | null

const sources: ReadinessSources = {
  isDraining: () => draining,
  isAlive: () => alive,
  pricesRefreshedAtMs: () => refreshedAtMs,
}

const ONE = { name: 'one', apiKeyVariable: 'UPSTREAM_API_KEY' }
const TWO = { name: 'two', apiKeyVariable: 'TWO_API_KEY' }
const REQUEST = { upstream: 'one', asker: 'request', refusedFor: 'credit' } as const

beforeEach(() => {
  nowMs = 1_000_000
  draining = false
  alive = true
  refreshedAtMs = nowMs
  readiness = on('sqlite')
})

function on(storeKind: 'sqlite' | 'postgres'): Readiness {
  return new Readiness({
    clock: { nowMs: () => nowMs },
    storeKind,
    pricesStaleAfterMs: STALE_AFTER_MS,
    upstreams: [ONE],
  })
}

/** The faults of the failing checks, by name. */
function faults(): Record<string, string> {
  const failing = readiness.checks(sources).filter(({ fault }) => fault !== null)
  return Object.fromEntries(failing.map(({ name, fault }) => [name, fault ?? '']))
}

test('a process that has just started is ready once it has prices', () => {
  expect(readiness.checks(sources).map(({ name }) => name)).toEqual([
    'serving',
    'store',
    'prices',
    'upstream_account',
  ])
  expect(faults()).toEqual({})
})

test('a process that accepts the word of a single node is ready, with a warning', () => {
  const chainWarning = 'CHAIN_QUORUM is 1'
  const weak = new Readiness({
    clock: { nowMs: () => nowMs },
    storeKind: 'sqlite',
    pricesStaleAfterMs: STALE_AFTER_MS,
    upstreams: [ONE],
    chainWarning,
  })
  expect(weak.checks(sources).at(-1)).toEqual({
    name: 'chain_nodes',
    fault: null,
    warning: chainWarning,
  })
})

test('a process whose proxy is not trusted is ready, with a warning', () => {
  readiness.warnOfProxy()
  expect(faults()).toEqual({})
  expect(readiness.checks(sources).at(-1)).toMatchObject({
    name: 'proxies',
    fault: null,
    warning: expect.stringContaining('TOLLGATE_TRUSTED_PROXIES'),
  })
})

test('a process reports why the provider refuses its key, if the provider gives a reason', () => {
  const said = "the upstream answers 402: the provider's account has no credit left"
  readiness.accountRefused({ upstream: ONE.name, asker: 'key', refusedFor: 'credit', said })
  expect(faults()['upstream_account']).toBe(
    `The upstream one refuses the gateway: ${said}. No credit is left: add credit to the provider's account of the key UPSTREAM_API_KEY.`,
  )
  readiness.accountRefused({ upstream: ONE.name, asker: 'request', refusedFor: 'key' })
  expect(faults()['upstream_account']).toBe(
    'The upstream one refuses the gateway. Check the key UPSTREAM_API_KEY and its permissions.',
  )
})

test('a stopping process is not ready', () => {
  draining = true
  expect(Object.keys(faults())).toEqual(['serving'])
})

test('a process is not ready from a failure of the store until it has committed a write, and gives the reason', () => {
  readiness.storeFailed(null)
  expect(faults()['store']).toMatch(/^The store takes no writes\. Check /)
  readiness.storeFailed('readOnly')
  expect(faults()['store']).toMatch(/^The store takes no writes: it is read-only\. Check /)
  expect(readiness.isStoreDown).toBe(true)
  readiness.storeCommitted()
  expect(readiness.isStoreDown).toBe(false)
  expect(faults()).toEqual({})
})

test('a store that fails has a remedy for its own kind: a file, or the database of DATABASE_URL', () => {
  readiness.storeFailed(null)
  expect(faults()['store']).toMatch(/^The store takes no writes\. Check .* file of the store /)
  expect(faults()['store']).not.toContain('DATABASE_URL')
  readiness = on('postgres')
  readiness.storeFailed(null)
  expect(faults()['store']).toMatch(
    /^The store takes no writes\. Check .* database of DATABASE_URL /,
  )
})

test('a known fault of the store has only its own remedy', () => {
  readiness.storeFailed('full')
  expect(faults()['store']).toBe(
    'The store takes no writes: its disk is full. Free space on that disk; the log says more.',
  )
})

test('a process is not ready once the store has been silent for more than three heartbeats', () => {
  nowMs += 15_000
  expect(faults()).toEqual({})
  nowMs += 1
  expect(faults()['store']).toMatch(/^The store has committed nothing for 15 seconds\./)
  readiness.storeCommitted()
  expect(faults()).toEqual({})
})

test('an instance that others may have declared dead is not ready', () => {
  alive = false
  expect(Object.keys(faults())).toEqual(['store'])
})

test('a process without prices, or with stale ones, is not ready', () => {
  refreshedAtMs = null
  expect(faults()['prices']).toMatch(/^No prices have been loaded yet\./)
  refreshedAtMs = nowMs
  readiness.storeCommitted()
  nowMs += STALE_AFTER_MS
  readiness.storeCommitted()
  expect(faults()).toEqual({})
  nowMs += 1
  expect(faults()['prices']).toMatch(/^The prices are 60 minutes old\./)
})

test('a process is not ready from a refusal of its account until the provider accepts it', () => {
  expect(readiness.accountRefused(REQUEST)).toBe(true)
  expect(readiness.accountRefused(REQUEST)).toBe(false)
  expect(readiness.isAccountRefused('one')).toBe(true)
  expect(faults()['upstream_account']).toMatch(/UPSTREAM_API_KEY/)
  // The list of models is public: reading it does not show that requests are accepted.
  expect(readiness.accountAccepted({ upstream: 'one', asker: 'catalog' })).toBe(false)
  expect(Object.keys(faults())).toEqual(['upstream_account'])
  expect(readiness.accountAccepted(REQUEST)).toBe(true)
  expect(readiness.accountAccepted(REQUEST)).toBe(false)
  expect(readiness.isAccountRefused('one')).toBe(false)
  expect(faults()).toEqual({})
})

test('refusals that may concern only the request count from the second account on, with no accepted request in between', () => {
  const of = (likelyOf: string) => readiness.accountRefused({ ...REQUEST, likelyOf })
  expect([of('acct_1'), of('acct_1'), of('acct_1')]).toEqual([false, false, false])
  expect([faults(), readiness.isAccountRefused('one')]).toEqual([{}, false])
  readiness.accountAccepted(REQUEST)
  expect(of('acct_2')).toBe(false)
  // The catalog is accepted from an account whose requests are not.
  readiness.accountAccepted({ upstream: 'one', asker: 'catalog' })
  expect(of('acct_1')).toBe(true)
  expect(Object.keys(faults())).toEqual(['upstream_account'])
  expect([of('acct_1'), readiness.accountAccepted(REQUEST)]).toEqual([false, true])
  expect([of('acct_1'), faults()]).toEqual([false, {}])
})

test('refusals that may concern only the request are forgotten after five minutes, and renew a known refusal', () => {
  const of = (likelyOf: string) => readiness.accountRefused({ ...REQUEST, likelyOf })
  expect(of('acct_1')).toBe(false)
  nowMs += 5 * 60_000
  readiness.storeCommitted()
  expect([of('acct_2'), readiness.isAccountRefused('one')]).toEqual([false, false])
  readiness.accountAccepted(REQUEST)
  expect(readiness.accountRefused(REQUEST)).toBe(true)
  nowMs += 29_999
  expect(of('acct_1')).toBe(false)
  nowMs += 1
  readiness.storeCommitted()
  expect(Object.keys(faults())).toContain('upstream_account')
})

test('after half a minute a refused account can be tried again, and still counts as refused', () => {
  readiness.accountRefused(REQUEST)
  nowMs += 29_999
  readiness.storeCommitted()
  expect(Object.keys(faults())).toEqual(['upstream_account'])
  nowMs += 1
  expect(faults()).toEqual({})
  expect(readiness.isAccountRefused('one')).toBe(true)
  readiness.accountRefused(REQUEST)
  expect(Object.keys(faults())).toEqual(['upstream_account'])
})

test('a process is ready while one of two upstreams refuses its account, and not when both do', () => {
  const two = new Readiness({
    clock: { nowMs: () => nowMs },
    storeKind: 'sqlite',
    pricesStaleAfterMs: STALE_AFTER_MS,
    upstreams: [ONE, TWO],
  })
  two.accountRefused(REQUEST)
  expect(two.checks(sources).every(({ fault }) => fault === null)).toBe(true)
  expect(two.isAccountRefused('one')).toBe(true)
  expect(two.isAccountRefused('two')).toBe(false)
  two.accountRefused({ upstream: 'two', asker: 'catalog', refusedFor: 'key' })
  const [fault] = two.checks(sources).flatMap((check) => check.fault ?? [])
  expect(fault).toBe(
    "All upstreams refuse the gateway (one, two). No credit is left: add credit to the provider's account of the key UPSTREAM_API_KEY. Check the key TWO_API_KEY and its permissions.",
  )
})

test('a refused key counts until the upstream accepts it, or a request', () => {
  const key = { upstream: 'one', asker: 'key', refusedFor: 'key' } as const
  expect(readiness.accountRefused(key)).toBe(true)
  expect(faults()['upstream_account']).toContain('UPSTREAM_API_KEY')
  expect(readiness.accountAccepted({ upstream: 'one', asker: 'catalog' })).toBe(false)
  expect(readiness.accountAccepted(REQUEST)).toBe(true)
  readiness.accountRefused(key)
  expect(readiness.accountAccepted(key)).toBe(true)
  // A good key may have no credit behind it.
  readiness.accountRefused(REQUEST)
  expect(readiness.accountAccepted(key)).toBe(false)
  expect(readiness.isAccountRefused('one')).toBe(true)
})

test('an upstream without a key gets no check of its key', () => {
  const keyless = new Readiness({
    clock: { nowMs: () => nowMs },
    storeKind: 'sqlite',
    pricesStaleAfterMs: STALE_AFTER_MS,
    upstreams: [{ name: 'one', apiKeyVariable: null }],
  })
  keyless.accountRefused({ ...REQUEST, refusedFor: 'key' })
  const [fault] = keyless.checks(sources).flatMap((check) => check.fault ?? [])
  expect(fault).toBe(
    'The upstream one refuses the gateway. No key is sent to one: set its api_key if it needs one.',
  )
})
