import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MemoryLog } from '../../test/memory-log.ts'
import { openStore } from '../store/open-store.ts'
import type { Store } from '../store/store.ts'
import {
  type PostgresServer,
  type StandbyServer,
  startPostgresServer,
} from '../store/testing/postgres-server.ts'
import { Metrics } from '../telemetry/metrics.ts'
import { Readiness } from '../telemetry/readiness.ts'
import { Telemetry } from '../telemetry/telemetry.ts'
import { openReplicationWatch } from './replication-watch.ts'

// A server of its own, whose settings change.
let primary: PostgresServer
let standby: StandbyServer

beforeAll(async () => {
  primary = await startPostgresServer({ settings: ['max_connections=30', 'fsync=off'] })
  standby = await primary.standby('s1')
})

afterAll(async () => {
  await standby.stop()
  await primary.stop()
})

function watch(store: Pick<Store, 'db' | 'location'>) {
  const lines = new MemoryLog()
  const log = pino({ level: 'trace' }, lines)
  const metrics = new Metrics({ version: '1', mode: 'live' })
  const readiness = new Readiness({
    clock: { nowMs: () => 0 },
    storeKind: 'postgres',
    pricesStaleAfterMs: 1,
    upstreams: [],
  })
  const telemetry = new Telemetry({ log, readiness, metrics, tracer: null, meter: null })
  const closing = new AsyncDisposableStack()
  openReplicationWatch({ log, telemetry, closing }, { store, intervalMs: 10 })
  /** The levels and words so far. */
  const said = () =>
    lines.lines.map((line) => JSON.parse(line)).map(({ level, msg }) => [level, msg])
  /** The kind whose figure is 1, and those of 0. */
  const figures = async () =>
    [...(await metrics.render()).matchAll(/^tollgate_store_standby\{kind="(\w+)"\} (\d)$/gm)].map(
      ([, kind, figure]) => `${kind} ${figure}`,
    )
  return { closing, said, figures, logged: (text: string) => lines.logged(text) }
}

async function names(value: string): Promise<void> {
  await primary.run(`alter system set synchronous_standby_names = '${value}'`)
  await primary.run('select pg_reload_conf()')
}

test('a gateway says at its start, and whenever it changes, whether commits wait for a standby', async () => {
  const store = await openStore({ url: primary.url('postgres') })
  const { closing, said, figures, logged } = watch(store)
  await logged('the standby s1 follows asynchronously')
  expect(await figures()).toEqual(['synchronous 0', 'asynchronous 1', 'none 0'])
  await names('s1')
  await logged('commits wait for a standby (synchronous_standby_names = s1)')
  expect(await figures()).toEqual(['synchronous 1', 'asynchronous 0', 'none 0'])
  await standby.kill()
  // Until the primary has seen that it is gone, it would count as an asynchronous standby.
  while ((await primary.run('select 1 from pg_stat_replication')).length > 0);
  // As Patroni does without strict mode.
  await names('')
  await logged('no standby follows this server')
  expect(await figures()).toEqual(['synchronous 0', 'asynchronous 0', 'none 1'])
  await closing.disposeAsync()
  const loses =
    'a failover loses the last commits; docs/scale.md says how to make the standby synchronous'
  expect(said()).toEqual([
    [40, `the standby s1 follows asynchronously: ${loses}`],
    [30, 'commits wait for a standby (synchronous_standby_names = s1)'],
    [40, `no standby follows this server now: ${loses}`],
  ])
  await standby.start()
  // The next test begins with a standby that follows.
  const follows = "select 1 from pg_stat_replication where state = 'streaming'"
  while ((await primary.run(follows)).length === 0);
  await store.close()
})

test('a gateway whose user may not read the state of standbys reports that too', async () => {
  await primary.run("create role plain login password 'plain'")
  await primary.run('grant create on schema public to plain')
  const url = new URL(primary.url('postgres'))
  const owned = await openStore({ url: url.href })
  await primary.run('grant all on all tables in schema public to plain')
  url.username = 'plain'
  url.password = 'plain'
  const store = await openStore({ url: url.href })
  const { closing, said, logged } = watch(store)
  await logged('follows asynchronously')
  await closing.disposeAsync()
  expect(said()).toMatchObject([[40, expect.stringMatching(/^the standby s1 follows /)]])
  await store.close()
  await owned.close()
})

test('a store on SQLite has no standby, and no log line mentions one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  const store = await openStore({ url: `sqlite:${join(folder, 'store.db')}` })
  const { closing, said, figures } = watch(store)
  await closing.disposeAsync()
  expect(said()).toEqual([])
  expect(await figures()).toEqual([])
  await store.close()
  rmSync(folder, { recursive: true })
})
