import { afterEach, expect, test } from 'vitest'
import type { Fault } from '../simulator/faults.ts'
import { listRequests } from '../src/ledger/activity/activity.ts'
import type { RequestRow } from '../src/store/schema.ts'
import { startWorld, type World } from './world.ts'

let world: World

afterEach(() => world.close())

async function chat(apiKey: string, fault: Fault, model = 'sim/text'): Promise<number> {
  world.simulator.script(fault)
  const answer = await world.chat(apiKey, { model })
  await answer.text()
  await world.gateway.settled()
  return answer.status
}

/** Newest first. */
async function rows(): Promise<readonly RequestRow[]> {
  return (await listRequests(world.gateway.store.db, { limit: 100 })).requests
}

const untilAllFinal = () =>
  expect.poll(async () => (await rows()).every(({ state }) => state === 'final')).toBe(true)

test('a reported cost is final after its time, without a look-up and without another entry', async () => {
  world = await startWorld({ settings: { TOLLGATE_STANDS_AFTER_MS: '500' } })
  const { id, apiKey } = await world.account({ creditMicros: 10_000_000 })
  // The lot falls on one in a hundred.
  for (let sent = 0; sent < 5; sent++) await chat(apiKey, { costUsd: 0.001 })
  await untilAllFinal()
  const stood = (await rows()).filter(({ costStands }) => costStands)
  expect(stood.length).toBeGreaterThan(2)
  const asked = world.simulator.requests.filter(({ path }) => path === '/generation')
  expect(asked.length).toBe(5 - stood.length)
  expect(await world.backedBalanceMicros(id)).toBe(10_000_000 - 5 * 1_050)
  expect((await world.audit()).differences).toEqual([])
})

test('a cost that was estimated, lost, large or paid by another key is looked up at once, with its tokens', async () => {
  world = await startWorld()
  const { id, apiKey } = await world.account({ creditMicros: 10_000_000 })
  const looked: readonly Fault[] = [
    { omit: ['cost'], lookupCostUsd: 0.002 },
    { cut: { at: { afterBytes: 10 }, how: 'reset' }, lookupCostUsd: 0.002 },
    { costUsd: 0.2, lookupCostUsd: 0.002 },
  ]
  for (const fault of looked) await chat(apiKey, fault)
  await untilAllFinal()
  const lost = (await rows())[1]
  const ran = world.simulator.generations.find(lost?.generationId ?? '')
  expect(ran?.counts.inputTokens).toBeGreaterThan(0)
  expect(lost?.usage).toMatchObject({
    inputTokens: ran?.counts.inputTokens,
    outputTokens: ran?.counts.outputTokens,
  })
  const byok = '"is_byok":true'
  world.simulator.script({
    path: '/generation',
    rawBody: `{"data":{"id":"gen-byok","total_cost":0.001,${byok},"upstream_inference_cost":0.001}}`,
  })
  await chat(apiKey, {
    rawBody: `{"id":"gen-byok","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"cost":0.001,${byok}}}`,
  })
  await untilAllFinal()
  expect((await rows()).map(({ costStands }) => costStands)).toEqual(Array(4).fill(false))
  expect(await world.backedBalanceMicros(id)).toBe(10_000_000 - 4 * 2_100)
  expect((await world.audit()).differences).toEqual([])
})

test('after one difference all requests of the model are looked up, even those whose cost was already accepted', async () => {
  world = await startWorld()
  const { id, apiKey } = await world.account({ creditMicros: 100_000_000 })
  const wrong: Fault = { costUsd: 0.001, lookupCostUsd: 0.0012 }
  for (let sent = 0; sent < 3; sent++) await chat(apiKey, wrong)
  // Large enough to be looked up.
  await chat(apiKey, { costUsd: 0.2, lookupCostUsd: 0.21 })
  await untilAllFinal()
  expect(await world.logged('a reported cost was wrong')).toContain('sim/text on chat')
  expect(await world.backedBalanceMicros(id)).toBe(100_000_000 - 3 * 1_260 - 220_500)
  expect((await world.audit()).differences).toEqual([])
})

test('a usage of the key beyond the booked costs turns on all look-ups', async () => {
  world = await startWorld()
  const { apiKey } = await world.account({ creditMicros: 100_000_000 })
  const refresh = () => world.gateway.refresher.refreshNow()
  const looks = () => world.simulator.requests.filter(({ path }) => path === '/key').length
  await expect.poll(looks).toBe(1)
  await chat(apiKey, { costUsd: 0.001 })
  world.simulator.generations.use(3)
  for (const more of [2, 3]) {
    await refresh()
    await expect.poll(looks).toBe(more)
  }
  expect(await world.logged('a reported cost was wrong')).toContain('all of')
  await untilAllFinal()
  await chat(apiKey, { costUsd: 0.001 })
  await untilAllFinal()
  expect((await rows()).map(({ costStands }) => costStands)).toEqual([false, false])
})

test.each([
  [0, 2_000],
  [10_000, 4_000],
])('a looked-up cost is charged at the fee of its request, %d: %d', async (fee, charge) => {
  world = await startWorld()
  const { id, apiKey } = await world.account({ creditMicros: 10_000_000 })
  await world.gateway.ledger.updateAccount({ id, feeBasisPoints: fee }, null)
  await chat(apiKey, { omit: ['cost'], lookupCostUsd: 0.002 })
  await untilAllFinal()
  expect(await world.backedBalanceMicros(id)).toBe(10_000_000 - charge)
})
