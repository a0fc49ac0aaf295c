import type { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { StoreRefused } from '../../store/store-failure.ts'
import { micros } from '../../vocabulary/money.ts'
import { Presence } from '../instances/presence.ts'
import { holdOf, Neighbours, WIDE_LIMITS } from '../testing/neighbours.ts'
import type { PostgresBench } from '../testing/postgres-bench.ts'
import { runLoad, unanswered } from '../testing/run-load.ts'
import { FACTS, runScript } from '../testing/script.ts'
import { postgresLedger } from './create-ledger.ts'
import { LOCK_FOUND, ROW_STATEMENTS, STATEMENTS } from './postgres-statements.ts'

let neighbours: Neighbours
let bench: PostgresBench
let outsider: Client

beforeEach(async () => {
  neighbours = await Neighbours.open()
  ;({ bench, outsider } = neighbours)
})
afterEach(() => neighbours.close())

test('a count of a period that the server cancels refuses only its own command', async () => {
  await neighbours.setUp(['A', 'B'])
  bench.nowMs = Date.parse('2026-11-22T12:00:00Z')
  await bench.ledger.openHold(holdOf('req_zzzz', 'KA'))
  const resolution = { kind: 'released' } as const
  await bench.ledger.settle({ requestId: 'req_zzzz', resolution, facts: FACTS })
  // Reading a request is cancelled for this role, as by the time-out of statements.
  const role = `clerk_${process.pid}`
  await outsider.query(`
    create role ${role}; grant all on all tables in schema public to ${role};
    create function cancelled() returns boolean language plpgsql as
      $$ begin raise exception 'cancelled' using errcode = '57014'; end $$;
    alter table requests enable row level security;
    alter view all_requests set (security_invoker = true);
    create policy reads on requests for select using (cancelled());
    create policy ends on requests for insert with check (true)`)
  const url = new URL(bench.url)
  url.searchParams.set('options', `-c role=${role}`)
  const nowMs = (): number => Date.parse('2026-11-22T12:00:01Z')
  const ledger = postgresLedger({ url: url.href, clock: { nowMs }, limits: WIDE_LIMITS })
  const allowance = {
    allowanceMicros: micros(5),
    allowancePeriod: 'day',
    allowanceTimeZone: 'UTC',
  } as const
  const [held, set] = await Promise.allSettled([
    ledger.addCredit({
      accountId: 'B',
      purse: 'backed',
      amountMicros: micros(1),
      expiresAtMs: null,
      reference: 'other',
    }),
    ledger.updateApiKey({ id: 'KA', allowance }),
  ])
  await ledger.close()
  await outsider.query(`alter table requests disable row level security;
    drop policy reads on requests; drop policy ends on requests;
    drop owned by ${role}; drop role ${role}`)
  expect(held.status).toBe('fulfilled')
  expect(set).toMatchObject({ status: 'rejected', reason: expect.any(StoreRefused) })
  expect((await bench.apiKey('KA')).allowance).toBeNull()
})

test('a right that is missing refuses only the commands that need it, until it is granted', async () => {
  await neighbours.setUp(['A', 'B'])
  const role = `clerk_${process.pid}`
  await outsider.query(`create role ${role}; grant all on all tables in schema public to ${role};
    revoke insert on credit_codes from ${role}`)
  const sessions = async () => {
    const opened = "select pid from pg_stat_activity where application_name = 'denied'"
    return (await outsider.query(opened)).rows
  }
  const outcomes: string[] = []
  const ledger = neighbours.beside({
    url: `${bench.url}?application_name=denied&options=-c%20role=${role}`,
    onCommit: ({ outcome }) => outcomes.push(outcome),
  })
  await ledger.openHold(holdOf('R1', 'KA', 'A'))
  const before = await sessions()
  expect(before).toHaveLength(1)
  const code = { codeHash: 'h', displaySuffix: 's', amountMicros: micros(1), expiresAtMs: null }
  const addCode = () => ledger.addCreditCode({ id: 'code_1', ...code })
  const answers = await Promise.allSettled([addCode(), ledger.openHold(holdOf('R2', 'KA', 'A'))])
  expect(answers).toMatchObject([
    { status: 'rejected', reason: { name: 'StoreUnavailable' } },
    { status: 'fulfilled', value: { kind: 'opened' } },
  ])
  expect(outcomes).toEqual(['committed', 'refused', 'refused', 'committed'])
  await outsider.query(`grant insert on credit_codes to ${role}`)
  await addCode()
  expect(await sessions()).toEqual(before)
  await ledger.close()
  await outsider.query(`drop owned by ${role}; drop role ${role}`)
})

test('columns that a newer gateway adds break no statement of a running older gateway', async () => {
  await neighbours.setUp(['A'])
  await bench.ledger.openHold(holdOf('R1', 'KA'))
  for (const table of [
    'accounts',
    'api_keys',
    'holds',
    'requests',
    'entries',
    'credit_codes',
    'purchases',
  ]) {
    await outsider.query(`alter table ${table} add column later text not null default ''`)
  }
  for (const requestId of ['R2', 'R3', 'R4']) {
    expect(await bench.ledger.openHold(holdOf(requestId, 'KA'))).toMatchObject({
      grantedMicros: 10,
    })
  }
  await runScript(bench, 'credit A backed 5 second')
})

describe('several instances', () => {
  test('admit exactly as many of 1,000 requests as there is credit for', async () => {
    const keys = Array.from({ length: 40 }, (_, place) => `K${place}`)
    await bench.createAccount('A')
    for (const apiKey of keys) await bench.createApiKey(apiKey, 'A')
    await runScript(bench, 'credit A backed 3170 first')
    const other = neighbours.beside({ batchCommandsMax: 7 })
    const verdicts = await Promise.all(
      Array.from({ length: 1_000 }, (_, place) =>
        (place % 2 === 0 ? bench.ledger : other).openHold(
          holdOf(`R${place}`, keys[place % keys.length] ?? ''),
        ),
      ),
    )
    const kinds = Map.groupBy(verdicts, (verdict) =>
      verdict.kind === 'opened' ? 'opened' : verdict.code,
    )
    expect(kinds.get('opened')).toHaveLength(317)
    expect(kinds.get('insufficient_credit')).toHaveLength(683)
    expect(await runScript(bench, 'show A →')).toBe('show A → backed 3170 held 3170, free 0 held 0')
  })

  test('settle one hold once, however often each is asked', async () => {
    await neighbours.setUp(['A'])
    await bench.ledger.openHold(holdOf('R', 'KA'))
    const other = neighbours.beside()
    const settles = await Promise.all(
      Array.from({ length: 40 }, (_, place) =>
        (place % 2 === 0 ? bench.ledger : other).settle({
          requestId: 'R',
          resolution: {
            kind: 'provisional',
            chargeMicros: micros(place),
            costUsd: null,
            generationId: 'G',
          },
          facts: FACTS,
        }),
      ),
    )
    expect(settles.filter(({ settledNow }) => settledNow)).toHaveLength(1)
    expect(new Set(settles.map(({ chargedMicros }) => chargedMicros)).size).toBe(1)
  })

  test('count by the time of the database, not by their own', async () => {
    await neighbours.setUp(['A'])
    const now = async () => {
      const { rows } = await outsider.query<{ now: string }>(
        'select floor(extract(epoch from clock_timestamp()) * 1000) as now',
      )
      return Number(rows[0]?.now)
    }
    const ledger = neighbours.beside()
    const before = await now()
    await ledger.openHold(holdOf('R', 'KA'))
    const after = await now()
    const openedAtMs = (await bench.request('R'))?.openedAtMs ?? 0
    expect(openedAtMs).toBeGreaterThanOrEqual(before)
    expect(openedAtMs).toBeLessThanOrEqual(after)
  })
})

describe('a row that another transaction has', () => {
  test('in a deadlock is waited for again, and no command is lost', async () => {
    await neighbours.setUp(['A', 'B'])
    // The ledger finds the deadlock, and so is given up. It looks once, when there is one on a busy machine too.
    await outsider.query("set deadlock_timeout = '60s'")
    const url = `${bench.url}?options=-c%20deadlock_timeout=3s`
    const ledger = neighbours.beside({ url, lockTimeoutMs: 3_500 })
    await outsider.query("begin; select from accounts where id = 'B' for update")
    const answers = Promise.all([
      ledger.openHold(holdOf('RA', 'KA', 'A')),
      ledger.openHold(holdOf('RB', 'KB', 'B')),
    ])
    await neighbours.untilStatementWaits()
    await outsider.query("select from accounts where id = 'A' for update")
    await outsider.query('commit')
    expect(await answers).toMatchObject([{ kind: 'opened' }, { kind: 'opened' }])
    const { rows } = await outsider.query(
      'select deadlocks from pg_stat_database where datname = current_database()',
    )
    expect(Number(rows[0]?.deadlocks)).toBeGreaterThanOrEqual(1)
  })

  test('of a request that another gateway corrects leaves its reported cost to the correction', async () => {
    await neighbours.setUp(['A'])
    await runScript(
      bench,
      `open R1 KA 10
      settle R1 provisional 5 stands → provisional 5`,
    )
    await outsider.query("begin; update requests set state = 'final' where id = 'R1'")
    const stood = bench.ledger.settleStanding({ requestIds: ['R1'], to: 'final' })
    await neighbours.untilStatementWaits()
    await outsider.query('commit')
    expect(await stood).toBe(0)
  })

  test('for too long fails only the commands that need it', async () => {
    await neighbours.setUp(['A', 'B'])
    const ledger = neighbours.beside({ lockTimeoutMs: 50 })
    await outsider.query("begin; select from accounts where id = 'A' for update")
    const answers = await Promise.allSettled([
      ledger.openHold(holdOf('RA', 'KA', 'A')),
      ledger.openHold(holdOf('RB', 'KB', 'B')),
    ])
    expect(answers).toMatchObject([
      { status: 'rejected', reason: { name: 'StoreUnavailable' } },
      { status: 'fulfilled', value: { kind: 'opened' } },
    ])
    await outsider.query('commit')
    await ledger.sure()
    expect(await bench.request('RA')).toBeUndefined()
  })
})

test('a process that is killed loses nothing that it answered, and its open holds become unresolved', async () => {
  await bench.createAccount('A')
  const keys = Array.from({ length: 16 }, (_, place) => `K${place}`)
  for (const apiKey of keys) await bench.createApiKey(apiKey, 'A')
  await runScript(bench, 'credit A backed 1000000000 first')
  const lines = await runLoad({ shell: 'exec "$0" "$@"', url: bench.url, keys, killAt: 2_000 })
  expect(lines.length).toBeGreaterThanOrEqual(2_000)
  expect(await unanswered(bench, lines)).toEqual([])

  const abandoned: number[] = []
  const presence = new Presence({
    db: bench.db,
    ledger: bench.ledger,
    instanceId: 'inst_next',
    deadAfterMs: 0,
    onAbandoned: (_instanceId, count) => abandoned.push(count),
    onFailure: (cause) => {
      throw cause
    },
  })
  await presence.beat()
  await presence.beat()
  const states = await bench.db
    .selectFrom('all_requests')
    .select(['state', ({ fn }) => fn.countAll<number>().as('requests')])
    .groupBy('state')
    .execute()
  const unresolved = states.find(({ state }) => state === 'unresolved')
  expect(abandoned).toEqual(unresolved === undefined ? [] : [unresolved.requests])
  expect(states.map(({ state }) => state)).not.toContain('open')
})

test('no statement of a batch reads a whole table, for any statistics of the planner', async () => {
  await outsider.query(`
    set plan_cache_mode = force_generic_plan; set enable_seqscan = off;
    set enable_hashjoin = off; set enable_mergejoin = off`)
  const { read_time: _time, ...others } = STATEMENTS
  for (const { name, text } of [
    ...Object.values(others),
    ...LOCK_FOUND.values(),
    ...ROW_STATEMENTS.values(),
  ]) {
    const { rows } = await outsider.query(`explain (generic_plan) ${text}`)
    const plan = rows.map((row) => String(row['QUERY PLAN'])).join('\n')
    expect(plan, name).toMatch(/Index (Only )?Scan|Conflict Arbiter Indexes|^Insert on/)
    expect(plan, name).not.toMatch(
      /Seq Scan on (accounts|api_keys|requests|entries|credit_codes|purchases)/,
    )
    expect(plan, name).not.toMatch(
      /Index Scan using \S+ on \S+( \S+)? +\([^)]*\)\n(?! +(Index Cond|Filter))/,
    )
  }
})

test('a hold that another gateway opens again with another key is settled with the first key', async () => {
  await neighbours.setUp(['A', 'B'])
  await bench.ledger.openHold(holdOf('req_r', 'KA', 'A'))
  const other = neighbours.beside({ clock: { nowMs: () => 1 } })
  await other.openHold(holdOf('req_r', 'KB', 'B'))
  const settled = await other.settle({
    requestId: 'req_r',
    resolution: { kind: 'released' },
    facts: FACTS,
  })
  expect(settled).toMatchObject({ state: 'released', settledNow: true })
  expect(await bench.apiKey('KA')).toMatchObject({ openHolds: 0 })
})
