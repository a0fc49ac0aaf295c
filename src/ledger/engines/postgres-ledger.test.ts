import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { StoreRefused, StoreUnavailable } from '../../store/store-failure.ts'
import { startSeveringProxy } from '../../store/testing/severing-proxy.ts'
import { micros } from '../../vocabulary/money.ts'
import { Presence } from '../instances/presence.ts'
import type { LedgerLimits, OpenHoldInput } from '../ledger.ts'
import { connected } from '../testing/connected.ts'
import { createPostgresBench, type PostgresBench } from '../testing/postgres-bench.ts'
import { runLoad, unanswered } from '../testing/run-load.ts'
import { FACTS, holdInput, runScript } from '../testing/script.ts'
import type { BatchedLedger } from './batched-ledger.ts'
import { postgresLedger } from './create-ledger.ts'
import { LOCK_FOUND, ROW_STATEMENTS, STATEMENTS } from './postgres-statements.ts'

const LIMITS: LedgerLimits = {
  openHoldsMax: 100,
  keyRequestsPerMinuteMax: 1_000_000,
  unbackedAccountRequestsPerMinuteMax: 1_000_000,
}

let bench: PostgresBench
let outsider: Client
/** What a test opened. */
const closing: { close(): Promise<void> }[] = []

beforeEach(async () => {
  bench = await createPostgresBench({ limits: LIMITS })
  outsider = new Client(bench.url)
  outsider.on('error', () => {})
  await outsider.connect()
})

afterEach(async () => {
  await outsider.end()
  for (const each of closing.splice(0).reverse()) await each.close()
  await bench.audit()
  await bench.close()
})

/** Another ledger on the database, as another instance has it. */
function beside(input: Partial<Parameters<typeof postgresLedger>[0]> = {}): BatchedLedger {
  const ledger = postgresLedger({ url: bench.url, limits: LIMITS, ...input })
  closing.push(ledger)
  return ledger
}

/** As {@link beside}, over a connection that can be cut. */
async function severable(input: Parameters<typeof beside>[0] = {}) {
  const proxy = await startSeveringProxy(bench.url)
  closing.push(proxy)
  return { proxy, ledger: beside({ url: proxy.url, unsureRetryMs: 1, ...input }) }
}

function holdOf(requestId: string, apiKeyId: string, accountId = 'A'): OpenHoldInput {
  return holdInput(requestId, { accountId, apiKeyId, amountMicros: 10 })
}

/** Accounts with paid credit, each with a key: A and KA, B and KB. */
async function setUp(accounts: readonly string[], creditMicros = 1_000): Promise<void> {
  for (const id of accounts) {
    await bench.createAccount(id)
    await bench.createApiKey(`K${id}`, id)
    await runScript(bench, `credit ${id} backed ${creditMicros} first`)
  }
}

/** Resolves once a statement waits for a lock that another transaction has. */
async function somebodyWaits(): Promise<void> {
  for (;;) {
    // Inside a transaction the server answers all questions from what it saw at the first.
    await outsider.query('select pg_stat_clear_snapshot()')
    const { rows } = await outsider.query(
      `select pid from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rows.length > 0) return
  }
}

test('a count of a period that the server cancels refuses its command alone', async () => {
  await setUp(['A', 'B'])
  bench.setNowMs(Date.parse('2026-11-22T12:00:00Z'))
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
  const ledger = postgresLedger({ url: url.href, clock: { nowMs }, limits: LIMITS })
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

test('columns that a newer gateway adds break no statement of one that runs', async () => {
  await setUp(['A'])
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
    const other = beside({ batchCommandsMax: 7 })
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
    await setUp(['A'])
    await bench.ledger.openHold(holdOf('R', 'KA'))
    const other = beside()
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
    await setUp(['A'])
    const now = async () => {
      const { rows } = await outsider.query<{ now: string }>(
        'select floor(extract(epoch from clock_timestamp()) * 1000) as now',
      )
      return Number(rows[0]?.now)
    }
    const ledger = beside()
    const before = await now()
    await ledger.openHold(holdOf('R', 'KA'))
    const after = await now()
    const openedAtMs = (await bench.request('R'))?.openedAtMs ?? 0
    expect(openedAtMs).toBeGreaterThanOrEqual(before)
    expect(openedAtMs).toBeLessThanOrEqual(after)
  })
})

describe('a row that another transaction has', () => {
  test('in a deadlock is waited for again, and nothing is dropped', async () => {
    await setUp(['A', 'B'])
    // The ledger finds the deadlock, and so is given up. It looks once, when there is one on a busy machine too.
    await outsider.query("set deadlock_timeout = '60s'")
    const url = `${bench.url}?options=-c%20deadlock_timeout=3s`
    const ledger = beside({ url, lockTimeoutMs: 3_500 })
    await outsider.query("begin; select from accounts where id = 'B' for update")
    const answers = Promise.all([
      ledger.openHold(holdOf('RA', 'KA', 'A')),
      ledger.openHold(holdOf('RB', 'KB', 'B')),
    ])
    await somebodyWaits()
    await outsider.query("select from accounts where id = 'A' for update")
    await outsider.query('commit')
    expect(await answers).toMatchObject([{ kind: 'opened' }, { kind: 'opened' }])
    const { rows } = await outsider.query(
      'select deadlocks from pg_stat_database where datname = current_database()',
    )
    expect(Number(rows[0]?.deadlocks)).toBeGreaterThanOrEqual(1)
  })

  test('of a request that another gateway corrects leaves its reported cost to the correction', async () => {
    await setUp(['A'])
    await runScript(
      bench,
      `open R1 KA 10
      settle R1 provisional 5 stands → provisional 5`,
    )
    await outsider.query("begin; update requests set state = 'final' where id = 'R1'")
    const stood = bench.ledger.settleStanding({ requestIds: ['R1'], to: 'final' })
    await somebodyWaits()
    await outsider.query('commit')
    expect(await stood).toBe(0)
  })

  test('for too long fails the commands that need it, and none of their neighbours', async () => {
    await setUp(['A', 'B'])
    const ledger = beside({ lockTimeoutMs: 50 })
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

describe('a connection that is lost', () => {
  test('fails its commands, and the next commit opens another', async () => {
    await setUp(['A'])
    await outsider.query("begin; select from accounts where id = 'A' for update")
    const lost = bench.ledger.openHold(holdOf('R1', 'KA'))
    lost.catch(() => {})
    await somebodyWaits()
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
    await setUp(['A'])
    const { proxy, ledger } = await severable()
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
    await setUp(['A'])
    const { proxy, ledger } = await severable()
    await ledger.openHold(holdOf('R1', 'KA'))
    proxy.severBefore('save')
    await expect(ledger.openHold(holdOf('R2', 'KA'))).rejects.toBeInstanceOf(StoreUnavailable)
    await ledger.sure()
    expect(await bench.request('R2')).toBeUndefined()
    expect(await ledger.openHold(holdOf('R3', 'KA'))).toMatchObject({ kind: 'opened' })
  })

  test('without an error is waited for until a time-out, and then counts as lost', async () => {
    await setUp(['A'])
    const { proxy, ledger } = await severable({
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

  test('because the server has no room for it is a store that is unavailable', async () => {
    await setUp(['A'])
    const { rows } = await outsider.query<{ name: string }>('select current_database() as name')
    const name = rows[0]?.name ?? ''
    await outsider.query(`alter database ${name} connection limit 0`)
    await outsider.query("create role clerk login password 'clerk'")
    const url = new URL(bench.url)
    url.username = 'clerk'
    url.password = 'clerk'
    const ledger = postgresLedger({ url: url.href, limits: LIMITS })
    const opened = ledger.openHold(holdOf('R1', 'KA'))
    await expect(opened).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(opened).rejects.toThrow(/too many connections/)
    await ledger.close()
    await outsider.query('drop role clerk')
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
    db: bench.store.db,
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
  const states = await bench.store.db
    .selectFrom('all_requests')
    .select(['state', ({ fn }) => fn.countAll<number>().as('requests')])
    .groupBy('state')
    .execute()
  const unresolved = states.find(({ state }) => state === 'unresolved')
  expect(abandoned).toEqual(unresolved === undefined ? [] : [unresolved.requests])
  expect(states.map(({ state }) => state)).not.toContain('open')
})

test('no statement of a batch reads a whole table, whatever statistics the planner has', async () => {
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

test('a hold that another gateway opens again under another key is settled as that of the first', async () => {
  await setUp(['A', 'B'])
  await bench.ledger.openHold(holdOf('req_r', 'KA', 'A'))
  const other = beside({ clock: { nowMs: () => 1 } })
  await other.openHold(holdOf('req_r', 'KB', 'B'))
  const settled = await other.settle({
    requestId: 'req_r',
    resolution: { kind: 'released' },
    facts: FACTS,
  })
  expect(settled).toMatchObject({ state: 'released', settledNow: true })
  expect(await bench.apiKey('KA')).toMatchObject({ openHolds: 0 })
})
