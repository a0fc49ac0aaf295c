import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { getRequest, listRequests } from '../src/ledger/activity/activity.ts'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'
import type { TestDatabase } from '../src/store/testing/test-databases.ts'
import { type ServeProcess, serve } from './tollgate-process.ts'
import { startWorld, type World } from './world.ts'

const BODY = '{"model":"sim/text","max_tokens":64,"messages":[{"role":"user","content":"Hi"}]}'

let database: TestDatabase
let folder: string
let world: World
let other: ServeProcess
let locker: Client
let watcher: Client

beforeEach(async () => {
  database = await createPostgresDatabase()
  folder = mkdtempSync(join(tmpdir(), 'tollgate-frozen-'))
  world = await startWorld({ settings: { DATABASE_URL: database.url } })
  other = await serve({
    folder,
    env: {
      DATABASE_URL: database.url,
      UPSTREAM_BASE_URL: world.simulator.baseUrl,
      UPSTREAM_API_KEY: 'upstream-key',
    },
  })
  locker = new Client(database.url)
  await locker.connect()
  watcher = new Client(database.url)
  await watcher.connect()
})

afterEach(async () => {
  await other.stop('SIGTERM')
  await world.close()
  await locker.end()
  await watcher.end()
  await database.remove()
  rmSync(folder, { recursive: true, force: true })
})

function send(address: string, apiKey: string): Promise<Response> {
  return fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: BODY,
  })
}

/** The sessions of gateways on this database that are like this at the moment. */
async function sessions(condition: string): Promise<number> {
  const { rows } = await watcher.query(
    `select 1 from pg_stat_activity
      where datname = current_database() and application_name = 'tollgate' and ${condition}`,
  )
  return rows.length
}

const WAITS_FOR_LOCK = "wait_event_type = 'Lock'"
const IN_TRANSACTION = "state = 'idle in transaction'"

test('a gateway that freezes within a transaction keeps an account from the others for five seconds at most, and its own request ends as 503 without a hold', async () => {
  const blocked = await world.account()
  const neighbour = await world.account()

  // Frozen while it waits for the row, it is given the row with nobody there to let go of it.
  await locker.query('begin')
  await locker.query('select 1 from accounts where id = $1 for update', [blocked.id])
  const frozen = send(other.address, blocked.apiKey)
  await expect.poll(() => sessions(WAITS_FOR_LOCK), { interval: 5 }).toBe(1)
  other.signal('SIGSTOP')
  await locker.query('commit')
  await expect.poll(() => sessions(IN_TRANSACTION), { interval: 5 }).toBe(1)

  // Whoever needs the row waits for two seconds; who needs another does not, even in the same batch.
  const [refused, admitted] = await Promise.all([
    send(world.gateway.address, blocked.apiKey),
    send(world.gateway.address, neighbour.apiKey),
  ])
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({ error: { code: 'service_unavailable' } })
  expect(admitted.status, await admitted.text()).toBe(200)
  expect(await sessions(IN_TRANSACTION)).toBe(1)

  // The database throws the frozen one out, and the account is free while it is still frozen.
  await expect.poll(() => sessions(IN_TRANSACTION), { interval: 20 }).toBe(0)
  const next = await send(world.gateway.address, blocked.apiKey)
  expect(next.status, await next.text()).toBe(200)

  other.signal('SIGCONT')
  const thawed = await frozen
  expect(thawed.status).toBe(503)
  expect(await thawed.json()).toMatchObject({ error: { code: 'service_unavailable' } })
  const again = await send(other.address, blocked.apiKey)
  expect(again.status, await again.text()).toBe(200)

  // Whoever was told 503 has no hold and is not in Activity.
  await world.gateway.ledger.sure()
  const { db } = world.gateway.store
  for (const answer of [refused, thawed]) {
    expect(await getRequest(db, answer.headers.get('x-request-id') ?? '')).toBeNull()
  }
  const { requests } = await listRequests(db, { limit: 10 })
  expect(requests.length).toBe(3)
  expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
})
