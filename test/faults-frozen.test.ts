import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { getRequest, listRequests } from '../src/ledger/activity/activity.ts'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'
import type { TestDatabase } from '../src/store/testing/test-databases.ts'
import { chatAt, type ServeProcess, serve } from './tollgate-process.ts'
import { startWorld, type World } from './world.ts'

const ASKED = { max_tokens: 64 }

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

/** The session of a gateway on this database that waits for a row; undefined: none does. */
async function waitingSession(): Promise<number | undefined> {
  const { rows } = await watcher.query<{ pid: number }>(
    `select pid from pg_stat_activity
      where datname = current_database() and application_name = 'tollgate' and wait_event_type = 'Lock'`,
  )
  return rows[0]?.pid
}

/** The state of a session; null: it has ended. */
async function stateOf(pid: number): Promise<string | null> {
  const { rows } = await watcher.query<{ state: string }>(
    'select state from pg_stat_activity where pid = $1',
    [pid],
  )
  return rows[0]?.state ?? null
}

test('a gateway that freezes within a transaction blocks an account for at most five seconds, and its own request ends as 503 without a hold', async () => {
  const blocked = await world.account()
  const neighbour = await world.account()

  // Frozen while it waits for the row, it gets the row's lock and cannot release it.
  await locker.query('begin')
  await locker.query('select 1 from accounts where id = $1 for update', [blocked.id])
  const frozen = chatAt(other, blocked.apiKey, ASKED)
  await expect.poll(waitingSession, { interval: 5 }).toBeDefined()
  const pid = (await waitingSession()) ?? 0
  other.signal('SIGSTOP')
  await locker.query('commit')
  // Only this session: heartbeats of either gateway are in separate transactions for a moment.
  await expect.poll(() => stateOf(pid), { interval: 5 }).toBe('idle in transaction')

  // A command that needs the row waits for two seconds; other commands do not, even in the same batch.
  const [refused, admitted] = await Promise.all([
    world.chat(blocked.apiKey, ASKED),
    world.chat(neighbour.apiKey, ASKED),
  ])
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({ error: { code: 'service_unavailable' } })
  expect(admitted.status, await admitted.text()).toBe(200)
  expect(await stateOf(pid)).toBe('idle in transaction')

  // The database throws the frozen one out, and the account is free while it is still frozen.
  await expect.poll(() => stateOf(pid), { interval: 20 }).toBeNull()
  const next = await world.chat(blocked.apiKey, ASKED)
  expect(next.status, await next.text()).toBe(200)

  other.signal('SIGCONT')
  const thawed = await frozen
  expect(thawed.status).toBe(503)
  expect(await thawed.json()).toMatchObject({ error: { code: 'service_unavailable' } })
  const again = await chatAt(other, blocked.apiKey, ASKED)
  expect(again.status, await again.text()).toBe(200)

  // A request that was answered 503 has no hold and is not in Activity.
  await world.gateway.ledger.sure()
  const { db } = world.gateway.store
  for (const answer of [refused, thawed]) {
    expect(await getRequest(db, answer.headers.get('x-request-id') ?? '')).toBeNull()
  }
  const { requests } = await listRequests(db, { limit: 10 })
  expect(requests.length).toBe(3)
  expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
})
