import fc from 'fast-check'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS } from '../../vocabulary/clock.ts'
import { auditStore, auditView } from '../audit/audit.ts'
import { STORE_BENCHES } from '../testing/benches.ts'
import { randomScriptOfHours, SETUP } from '../testing/random-script.ts'
import { runScript } from '../testing/script.ts'
import type { StoreBench } from '../testing/store-bench.ts'
import { listRequests } from './activity.ts'
import { ActivityPruner } from './activity-pruner.ts'
import { prunedUntilMsOf } from './prune-requests.ts'

// Day 1 at its start, then day 3; requests are kept for a day.
const SCRIPT = `account A
  key K A
  key L A
  credit A backed 1000 r1
  credit A free 10 r2 until 900000
  at 86400
  open R1 K 50 free
  settle R1 final 60
  open R2 K 50
  settle R2 released
  open R3 K 50
  settle R3 provisional 20 estimate
  open R4 K 50
  settle R4 unresolved
  open R5 K 50
  open R6 L 50
  settle R6 provisional 20
  correct R6 final 7
  at 259199.999
  open R7 L 50
  settle R7 final 30
  at 259200
  open R8 L 50
  settle R8 final 40`

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: StoreBench
  let pruners: ActivityPruner[]
  let reported: unknown[]

  beforeEach(async () => {
    bench = await open()
    pruners = []
    reported = []
  })
  afterEach(async () => {
    await Promise.all(pruners.map((pruner) => pruner.stop()))
    await bench.close()
  })

  /** A pruner at a moment, in days since the epoch, that keeps requests for a day. */
  type Input = ConstructorParameters<typeof ActivityPruner>[0]
  function prunerAt(day: number, input: Partial<Input> = {}): ActivityPruner {
    const pruner = new ActivityPruner({
      store: bench.store,
      clock: { nowMs: () => day * DAY_MS },
      keepDays: 1,
      onPruned: (requests) => reported.push(requests),
      onFailure: (cause) => reported.push(cause),
      ...input,
    })
    pruners.push(pruner)
    return pruner
  }

  async function requestIds(): Promise<string[]> {
    const rows = await bench.db.selectFrom('all_requests').select('id').orderBy('id').execute()
    return rows.map(({ id }) => id)
  }

  test('only requests that were settled before the time to keep are pruned', async () => {
    await runScript(bench, SCRIPT)
    const entries = await bench.entries('A')
    // At the end of day 4: requests settled before the end of day 3 are a day old.
    expect(await prunerAt(4).pass()).toBe(4)
    expect(await requestIds()).toEqual(['R3', 'R4', 'R5', 'R8'])
    expect(await bench.entries('A')).toEqual(entries)
    expect(await auditStore(bench.store)).toMatchObject({ ok: true, checked: { requests: 4 } })
    const kept = await bench.db
      .selectFrom('pruned_requests')
      .selectAll()
      .orderBy('api_key_id')
      .execute()
    const ofA = { account_id: 'A', written_off_micros: 0 }
    expect(kept).toEqual([
      {
        ...ofA,
        api_key_id: 'K',
        requests: 2,
        backed_charge_micros: 50,
        free_charge_micros: 10,
        latest_settled_at_ms: DAY_MS,
      },
      {
        ...ofA,
        api_key_id: 'L',
        requests: 2,
        backed_charge_micros: 37,
        free_charge_micros: 0,
        latest_settled_at_ms: 3 * DAY_MS - 1,
      },
    ])
    expect(await prunerAt(4).pass()).toBe(0)
  })

  test('requests that are settled later are pruned later, and added to the same sums', async () => {
    await runScript(bench, SCRIPT)
    await prunerAt(4).pass()
    await runScript(bench, 'at 345600\ncorrect R3 final 33\ncorrect R4 givenUp\nsettle R5 final 1')
    expect(await prunerAt(5.5).pass()).toBe(4)
    expect(await requestIds()).toEqual([])
    expect(await auditStore(bench.store)).toMatchObject({ ok: true, checked: { requests: 0 } })
  })

  test('a store that was never pruned, and one that was, show a difference of one micro-dollar', async () => {
    await runScript(bench, SCRIPT)
    const change = (statement: string) => sql.raw(statement).execute(bench.db)
    // An entry of R7 and every figure that follows from it: only the sums of the pruned know.
    const entry = (by: number) =>
      `update entries set amount_micros = amount_micros + ${by} where request_id = 'R7'`
    const followed = async (by: number) => {
      await change(entry(by))
      await change(`update accounts set backed_balance_micros = backed_balance_micros + ${by}`)
      await change(`update api_keys set spend_micros = spend_micros - ${by} where id = 'L'`)
    }
    await followed(1)
    expect((await auditStore(bench.store)).ok).toBe(false)
    await followed(-1)
    await prunerAt(4).pass()
    expect((await auditStore(bench.store)).ok).toBe(true)
    await followed(1)
    expect((await auditStore(bench.store)).differences).toEqual([
      { what: 'pruned_requests.backed_charge_micros', id: 'L', stored: 37, recomputed: 36 },
    ])
    await followed(-1)
    for (const damage of [
      entry(1),
      'update accounts set backed_balance_micros = backed_balance_micros + 1',
      "update api_keys set spend_micros = spend_micros + 1 where id = 'K'",
      "update pruned_requests set free_charge_micros = free_charge_micros + 1 where api_key_id = 'K'",
      "update pruned_requests set written_off_micros = 1 where api_key_id = 'K'",
      "delete from pruned_requests where api_key_id = 'L'",
      "delete from requests where id = 'R8'",
      "delete from entries where request_id = 'R1' and purse = 'free'",
    ]) {
      const undone = bench.db.transaction().execute(async (trx) => {
        await sql.raw(damage).execute(trx)
        throw await auditView(trx)
      })
      await expect(undone, damage).rejects.toMatchObject({ ok: false })
    }
    expect((await auditStore(bench.store)).ok).toBe(true)
  })

  test('several pruners at once, and small batches, prune each request once', async () => {
    await runScript(bench, SCRIPT)
    const counts = await Promise.all(
      [1, 2, 3].map((batchRowsMax) => prunerAt(4, { batchRowsMax }).pass()),
    )
    expect(counts.reduce((all, some) => all + some, 0)).toBe(4)
    expect(await requestIds()).toEqual(['R3', 'R4', 'R5', 'R8'])
    expect((await auditStore(bench.store)).ok).toBe(true)
  })

  test('a list continues after its cursor when the rows there are pruned', async () => {
    await runScript(bench, SCRIPT)
    const first = await listRequests(bench.store.reports, { limit: 2 })
    expect(first.requests.map(({ id }) => id)).toEqual(['R8', 'R7'])
    await prunerAt(4).pass()
    const next = await listRequests(bench.store.reports, { limit: 2, cursor: first.nextCursor })
    expect(next.requests.map(({ id }) => id)).toEqual(['R5', 'R4'])
    const last = await listRequests(bench.store.reports, { limit: 2, cursor: next.nextCursor })
    expect(last).toMatchObject({ requests: [{ id: 'R3' }], nextCursor: null })
  })

  test('the time in a request id decides whether the request may have been pruned', async () => {
    const { db } = bench
    expect(await prunedUntilMsOf(db, 'R1')).toBeNull()
    await runScript(bench, SCRIPT)
    await prunerAt(4).pass()
    expect(await prunedUntilMsOf(db, 'R1')).toBe(3 * DAY_MS - 1)
    expect(await prunedUntilMsOf(db, 'req_7zzzzzzzzz')).toBeNull()
  })

  test('after random histories only old settled requests go, and the ledger is exact', async () => {
    await fc.assert(
      fc.asyncProperty(randomScriptOfHours, fc.nat(), async (script, seed) => {
        const random = await open()
        try {
          await runScript(random, `${SETUP}\n${script}`)
          const rows = await random.store.db.selectFrom('all_requests').selectAll().execute()
          const moments = rows.map((row) => row.settled_at_ms ?? row.opened_at_ms)
          const beforeMs = moments[seed % Math.max(1, moments.length)] ?? 0
          const pruner = new ActivityPruner({
            store: random.store,
            clock: { nowMs: () => beforeMs + DAY_MS },
            keepDays: 1,
            onPruned: () => {},
            onFailure: () => {},
          })
          const old = rows.filter(
            ({ state, settled_at_ms }) =>
              (state === 'final' || state === 'released') && (settled_at_ms ?? 0) < beforeMs,
          )
          expect(await pruner.pass()).toBe(old.length)
          await pruner.stop()
          const left = await random.store.db.selectFrom('all_requests').selectAll().execute()
          expect(new Set(left)).toEqual(new Set(rows.filter((row) => !old.includes(row))))
          await random.audit()
        } finally {
          await random.close()
        }
      }),
      { numRuns: 4 },
    )
  })
})
