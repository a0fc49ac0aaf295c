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

async function metricsPage(): Promise<string> {
  const { body } = await request(world.url('/metrics'), {
    headers: { authorization: `Bearer ${METRICS_TOKEN}` },
  })
  return body.text()
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
  const page = await metricsPage()
  expect(page).toMatch(/^tollgate_uncharged_requests_total 1$/m)
  expect(page).toMatch(/^tollgate_uncharged_dollars_total 0\.002$/m)
})

test('the cost of an answer that came after its hold was given up is recorded and counted, and never charged', async () => {
  world.simulator.script({ hold: 'beforeHeaders', gate: 'answer' })
  const answer = world.chat(account.apiKey)
  await world.simulator.gate('answer').arrived()
  const { ledger, store } = world.gateway
  const { requests } = await listRequests(store.db, { limit: 10 })
  const [requestId = ''] = requests.map(({ id }) => id)
  // As after a process that stood still for longer than the other gateways wait.
  await ledger.abandon(requestId)
  await ledger.correct({ requestId, correction: { kind: 'givenUp' } })
  world.simulator.gate('answer').release()
  expect((await answer).status).toBe(200)
  const line = await world.logged('the provider billed a released request')
  const row = await world.rowOf(requestId)
  expect(JSON.parse(line)).toMatchObject({ level: 40, requestId, costUsd: row.lateCostUsd })
  expect(row).toMatchObject({ state: 'released', backedChargeMicros: 0, lateReports: 1 })
  expect(await metricsPage()).toMatch(/^tollgate_uncharged_requests_total 1$/m)
  expect(await world.backedBalanceMicros(account.id)).toBe(10_000_000)
  await world.expectExactLedger()
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
