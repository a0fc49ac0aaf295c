import { request } from 'undici'
import { expect, test } from 'vitest'
import { listRequests } from '../src/ledger/activity/activity.ts'
import { startWorld } from './world.ts'

const STREAM = JSON.stringify({
  model: 'sim/text',
  stream: true,
  messages: [{ role: 'user', content: 'Say hello, at some length.' }],
})

test('a client that leaves a call that is not streamed is charged what the whole answer cost', async () => {
  const world = await startWorld()
  const account = await world.account()
  world.simulator.script({ hold: 'beforeHeaders' })
  const leaving = new AbortController()
  const answer = request(world.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { 'x-api-key': account.apiKey },
    body: STREAM.replace('"stream":true', '"stream":false'),
    signal: leaving.signal,
  })
  await world.simulator.gate().arrived()
  leaving.abort()
  await expect(answer).rejects.toThrow()
  world.simulator.gate().release()
  const upstream = await world.simulator.nextRequest()
  expect(await upstream.ended).toBe('finished')
  await world.gateway.settled()

  const { requests } = await listRequests(world.gateway.store.db, { limit: 10 })
  expect(requests.map(({ state, costUsd }) => [state, costUsd !== null])).toEqual([
    ['provisional', true],
  ])
  expect(await world.backedBalanceMicros(account.id)).toBeLessThan(10_000_000)
  expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
  await world.close()
})

test('a client that leaves a stream before its headers is charged what the provider billed', async () => {
  const world = await startWorld()
  const account = await world.account()
  world.simulator.script({ hold: 'beforeHeaders', ignoresCancel: true })
  const leaving = new AbortController()
  const answer = request(world.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { 'x-api-key': account.apiKey },
    body: STREAM,
    signal: leaving.signal,
  })
  const upstream = await world.simulator.nextRequest()
  await world.simulator.gate().arrived()
  leaving.abort()
  await expect(answer).rejects.toThrow()
  // The provider has it to itself until it answers: its hold waits, and no place is taken.
  const [left] = (await listRequests(world.gateway.store.db, { limit: 10 })).requests
  expect(left?.generationId).toBeNull()
  world.simulator.gate().release()
  expect(await upstream.ended).toBe('clientGone')
  await world.gateway.settled()
  await world.logged('request reconciled')

  const { requests } = await listRequests(world.gateway.store.db, { limit: 10 })
  expect(requests.map(({ state, generationId }) => [state, generationId])).toEqual([
    ['final', upstream.generationId],
  ])
  const chargedMicros = requests[0]?.backedChargeMicros ?? 0
  expect(chargedMicros).toBeGreaterThan(0)
  expect(await world.backedBalanceMicros(account.id)).toBe(10_000_000 - chargedMicros)
  expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
  await world.close()
})
