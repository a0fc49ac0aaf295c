import { expect, test } from 'vitest'
import { MINUTE_MS } from '../../vocabulary/clock.ts'
import { parseDecimal } from '../../vocabulary/money.ts'
import { upstreamState } from './upstreams.ts'

const facts = {
  name: 'one',
  dialect: 'openrouter',
  inFlightMax: null,
  isAccountRefused: false,
  left: null,
}
const counts = (codes: Readonly<Record<string, number>>) =>
  Object.entries(codes).map(([code, requests]) => ({
    upstream: 'one',
    code: code === 'none' ? null : code,
    requests,
    answered: requests,
  }))
const good = { facts, judged: counts({ none: 9 }), listAgeMs: MINUTE_MS }

test('an upstream is healthy while its list is fresh and few requests fail at it', () => {
  expect(upstreamState(good)).toBe('healthy')
  expect(upstreamState({ ...good, judged: [] })).toBe('healthy')
  expect(upstreamState({ ...good, judged: counts({ none: 1, upstream_error: 2 }) })).toBe('healthy')
  expect(upstreamState({ ...good, judged: counts({ none: 31, upstream_error: 3 }) })).toBe(
    'healthy',
  )
})

test('mistakes of clients, and clients that leave, do not count as failures of an upstream', () => {
  const judged = counts({ client_gone: 40, provider_rejected_request: 40 })
  expect(upstreamState({ ...good, judged })).toBe('healthy')
})

test('an upstream fails from a tenth of its requests on', () => {
  const judged = counts({ none: 27, provider_rate_limited: 3 })
  expect(upstreamState({ ...good, judged })).toBe('failing')
  expect(upstreamState({ ...good, judged: counts({ none: 1, upstream_error: 9 }) })).toBe('failing')
})

test('an upstream that answers no request is unreachable, with or without a list', () => {
  const judged = counts({ upstream_error: 2, upstream_timeout: 1 })
  expect(upstreamState({ ...good, judged })).toBe('unreachable')
  expect(upstreamState({ ...good, judged, listAgeMs: null })).toBe('unreachable')
})

test('an upstream without a fresh list has no models, which does not say that it is unreachable', () => {
  expect(upstreamState({ ...good, listAgeMs: 61 * MINUTE_MS })).toBe('no_models')
  expect(upstreamState({ ...good, judged: [], listAgeMs: null })).toBe('no_models')
})

test('a refused key is reported before low credit, and low credit before failures', () => {
  const judged = counts({ upstream_error: 9 })
  const low = { ...facts, left: parseDecimal('4.99') }
  expect(upstreamState({ ...good, facts: low, judged })).toBe('credit_low')
  expect(upstreamState({ ...good, facts: { ...low, isAccountRefused: true } })).toBe('key_refused')
  expect(upstreamState({ ...good, facts: { ...facts, left: parseDecimal('5') } })).toBe('healthy')
})
