import { request } from 'undici'
import { afterEach, expect, test } from 'vitest'
import type { Fault } from '../simulator/faults.ts'
import { listRequests } from '../src/ledger/activity/activity.ts'
import type { RequestRow } from '../src/store/schema.ts'
import { worldOfEach } from './world.ts'

const CHAT = {
  model: 'sim/text',
  messages: [{ role: 'user', content: 'Say hello, at some length.' }],
}
const CREDIT_MICROS = 10_000_000

const world = worldOfEach()
let accountId: string

afterEach(async () => {
  const charged = (await onlyRequest()).backedChargeMicros
  expect(charged).toBeGreaterThan(0)
  expect(await world.backedBalanceMicros(accountId)).toBe(CREDIT_MICROS - charged)
  expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
})

async function onlyRequest(): Promise<RequestRow> {
  const [row, ...others] = (await listRequests(world.gateway.store.db, { limit: 10 })).requests
  if (row === undefined || others.length > 0) throw new Error('not one request')
  return row
}

/** Sends a chat and leaves while the provider has yet to answer; resolves with the provider's side. */
async function leaveBeforeHeaders(stream: boolean, fault: Fault = {}) {
  const account = await world.account({ creditMicros: CREDIT_MICROS })
  accountId = account.id
  world.simulator.script({ hold: 'beforeHeaders', ...fault })
  const leaving = new AbortController()
  const answer = request(world.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { 'x-api-key': account.apiKey },
    body: JSON.stringify({ ...CHAT, stream }),
    signal: leaving.signal,
  })
  await world.simulator.gate().arrived()
  leaving.abort()
  await expect(answer).rejects.toThrow()
  return world.simulator.nextRequest()
}

test('a client that leaves a call that is not streamed is charged the cost of the whole answer', async () => {
  const upstream = await leaveBeforeHeaders(false)
  world.simulator.gate().release()
  expect(await upstream.ended).toBe('finished')
  await world.gateway.settled()
  const { state, costUsd } = await onlyRequest()
  expect([state, costUsd]).toEqual(['provisional', expect.anything()])
})

test('a client that leaves a stream before its headers is charged the amount that the provider billed', async () => {
  const upstream = await leaveBeforeHeaders(true, { ignoresCancel: true })
  // The call continues without the client until the provider answers: its hold stays, and it uses no place in flight.
  expect((await onlyRequest()).generationId).toBeNull()
  world.simulator.gate().release()
  expect(await upstream.ended).toBe('clientGone')
  await world.gateway.settled()
  await world.logged('request reconciled')
  const { state, generationId } = await onlyRequest()
  expect([state, generationId]).toEqual(['final', upstream.generationId])
})
