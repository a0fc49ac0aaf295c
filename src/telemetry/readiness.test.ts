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

beforeEach(() => {
  nowMs = 1_000_000
  draining = false
  alive = true
  refreshedAtMs = nowMs
  readiness = new Readiness({ clock: { nowMs: () => nowMs }, pricesStaleAfterMs: STALE_AFTER_MS })
})

/** The checks that fail, by name, each with what it says. */
function faults(): Record<string, string> {
  const failing = readiness.checks(sources).filter(({ fault }) => fault !== null)
  return Object.fromEntries(failing.map(({ name, fault }) => [name, fault ?? '']))
}

test('a process that has just started, with prices, is ready', () => {
  expect(readiness.checks(sources).map(({ name }) => name)).toEqual([
    'serving',
    'store',
    'prices',
    'upstream_account',
  ])
  expect(faults()).toEqual({})
})

test('a process that stops is not ready', () => {
  draining = true
  expect(Object.keys(faults())).toEqual(['serving'])
})

test('a store that fails makes it unready until the store answers anything', () => {
  readiness.storeFailed()
  expect(faults()['store']).toMatch(/DATABASE_URL/)
  readiness.storeAnswered()
  expect(faults()).toEqual({})
})

test('a store that says nothing for longer than three heartbeats makes it unready', () => {
  nowMs += 15_000
  expect(faults()).toEqual({})
  nowMs += 1
  expect(faults()['store']).toMatch(/^The store has not answered for 15 seconds\./)
  readiness.storeAnswered()
  expect(faults()).toEqual({})
})

test('an instance that may have been taken for dead is not ready', () => {
  alive = false
  expect(Object.keys(faults())).toEqual(['store'])
})

test('prices that are missing or past their age make it unready', () => {
  refreshedAtMs = null
  expect(faults()['prices']).toMatch(/^No prices were ever loaded\./)
  refreshedAtMs = nowMs
  readiness.storeAnswered()
  nowMs += STALE_AFTER_MS
  readiness.storeAnswered()
  expect(faults()).toEqual({})
  nowMs += 1
  expect(faults()['prices']).toMatch(/^The prices are 60 minutes old\./)
})

test('a refused account makes it unready, until the provider does something for it', () => {
  expect(readiness.accountRefused('request')).toBe(true)
  expect(readiness.accountRefused('request')).toBe(false)
  expect(readiness.isAccountRefused).toBe(true)
  expect(faults()['upstream_account']).toMatch(/UPSTREAM_API_KEY/)
  // A list of models that anybody may read says nothing of requests.
  expect(readiness.accountAccepted('catalog')).toBe(false)
  expect(Object.keys(faults())).toEqual(['upstream_account'])
  expect(readiness.accountAccepted('request')).toBe(true)
  expect(readiness.accountAccepted('request')).toBe(false)
  expect(readiness.isAccountRefused).toBe(false)
  expect(faults()).toEqual({})
})

test('a refusal that is half a minute old is worth a try, and is still the last word', () => {
  readiness.accountRefused('request')
  nowMs += 29_999
  readiness.storeAnswered()
  expect(Object.keys(faults())).toEqual(['upstream_account'])
  nowMs += 1
  expect(faults()).toEqual({})
  expect(readiness.isAccountRefused).toBe(true)
  readiness.accountRefused('request')
  expect(Object.keys(faults())).toEqual(['upstream_account'])
})
