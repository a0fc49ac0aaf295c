import type { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { StoreUnavailable } from '../../store/store-failure.ts'
import { connected } from '../testing/connected.ts'
import { holdOf, Neighbours, WIDE_LIMITS } from '../testing/neighbours.ts'
import type { PostgresBench } from '../testing/postgres-bench.ts'
import { postgresLedger } from './create-ledger.ts'

let neighbours: Neighbours
let bench: PostgresBench
let outsider: Client

beforeEach(async () => {
  neighbours = await Neighbours.open()
  ;({ bench, outsider } = neighbours)
})
afterEach(() => neighbours.close())

describe('a connection that is lost', () => {
  test('fails its commands, and the next commit opens another', async () => {
    await neighbours.setUp(['A'])
    await outsider.query("begin; select from accounts where id = 'A' for update")
    const lost = bench.ledger.openHold(holdOf('R1', 'KA'))
    lost.catch(() => {})
    await neighbours.untilStatementWaits()
    await outsider.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    await expect(lost).rejects.toBeInstanceOf(StoreUnavailable)
    await outsider.query('commit')
    expect(await bench.ledger.openHold(holdOf('R2', 'KA'))).toMatchObject({ kind: 'opened' })
    await bench.ledger.sure()
    expect(await bench.request('R1')).toBeUndefined()
  })

  test('with the answer to a commit on it leaves no hold of a request whose open was refused', async () => {
    await neighbours.setUp(['A'])
    const { proxy, ledger } = await neighbours.severable()
    await ledger.openHold(holdOf('R1', 'KA'))
    // The commit is still under way when the hold is asked about.
    await outsider.query(`
      create function take_time() returns trigger language plpgsql
        as 'begin perform pg_sleep(0.3); return null; end';
      create constraint trigger slow after insert on holds deferrable initially deferred
        for each row execute function take_time()`)
    proxy.severAfter('commit\0')
    await expect(ledger.openHold(holdOf('R2', 'KA'))).rejects.toBeInstanceOf(StoreUnavailable)
    await ledger.sure()
    expect(await bench.request('R2')).toMatchObject({ state: 'released', httpStatus: 503 })
    expect(await ledger.openHold(holdOf('R3', 'KA'))).toMatchObject({ kind: 'opened' })
  })

  test('before the commit was sent leaves no hold either', async () => {
    await neighbours.setUp(['A'])
    const { proxy, ledger } = await neighbours.severable()
    await ledger.openHold(holdOf('R1', 'KA'))
    proxy.severBefore('save')
    await expect(ledger.openHold(holdOf('R2', 'KA'))).rejects.toBeInstanceOf(StoreUnavailable)
    await ledger.sure()
    expect(await bench.request('R2')).toBeUndefined()
    expect(await ledger.openHold(holdOf('R3', 'KA'))).toMatchObject({ kind: 'opened' })
  })

  test('without an error counts as lost after a time-out', async () => {
    await neighbours.setUp(['A'])
    const { proxy, ledger } = await neighbours.severable({
      unsureRetryMs: 1,
      answerTimeoutMs: 2_000,
    })
    await connected(ledger)
    proxy.stallAfter('commit\0')
    await expect(ledger.openHold(holdOf('R2', 'KA'))).rejects.toBeInstanceOf(StoreUnavailable)
    await ledger.sure()
    expect(await bench.request('R2')).toMatchObject({ state: 'released', httpStatus: 503 })
    // On a slow machine an answer may come too late too; the next hold is asked for until its answer does not.
    const next = (tries: number): Promise<unknown> =>
      ledger.openHold(holdOf(`R${tries}`, 'KA')).catch(() => next(tries + 1))
    expect(await next(3)).toMatchObject({ kind: 'opened' })
  })

  test('because the server has too many connections makes the store unavailable', async () => {
    await neighbours.setUp(['A'])
    const { rows } = await outsider.query<{ name: string }>('select current_database() as name')
    const name = rows[0]?.name ?? ''
    await outsider.query(`alter database ${name} connection limit 0`)
    await outsider.query("create role clerk login password 'clerk'")
    const url = new URL(bench.url)
    url.username = 'clerk'
    url.password = 'clerk'
    const ledger = postgresLedger({ url: url.href, limits: WIDE_LIMITS })
    const opened = ledger.openHold(holdOf('R1', 'KA'))
    await expect(opened).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(opened).rejects.toThrow(/too many connections/)
    await ledger.close()
    await outsider.query('drop role clerk')
  })
})
