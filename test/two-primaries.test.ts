import { request } from 'undici'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type PostgresServer,
  type StandbyServer,
  startPostgresServer,
} from '../src/store/testing/postgres-server.ts'
import { startWorld, type World } from './world.ts'

/** A standby is promoted while a gateway is still connected to the old primary, which still accepts writes. */

let old: PostgresServer
let promoted: StandbyServer
let world: World
let apiKey: string

beforeEach(async () => {
  old = await startPostgresServer({ settings: ['max_connections=60', 'fsync=off'] })
  promoted = await old.standby('s1')
})
afterEach(async () => {
  await world.close()
  await old.stop()
  await promoted.stop()
})

/** Starts a gateway that knows both servers, and has it answer a request that the standby has too. */
async function serveFromOld(): Promise<void> {
  const [a, b] = [new URL(old.url('postgres')), new URL(promoted.url('postgres'))]
  const DATABASE_URL = `postgres://${a.username}:${a.password}@${a.host},${b.host}/postgres`
  // Requests are sent until one is answered: a limit of the key would make the rest of a minute of them refusals.
  const settings = { DATABASE_URL, TOLLGATE_REQUESTS_PER_MINUTE: '1000000' }
  world = await startWorld({ settings })
  apiKey = (await world.account()).apiKey
  expect(await chat()).toBe(200)
  await world.gateway.settled()
  const arrived = 'select 1 from pg_stat_replication where replay_lsn >= pg_current_wal_lsn()'
  while ((await old.run(arrived)).length === 0);
}

async function chat(): Promise<number> {
  const answer = await world.chat(apiKey)
  await answer.text()
  return answer.status
}

async function gaps() {
  return world.gateway.store.db.selectFrom('store_gaps').select(['requests', 'lost']).execute()
}

test('commits of a gateway at the old primary are booked again at the new one once the old one is stopped, and reported', async () => {
  await serveFromOld()
  await promoted.promote()
  for (let count = 0; count < 3; count++) expect(await chat()).toBe(200)
  await world.gateway.settled()
  await old.kill()
  await expect.poll(chat).toBe(200)
  expect(await world.logged('the database went back')).toContain('3 requests')
  await world.gateway.settled()
  // The log has it first, and then the store.
  await expect.poll(gaps).toEqual([{ requests: 3, lost: 0 }])
  const requests = await world.gateway.store.db.selectFrom('all_requests').select('id').execute()
  expect(requests).toHaveLength(5)
  expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
})

test('an old primary whose commits wait for the standby that was promoted answers no request, and nothing is lost', async () => {
  await serveFromOld()
  await old.run("alter system set synchronous_standby_names = 's1'")
  await old.run('select pg_reload_conf()')
  const synced = "select 1 from pg_stat_replication where sync_state = 'sync'"
  while ((await old.run(synced)).length === 0);
  await promoted.promote()
  expect(await chat()).toBe(503)
  expect(await chat()).toBe(503)
  const ready = await request(world.url('/readyz'))
  expect(ready.statusCode).toBe(503)
  expect(await ready.body.text()).toContain('the commit waits for the standby')
  await old.kill()
  await expect.poll(chat).toBe(200)
  await world.gateway.settled()
  expect(await gaps()).toEqual([])
  expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
})
