import { request } from 'undici'
import { beforeEach, expect, test } from 'vitest'
import type { Fault } from '../simulator/faults.ts'
import { listRequests } from '../src/ledger/activity/activity.ts'
import type { RequestRow } from '../src/store/schema.ts'
import { type TestAccount, worldOfEach } from './world.ts'

const ADMIN_API_TOKEN = 'admin-token-of-the-test'
const METRICS_TOKEN = 'metrics-token-of-the-test'

let account: TestAccount

const world = worldOfEach({ settings: { ADMIN_API_TOKEN, METRICS_TOKEN } })
beforeEach(async () => {
  account = await world.account()
})

/** Sends a stream that ends like this; resolves once it is settled and looked up. */
async function streamOnce(fault: Fault, until: string): Promise<RequestRow | undefined> {
  world.simulator.script({ path: '/chat/completions', lookupCostUsd: 0.002, ...fault })
  const messages = [{ role: 'user', content: 'Say hello, at some length.' }]
  const answer = await world.chat(account.apiKey, { stream: true, messages })
  await answer.text().catch(() => {})
  await world.gateway.settled()
  await world.logged(until)
  const { requests } = await listRequests(world.gateway.store.db, { limit: 10 })
  expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
  return requests[0]
}

test('the cost of a stream that the provider dropped is recorded and counted, and never charged', async () => {
  const row = await streamOnce(
    { cut: { at: { afterEvents: 2 }, how: 'reset' } },
    'the provider billed a released request',
  )
  expect(row).toMatchObject({
    state: 'released',
    backedChargeMicros: 0,
    backedHeldMicros: 0,
    costUsd: null,
    lateCostUsd: '0.002',
    lateReports: 1,
  })
  expect(await world.backedBalanceMicros(account.id)).toBe(10_000_000)

  const shown = await request(world.url(`/v1/admin/requests/${row?.id}`), {
    headers: { authorization: `Bearer ${ADMIN_API_TOKEN}` },
  })
  expect(await shown.body.json()).toMatchObject({
    state: 'released',
    charge: 0,
    provider_cost: null,
    uncharged_provider_cost: '0.002',
  })
  const metrics = await request(world.url('/metrics'), {
    headers: { authorization: `Bearer ${METRICS_TOKEN}` },
  })
  const page = await metrics.body.text()
  expect(page).toMatch(/^tollgate_uncharged_requests_total 1$/m)
  expect(page).toMatch(/^tollgate_uncharged_dollars_total 0\.002$/m)
})

test('a stream that came coded, so that it could not be read, is looked up and charged', async () => {
  const row = await streamOnce({ contentEncoding: 'gzip' }, 'request reconciled')
  expect(row).toMatchObject({
    state: 'final',
    costUsd: '0.002',
    backedChargeMicros: 2_100,
    lateCostUsd: null,
    errorCode: 'upstream_error',
  })
  expect(await world.backedBalanceMicros(account.id)).toBe(10_000_000 - 2_100)
})
