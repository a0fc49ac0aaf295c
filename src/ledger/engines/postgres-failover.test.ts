import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../store/open-store.ts'
import { StoreUnavailable } from '../../store/store-failure.ts'
import { type PostgresServer, startPostgresServer } from '../../store/testing/postgres-server.ts'
import { LEDGER_LIMITS_DEFAULT, type OpenHoldVerdict } from '../ledger.ts'
import { connected } from '../testing/connected.ts'
import { holdInput, runScript } from '../testing/script.ts'
import { benchOnStore, type StoreBench } from '../testing/store-bench.ts'
import type { BatchedLedger } from './batched-ledger.ts'
import { postgresLedger } from './create-ledger.ts'

const LIMITS = { ...LEDGER_LIMITS_DEFAULT, keyRequestsPerMinuteMax: 1_000_000 }

// A server of its own, whose settings change.
let server: PostgresServer
let admin: Client
let ledger: BatchedLedger
let bench: StoreBench

beforeAll(async () => {
  server = await startPostgresServer({ settings: ['max_connections=30', 'fsync=off'] })
  admin = new Client(server.url('template1'))
  await admin.connect()
  await admin.query('set synchronous_commit = local; set default_transaction_read_only = off')
})

afterAll(async () => {
  await admin.end()
  await server.stop()
})

beforeEach(async () => {
  const url = server.url('postgres')
  const store = await openStore({ url })
  ledger = postgresLedger({ url, limits: LIMITS, unsureRetryMs: 20 })
  bench = benchOnStore({ store, ledger, remove: async () => {} })
  const account = `A${Date.now()}`
  await bench.createAccount(account)
  await bench.createApiKey(`K${account}`, account)
  await runScript(bench, `credit ${account} backed 1000000000 first`)
  opened = 0
  owner = account
})

afterEach(() => bench.close())

let owner = ''
let opened = 0

function open(): Promise<OpenHoldVerdict> {
  return ledger.openHold(
    holdInput(`R${owner}${opened++}`, {
      accountId: owner,
      apiKeyId: `K${owner}`,
      amountMicros: 100,
    }),
  )
}

/** Changes a setting of the whole server, and resolves when its sessions have it. By position: the change, the name, the value. */
async function set(change: string, name: string, value: string): Promise<void> {
  await admin.query(change)
  await admin.query('select pg_reload_conf()')
  for (;;) {
    const probe = new Client(server.url('template1'))
    await probe.connect()
    const { rows } = await probe.query(`show ${name}`)
    await probe.end()
    if (rows[0]?.[name] === value) return
  }
}

test('a server that takes no more writes is unavailable, and is written to as soon as it takes them', async () => {
  const name = 'default_transaction_read_only'
  expect(await open()).toMatchObject({ kind: 'opened' })
  await set(`alter system set ${name} = on`, name, 'on')
  // On the connection that was there, and on each one that is made in its place.
  for (let tries = 0; tries < 3; tries++) await expect(open()).rejects.toThrow(StoreUnavailable)
  await expect(open()).rejects.toThrow('is read-only')
  await set(`alter system reset ${name}`, name, 'off')
  // The first may share a connection that a release began to make before.
  await connected(ledger)
  expect(await open()).toMatchObject({ kind: 'opened' })
})

test('a commit whose wait for the standby was cancelled does not count', async () => {
  const name = 'synchronous_standby_names'
  expect(await open()).toMatchObject({ kind: 'opened' })
  await set(`alter system set ${name} = 'away'`, name, 'away')
  const waiting = open()
  const refused = expect(waiting).rejects.toThrow(StoreUnavailable)
  for (;;) {
    const { rows } = await admin.query(
      "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and query = 'commit'",
    )
    if (rows.length > 0) break
  }
  await refused
  await set(`alter system reset ${name}`, name, '')
  await ledger.sure()
  // The hold was stored after all, but its commit was not confirmed: it is released.
  expect(await bench.account(owner)).toMatchObject({ backedHeldMicros: 100 })
  await bench.audit()
})
