import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { openStore } from '../../store/open-store.ts'
import { NotSent, RowsLocked, StoreUnavailable } from '../../store/store-failure.ts'
import { OwnTime } from '../../store/testing/own-time.ts'
import {
  type PostgresServer,
  type StandbyServer,
  startPostgresServer,
} from '../../store/testing/postgres-server.ts'
import { type SeveringProxy, startSeveringProxy } from '../../store/testing/severing-proxy.ts'
import { micros } from '../../vocabulary/money.ts'
import { LEDGER_LIMITS_DEFAULT, type OpenHoldVerdict } from '../ledger.ts'
import { costOfCharge, FACTS, holdInput, runScript } from '../testing/script.ts'
import { benchOnStore, type StoreBench } from '../testing/store-bench.ts'
import type { BatchedLedger, CommitReport } from './batched-ledger.ts'
import { postgresLedger } from './create-ledger.ts'
import type { StoreGap } from './went-back.ts'

const LIMITS = { ...LEDGER_LIMITS_DEFAULT, keyRequestsPerMinuteMax: 1_000_000, openHoldsMax: 1_000 }

/** The most that a refused client waits, and the most until requests are served again. */
const REFUSED_MS_MAX = 8_000
const SERVED_MS_MAX = 6_000

/** The most that a request waits while another account's row is locked. */
const OTHERS_MS_MAX = 3_000

const KEYS = { A: 'K', B: 'L' } as const

let primary: PostgresServer
let standby: StandbyServer
let proxy: SeveringProxy
let ledger: BatchedLedger
let bench: StoreBench
const gaps: StoreGap[] = []
let opened = 0
let ownTime: OwnTime

beforeAll(async () => {
  ownTime = new OwnTime()
  primary = await startPostgresServer({ settings: ['max_connections=40', 'fsync=off'] })
  standby = await primary.standby('s1')
  proxy = await startSeveringProxy(primary.url('postgres'))
  const store = await openStore({ url: primary.url('postgres') })
  ledger = ledgerAt(proxy.url)
  bench = benchOnStore({ store, ledger, remove: async () => {} })
  await bench.createAccount('A')
  await bench.createApiKey('K', 'A')
  await bench.createAccount('B')
  await bench.createApiKey('L', 'B')
  await runScript(bench, 'credit A backed 1000000000 first\ncredit B backed 1000000000 first')
})

afterAll(async () => {
  ownTime.close()
  await bench.close()
  await proxy.close()
  await standby.stop()
  await primary.stop()
})

function ledgerAt(url: string, onCommit: (report: CommitReport) => void = () => {}): BatchedLedger {
  return postgresLedger({
    url,
    limits: LIMITS,
    unsureRetryMs: 20,
    onCommit,
    wentBack: { instanceId: `I${opened}`, onWentBack: (gap) => gaps.push(gap) },
  })
}

/** Opens a hold on a ledger, and resolves with its request. By position: the ledger, and the key's account. */
async function open(on = ledger, accountId: keyof typeof KEYS = 'A'): Promise<string> {
  const requestId = `R${opened}`
  expect(await ask(on, accountId, 100)).toMatchObject({ kind: 'opened' })
  return requestId
}

/** Asks for the next hold. By position: the ledger, the key's account, and the amount. */
function ask(
  on: BatchedLedger,
  accountId: keyof typeof KEYS,
  amountMicros: number,
): Promise<OpenHoldVerdict> {
  return on.openHold(
    holdInput(`R${opened++}`, { accountId, apiKeyId: KEYS[accountId], amountMicros }),
  )
}

function settle(requestId: string, on = ledger): Promise<unknown> {
  const resolution = {
    kind: 'final',
    chargeMicros: micros(7),
    costUsd: costOfCharge(micros(7)),
  } as const
  return on.settle({ requestId, resolution, facts: FACTS })
}

/** Until it is durable, as the settler does. */
async function settleAtLast(requestId: string, on = ledger): Promise<void> {
  for (;;) {
    try {
      await settle(requestId, on)
      return
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnavailable)
    }
  }
}

/** Opens holds until one is refused, and resolves with why. */
async function refusal(on = ledger): Promise<Error> {
  for (;;) {
    const startedAtMs = ownTime.nowMs()
    try {
      await open(on)
    } catch (error) {
      expect(ownTime.nowMs() - startedAtMs).toBeLessThan(REFUSED_MS_MAX)
      if (error instanceof StoreUnavailable) return error
      throw error
    }
  }
}

/** Opens holds until one is taken, which may last for seconds. */
async function served(on = ledger): Promise<void> {
  const startedAtMs = ownTime.nowMs()
  for (;;) {
    try {
      await open(on)
      break
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnavailable)
    }
    expect(ownTime.nowMs() - startedAtMs).toBeLessThan(SERVED_MS_MAX)
  }
}

/** Changes a setting of the primary, and resolves when its sessions have it. */
async function set(name: string, value: string): Promise<void> {
  await primary.run(`alter system set ${name} = '${value}'`)
  await primary.run('select pg_reload_conf()')
  for (;;) if ((await primary.run(`show ${name}`))[0]?.[name] === value) return
}

describe('requests of a gateway', () => {
  test('that lands on a standby are refused, and their answers charged once it finds the primary', async () => {
    const streams = await Promise.all(Array.from({ length: 10 }, () => open()))
    proxy.to(standby.url('postgres'))
    onTestFailed(() => proxy.to(primary.url('postgres')))
    // The first may still be sent on the connection that was cut.
    await refusal()
    expect(await refusal()).toBeInstanceOf(NotSent)
    const settled = Promise.all(streams.map((requestId) => settleAtLast(requestId)))
    expect((await refusal()).message).toMatch(/is read-only$/)
    proxy.to(primary.url('postgres'))
    await served()
    await settled
    for (const requestId of streams) {
      expect(await bench.request(requestId)).toMatchObject({ state: 'final' })
    }
  })

  test('whose database falls silent are refused in seconds, and taken in seconds', async () => {
    await open()
    proxy.silence()
    onTestFailed(() => proxy.speak())
    expect((await refusal()).message).toMatch(/no answer for 5 seconds|does not answer/)
    proxy.speak()
    await served()
  })

  test('whose commit waits for a missing standby are refused in seconds, with the reason', async () => {
    // Its own commits alone: the ledger of the other tests may still be releasing a hold that it was unsure of.
    const outcomes: CommitReport['outcome'][] = []
    const other = ledgerAt(primary.url('postgres'), ({ outcome }) => outcomes.push(outcome))
    expect((await ask(other, 'B', 2_000_000_000)).kind).toBe('refused')
    expect(outcomes).toEqual(['unwritten'])
    // A release that waited too would be the earlier commit that these holds wait for.
    await ledger.sure()
    onTestFailed(() => set('synchronous_standby_names', 's1'))
    await set('synchronous_standby_names', 'gone')
    expect((await refusal()).message).toMatch(/the commit waits for the standby$/)
    // Without a write the server has nothing to wait for: that does not show that it accepts writes.
    outcomes.length = 0
    expect(await other.abandonHolds([])).toBe(0)
    expect(outcomes).toContain('unwritten')
    expect(outcomes).not.toContain('committed')
    await other.close()
    await set('synchronous_standby_names', 's1')
    // A standby that comes back streams at once; this one was there, and says how far it is when something is written.
    await primary.run(`select pg_logical_emit_message(false, 'test', 'written')`)
    await served()
    await ledger.sure()
  })

  test('are refused in seconds while their row is locked, and commands of another account are accepted in three', async () => {
    const locking = new Client(primary.url('postgres'))
    onTestFailed(() => locking.end())
    await locking.connect()
    await locking.query("begin; select from accounts where id = 'A' for update")
    const refused = refusal()
    // One after another: each would wait for the row if its commit waited for it.
    for (let count = 0; count < 10; count++) {
      const startedAtMs = ownTime.nowMs()
      await open(ledger, 'B')
      expect(ownTime.nowMs() - startedAtMs).toBeLessThan(OTHERS_MS_MAX)
    }
    expect(await refused).toBeInstanceOf(RowsLocked)
    await locking.end()
    await served()
  })

  test('that knows both servers continue after a failover, without a proxy, and lose nothing', async () => {
    const [a, b] = [new URL(primary.url('postgres')), new URL(standby.url('postgres'))]
    const url = `postgres://${a.username}:${a.password}@${a.host},${b.host}/postgres`
    const both = ledgerAt(url)
    const answered: string[] = []
    for (let count = 0; count < 20; count++) answered.push(await open(both))
    await primary.kill()
    // The first may still be sent on the connection that is ending, which is all that its refusal then says.
    await refusal(both)
    expect((await refusal(both)).message).toContain('no server of DATABASE_URL takes writes')
    await standby.promote()
    await served(both)
    for (const requestId of answered) await settleAtLast(requestId, both)
    const store = await openStore({ url })
    const rows = await store.db
      .selectFrom('all_requests')
      .select('id')
      .where('id', 'in', answered)
      .where('state', '=', 'final')
      .execute()
    expect(rows).toHaveLength(20)
    expect(gaps).toEqual([])
    await store.close()
    await both.close()
    await primary.start()
  })
})

test('an asynchronous standby that was behind has every answered request again once it is the primary', async () => {
  const from = await startPostgresServer({ settings: ['max_connections=40', 'fsync=off'] })
  const to = await from.standby('s1')
  const [a, b] = [new URL(from.url('postgres')), new URL(to.url('postgres'))]
  const url = `postgres://${a.username}:${a.password}@${a.host},${b.host}/postgres`
  const store = await openStore({ url })
  const lost: StoreGap[] = []
  const behind = postgresLedger({
    url,
    limits: LIMITS,
    wentBack: { instanceId: 'J', onWentBack: (gap) => lost.push(gap) },
  })
  const own = benchOnStore({ store, ledger: behind, remove: async () => {} })
  await own.createAccount('A')
  await own.createApiKey('K', 'A')
  await runScript(own, 'credit A backed 1000000 first')
  const arrived = await open(behind)
  // The standby has all of it before it is cut off.
  for (;;) {
    // The table itself may not be there yet.
    const [schema] = await to.run(`select to_regclass('requests') is not null as there`)
    if (schema?.['there'] !== true) continue
    const found = await to.run(`select 1 from all_requests where id = '${arrived}'`)
    if (found.length > 0) break
  }
  await to.cutReplication()
  const answered: string[] = []
  for (let count = 0; count < 164; count++) answered.push(await open(behind))
  await Promise.all(answered.map((requestId) => settle(requestId, behind)))
  await from.kill()
  await to.promote()
  await served(behind)
  expect(lost).toMatchObject([{ requests: 164, chargeMicros: 164 * 7, lost: 0 }])
  const rows = await store.db
    .selectFrom('all_requests')
    .select('id')
    .where('state', '=', 'final')
    .execute()
  expect(rows.map(({ id }) => id).toSorted()).toEqual(answered.toSorted())
  await own.audit()
  await own.close()
  await to.stop()
  await from.start()
  await from.stop()
})
