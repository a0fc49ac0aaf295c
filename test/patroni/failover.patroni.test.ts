import { request } from 'undici'
import { expect, inject, test } from 'vitest'
import { startWorld } from '../world.ts'
import { startCluster } from './cluster.ts'

const CLIENTS = 20
const ANSWERS = 300

test('a leader that is killed under load loses no answered request, and clients are served after the promotion', async () => {
  await using closing = new AsyncDisposableStack()
  const [first, second] = await startCluster(inject('patroni'), closing)
  const hosts = [first, second].map(({ postgresPort }) => `127.0.0.1:${postgresPort}`).join()
  const world = await startWorld({
    settings: {
      DATABASE_URL: `postgres://postgres:test@${hosts}/postgres`,
      TOLLGATE_REQUESTS_PER_MINUTE: '1000000',
    },
  })
  closing.defer(() => world.close())
  const { id, apiKeys } = await world.account({ creditMicros: 1_000_000_000, apiKeys: CLIENTS })
  const answered: string[] = []
  let [refused, longestMs, lastRefusedAtMs, isOver] = [0, 0, 0, false]
  const send = async (apiKey: string): Promise<number> => {
    const startedAtMs = performance.now()
    const { statusCode, headers, body } = await request(world.url('/v1/chat/completions'), {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model: 'sim/text', messages: [{ role: 'user', content: 'Hi' }] }),
    })
    await body.dump()
    if (statusCode === 200) answered.push(String(headers['x-request-id']))
    else {
      refused++
      lastRefusedAtMs = performance.now()
      longestMs = Math.max(longestMs, lastRefusedAtMs - startedAtMs)
    }
    return statusCode
  }
  const clients = apiKeys.map(async (apiKey) => {
    // A refused client asks again a twentieth of a second later.
    while (!isOver) await expect.poll(() => send(apiKey)).toBe(200)
  })
  await expect.poll(() => answered.length).toBeGreaterThan(ANSWERS)
  const killedAtMs = performance.now()
  first.kill()
  await expect.poll(() => second.is('primary')).toBe(true)
  const promotedAtMs = performance.now()
  const before = answered.length
  await expect.poll(() => answered.length).toBeGreaterThan(before + ANSWERS)
  isOver = true
  await Promise.all(clients)
  await world.gateway.settled()
  const rows = await world.gateway.store.db
    .selectFrom('all_requests')
    .select('id')
    .where('account_id', '=', id)
    .where('state', 'in', ['final', 'provisional'])
    .execute()
  const charged = new Set(rows.map((row) => row.id))
  const missing = answered.filter((requestId) => !charged.has(requestId))
  const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`
  console.log(
    `promoted ${seconds(promotedAtMs - killedAtMs)} after the kill, last refusal ${seconds(lastRefusedAtMs - promotedAtMs)} after that; ` +
      `${refused} refused, the longest waited ${seconds(longestMs)}; ` +
      `${answered.length - missing.length} of ${answered.length} answered requests charged`,
  )
  expect(missing).toEqual([])
  expect(longestMs).toBeLessThan(8_000)
  expect(lastRefusedAtMs - promotedAtMs).toBeLessThan(6_000)
  expect(await world.audit()).toMatchObject({ ok: true, wentBack: [] })
})
