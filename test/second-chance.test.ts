import { expect, test } from 'vitest'
import type { Fault } from '../simulator/faults.ts'
import { listRequests } from '../src/ledger/activity/activity.ts'
import { worldOfEach } from './world.ts'

const CREDIT_MICROS = 10_000_000

const world = worldOfEach({ settings: { TOLLGATE_LOOKUPS: 'all' } })

async function chat(apiKey: string, fault: Fault) {
  world.simulator.script(fault)
  const answer = await world.chat(apiKey)
  await answer.text().catch(() => null)
  return answer
}

async function onlyRequest() {
  const { requests } = await listRequests(world.gateway.store.db, { limit: 10 })
  expect(requests).toHaveLength(1)
  return requests[0]
}

async function becomes(state: string): Promise<void> {
  await expect.poll(async () => (await onlyRequest())?.state).toBe(state)
}

test('a provisional charge becomes what the provider has on record, and the ledger adds up', async () => {
  const { id, apiKey } = await world.account({ creditMicros: CREDIT_MICROS })
  const answer = await chat(apiKey, { costUsd: 0.001, lookupCostUsd: 0.0012 })
  expect(answer.headers.get('x-service-cost')).toBe('1050')
  await becomes('final')
  expect(await world.backedBalanceMicros(id)).toBe(CREDIT_MICROS - 1_260)
  expect((await world.audit()).differences).toEqual([])
})

test('a request shows the tokens that the provider has on record where its answer had none', async () => {
  const { apiKey } = await world.account({ creditMicros: CREDIT_MICROS })
  await chat(apiKey, { cut: { at: { afterBytes: 10 }, how: 'reset' } })
  expect((await onlyRequest())?.usage).toBeNull()
  await becomes('final')
  const ran = world.simulator.generations.find((await onlyRequest())?.generationId ?? '')
  const counts = { ...ran?.counts }
  expect((await onlyRequest())?.usage).toMatchObject({
    inputTokens: counts.inputTokens,
    outputTokens: counts.outputTokens,
  })
  expect(counts.inputTokens).toBeGreaterThan(0)
})

test('an answer that was lost is charged once the provider says what it cost', async () => {
  const { id, apiKey } = await world.account({ creditMicros: CREDIT_MICROS })
  const cut: Fault = { cut: { at: { afterBytes: 10 }, how: 'reset' }, lookupCostUsd: 0.002 }
  const answer = await chat(apiKey, cut)
  expect(answer.status).toBe(502)
  await becomes('final')
  expect(await world.backedBalanceMicros(id)).toBe(CREDIT_MICROS - 2_100)
  expect((await world.audit()).differences).toEqual([])
})
