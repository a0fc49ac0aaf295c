import { expect, test } from 'vitest'
import { getRequest } from '../src/ledger/activity.ts'
import { startWorld } from './world.ts'

const KEYS = 25
const REQUESTS = 200
const FITTING = 50
const BODY = JSON.stringify({
  model: 'sim/text',
  max_tokens: 64,
  messages: [{ role: 'user', content: 'Say hello.' }],
})

test('of 200 concurrent requests on credit for exactly 50, 50 run, 150 get 402, and the balance is exact', async () => {
  const world = await startWorld()
  const send = (apiKey: string) =>
    fetch(world.url('/v1/chat/completions'), {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: BODY,
    })

  const probe = await world.account()
  const probed = await send(probe.apiKey)
  const requestId = probed.headers.get('x-request-id') ?? ''
  await probed.text()
  const probeRow = await getRequest(world.gateway.store.db, requestId)
  const holdMicros = probeRow?.backedGrantedMicros ?? 0
  expect(holdMicros).toBeGreaterThan(0)

  const creditMicros = holdMicros * FITTING
  const account = await world.account({ creditMicros, apiKeys: KEYS })
  world.simulator.script({ hold: 'beforeHeaders', times: 'always' })

  const answers = Array.from({ length: REQUESTS }, (_, i) => send(account.apiKeys[i % KEYS] ?? ''))
  let refused = 0
  const allRefused = Promise.withResolvers<void>()
  for (const answer of answers) {
    void answer.then(({ status }) => {
      if (status === 402 && ++refused === REQUESTS - FITTING) allRefused.resolve()
    })
  }
  await Promise.all([world.simulator.gate().arrived(FITTING), allRefused.promise])
  world.simulator.gate().release()

  let charged = 0
  const statuses = new Map<number, number>()
  for (const answer of await Promise.all(answers)) {
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    const body: unknown = await answer.json()
    if (answer.status === 200) charged += Number(answer.headers.get('x-service-cost'))
    else
      expect(body).toMatchObject({
        error: { code: 'insufficient_credit', type: 'insufficient_credit' },
      })
  }
  expect(Object.fromEntries(statuses)).toEqual({ 200: FITTING, 402: REQUESTS - FITTING })
  expect(world.simulator.gate().arrivals).toBe(FITTING)
  expect(charged).toBeGreaterThan(0)
  expect(await world.backedBalanceMicros(account.id)).toBe(creditMicros - charged)
  expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
  await world.close()
})
