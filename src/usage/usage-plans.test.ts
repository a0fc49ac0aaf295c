import { DatabaseSync } from 'node:sqlite'
import { Kysely, sql } from 'kysely'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { findGeneration } from '../ledger/activity/search-requests.ts'
import { greedy, type Query, queriesOf, stepsOf } from '../ledger/testing/plans.ts'
import { createPostgresBench } from '../ledger/testing/postgres-bench.ts'
import { createSqliteBench } from '../ledger/testing/sqlite-bench.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { PROGRAM_SCHEMA } from '../store/migrations/migrations.ts'
import type { Tables } from '../store/schema.ts'
import { sqliteThreadDialect } from '../store/sqlite/sqlite-store.ts'
import { DAY_MS, HOUR_MS } from '../vocabulary/clock.ts'
import { firstIdOf, timeOfId } from '../vocabulary/ids.ts'
import { DAY_HOURS } from '../vocabulary/usage-step.ts'
import { FAILING_ACCOUNTS_MAX, FailingAccounts } from './failing-accounts.ts'
import { readErrors } from './read-errors.ts'
import { type PeriodQuery, readPeriods } from './read-periods.ts'
import { readStatement } from './read-statement.ts'
import { readAccounts, readUsage } from './read-usage.ts'

const NOW_MS = Date.parse('2027-03-01T10:20:00Z')
const TODAY = Math.floor(NOW_MS / DAY_MS)

const ACCOUNTS = 20
const ROLLED_DAYS = 400
const ROLLED_HOURS = 30 * DAY_HOURS
/** Half of them are of one account. */
const REQUESTS = 10_000
/** The most rows that a report of three days can read: two for each day of all time, to see whether it is rolled up. */
const ROWS_MAX = 2 * ROLLED_DAYS + 100

type Row = Readonly<Record<string, string | number>>

/** By position: the table, and rows with the same columns. */
async function insert(db: Kysely<Tables>, table: string, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {}).map((column) => sql.ref(column))
  for (let at = 0; at < rows.length; at += 500) {
    const values = rows
      .slice(at, at + 500)
      .map((row) => sql`(${sql.join(Object.values(row).map((value) => sql.lit(value)))})`)
    await sql`insert into ${sql.table(table)} (${sql.join(columns)}) values ${sql.join(values)}`.execute(
      db,
    )
  }
}

const accountIds = Array.from({ length: ACCOUNTS }, (_, place) => `acct_${place}`)

/** Over a year of roll-ups, and requests of all that time. */
async function fill(bench: StoreBench): Promise<void> {
  const { db } = bench
  for (const id of accountIds) {
    await bench.createAccount(id)
    await bench.createApiKey(id.replace('acct', 'key'), id)
  }
  const hoursUntil = TODAY * DAY_HOURS
  const usedIn = { model_id: 'acme/one', endpoint: 'chat', upstream: 'one', requests: 1 }
  const numbers = (length: number, until: number) =>
    Array.from({ length }, (_, ago) => until - 1 - ago)
  const days = numbers(ROLLED_DAYS, TODAY)
  const hours = numbers(ROLLED_HOURS, hoursUntil)
  const ofDay = (day: number) =>
    accountIds.flatMap((account_id) => [
      { day, account_id, api_key_id: '', ...usedIn },
      { day, account_id, api_key_id: account_id.replace('acct', 'key'), ...usedIn },
    ])
  const ofHour = (hour: number) => accountIds.map((account_id) => ({ hour, account_id, ...usedIn }))
  const rolled = (step: string) => (number: number) => ({
    step,
    number,
    requests: ACCOUNTS,
    rolled_at_ms: 0,
    program_schema: PROGRAM_SCHEMA,
  })
  await insert(db, 'usage_days', days.flatMap(ofDay))
  await insert(db, 'usage_hours', hours.flatMap(ofHour))
  await insert(db, 'usage_rolled', [...days.map(rolled('day')), ...hours.map(rolled('hour'))])
  await insert(
    db,
    'requests',
    Array.from({ length: REQUESTS }, (_, number) => {
      const place = number % 2 === 0 ? 0 : number % ACCOUNTS
      const opened_at_ms = NOW_MS - Math.floor((number / REQUESTS) * ROLLED_DAYS * DAY_MS)
      const id = `${firstIdOf({ prefix: 'req', timeMs: opened_at_ms })}${String(number).padStart(16, '0')}`
      return {
        ...{ id, account_id: `acct_${place}`, api_key_id: `key_${place}`, instance_id: 'I' },
        ...{ endpoint: 'chat', model_id: 'acme/one', stream: 0, state: 'final' },
        ...{ price_snapshot_id: 'prices', opened_at_ms, generation_id: `gen-${number}` },
      }
    }),
  )
  await fillEntries(db)
}

/** Entries of one account; one in ten is not a charge. */
async function fillEntries(db: Kysely<Tables>): Promise<void> {
  await insert(
    db,
    'entries',
    Array.from({ length: REQUESTS }, (_, number) => ({
      ...{ account_id: 'acct_0', number: number + 1, purse: 'backed', amount_micros: 1 },
      kind: number % 10 === 0 ? 'top_up' : 'charge',
      created_at_ms: NOW_MS - Math.floor((number / REQUESTS) * ROLLED_DAYS * DAY_MS),
    })),
  )
}

/** The reads of their usage over three days by a key and by the members of one account. */
async function readAll(db: Kysely<Tables>): Promise<void> {
  const accountId = 'acct_0'
  const toMs = NOW_MS
  const fromMs = toMs - 3 * DAY_MS
  const range = { accountId, fromMs, toMs }
  const boundsMs = [fromMs, toMs]
  const periods: readonly PeriodQuery[] = [
    { accountId, apiKeyId: null, by: null, boundsMs },
    { accountId, apiKeyId: null, by: 'model', boundsMs },
    { accountId, apiKeyId: 'key_0', by: 'model', boundsMs },
    { accountId, apiKeyId: 'key_0', by: null, boundsMs: [fromMs, toMs - DAY_MS, toMs] },
    { accountId, apiKeyId: 'key_0', by: 'tag', boundsMs, groupsMax: 5 },
    { accountId, apiKeyId: null, by: 'tag', boundsMs, groupsMax: 5 },
  ]
  for (const query of periods) await readPeriods(db, query)
  for (const apiKeyId of [null, 'key_0']) {
    await readErrors(db, { accountId, apiKeyId, sinceMs: fromMs, untilMs: toMs })
  }
  await readUsage(db, { ...range, by: 'model', step: 'day' })
  await readUsage(db, { ...range, by: 'model', step: 'hour' })
  await readUsage(db, { ...range, by: 'key', step: 'day' })
  await readAccounts(db, { accountIds: ['acct_0', 'acct_1'], fromMs, toMs })
  const days = { fromMs: (TODAY - 2) * DAY_MS, toMs: TODAY * DAY_MS }
  await readStatement(db, { accountId, ...days, nowMs: NOW_MS, entriesMax: 100 })
  for (const beganMs of [null, NOW_MS - DAY_MS]) {
    const generation = { apiKeyId: 'key_0', generationId: 'gen-none', beganMs }
    await findGeneration(db, { ...generation, nowMs: NOW_MS })
  }
}

const CANARIES: readonly Query[] = [
  { sql: 'select sum(requests) from usage_days where account_id = $1', parameters: ['acct_0'] },
  { sql: 'select sum(requests) from usage_hours where account_id = $1', parameters: ['acct_0'] },
  { sql: 'select count(*) from requests where account_id = $1', parameters: ['acct_0'] },
]

test('on SQLite no report of an account or a key scans a whole table', async () => {
  const bench = await createSqliteBench()
  await fill(bench)
  const asked = new Set((await queriesOf(bench, readAll)).map((query) => query.sql))
  const connection = new DatabaseSync(bench.file)
  const reads = [...asked].filter((each) => each.trim().startsWith('select'))
  // A list that a query itself makes is short.
  const isScan = (each: string) => /\bSCAN\b(?! near)/.test(stepsOf(connection, each))
  expect(reads.length).toBeGreaterThan(15)
  expect(reads.filter(isScan)).toEqual([])
  expect(CANARIES.slice(0, 2).map((canary) => isScan(canary.sql))).toEqual([true, true])
  const ofEntries = reads.filter((text) => text.includes('entries'))
  const ofRollUps = reads.filter((text) => /from "?usage_(days|hours|errors)/.test(text))
  expect([ofEntries, ofRollUps]).not.toContainEqual([])
  for (const each of ofEntries) {
    expect(stepsOf(connection, each), each).toContain('entries_other')
  }
  // A search in an account and in days uses both columns of the index.
  for (const each of ofRollUps) {
    expect(stepsOf(connection, each), each).toMatch(
      /PRIMARY KEY \((day|hour|step=\? AND number)=\? AND account_id=\?/,
    )
  }
  connection.close()
  await bench.close()
})

test('on SQLite the accounts that fail are found hour by hour, in failures alone and at most twice a minute, and suspended ones take no place', async () => {
  const bench = await createSqliteBench()
  await bench.createAccount('acct_0')
  const hour = Math.floor(NOW_MS / HOUR_MS)
  const ofKey = { account_id: 'acct_0', api_key_id: 'key_0', code: 'insufficient_credit' }
  await insert(bench.db, 'refusals', [
    { ...ofKey, hour, requests: 10, latest_at_ms: NOW_MS },
    { ...ofKey, hour: hour - DAY_HOURS, requests: 90, latest_at_ms: NOW_MS - DAY_MS },
  ])
  // More than are listed: they take no place of the active one.
  for (let number = 1; number <= FAILING_ACCOUNTS_MAX; number++) {
    await bench.createAccount(`acct_${number}`)
    await insert(bench.db, 'refusals', [
      { ...ofKey, account_id: `acct_${number}`, hour, requests: 50, latest_at_ms: NOW_MS },
    ])
  }
  await sql`update accounts set disabled = 1 where id <> 'acct_0'`.execute(bench.db)
  const asked = new Set<string>()
  let reads = 0
  const db = new Kysely<Tables>({
    dialect: sqliteThreadDialect({ file: bench.file, readOnly: true }),
    log({ query }) {
      asked.add(query.sql)
      reads++
    },
  })
  const accounts = new FailingAccounts()
  const found = await accounts.read(db, NOW_MS)
  expect([...found]).toEqual([
    ['acct_0', { requests: 10, refused: 10, failed: 0, code: 'insufficient_credit' }],
  ])
  const before = reads
  expect(await accounts.read(db, NOW_MS + 29_999)).toBe(found)
  expect(reads).toBe(before)
  await accounts.read(db, NOW_MS + 30_000)
  expect(reads).toBeGreaterThan(before)
  // With enough accounts that fail now, no hour before the last whole one is read, and of that the sum of all is no account.
  await bench.createAccount('acct_before')
  const group = { model_id: 'acme/one', endpoint: 'chat', upstream: 'one' }
  const failedIn = (account_id: string, requests: number) => ({ account_id, ...group, requests })
  const failed = [failedIn('', 9_000), failedIn('acct_before', 40)]
  const rolled = { step: 'hour' as const, number: hour - 1 }
  await insert(bench.db, 'usage_rolled', [{ ...rolled, requests: 9_000, rolled_at_ms: 0 }])
  const errors = { ...rolled, api_key_id: '', code: 'upstream_error', latest_id: 'req_0' }
  await insert(
    bench.db,
    'usage_errors',
    failed.map((row) => ({ ...row, ...errors })),
  )
  await insert(
    bench.db,
    'usage_hours',
    failed.map((row) => ({ ...row, hour: hour - 1, failed: row.requests })),
  )
  const enough = Array.from({ length: 100 }, (_, number) => `acct_now_${number}`)
  for (const account_id of enough) await bench.createAccount(account_id)
  const failsNow = enough.map((account_id) => ({ ...ofKey, account_id, hour, requests: 10 }))
  const rows = failsNow.map((row) => ({ ...row, latest_at_ms: NOW_MS }))
  await insert(bench.db, 'refusals', rows)
  const all = reads
  const most = [...(await accounts.read(db, NOW_MS + 60_000))]
  expect(most).toHaveLength(FAILING_ACCOUNTS_MAX)
  expect(most[0]).toEqual([
    'acct_before',
    { requests: 40, refused: 0, failed: 40, code: 'upstream_error' },
  ])
  expect(most.map(([accountId]) => accountId)).not.toContain('')
  expect(reads - all).toBeLessThan(reads - before)
  await db.destroy()
  const connection = new DatabaseSync(bench.file)
  const plans = [...asked]
    .filter((text) => /from refusals|as failures from|1 as requests from requests/.test(text))
    .map((text) => stepsOf(connection, text))
  expect([...new Set(plans)]).toEqual([
    expect.stringContaining('INDEX refusals_hours (hour=?)'),
    expect.stringContaining('COVERING INDEX requests_failed (id>? AND id<?)'),
    expect.stringContaining('PRIMARY KEY (account_id=? AND hour>?)'),
    expect.stringContaining('PRIMARY KEY (account_id=? AND hour>?)'),
    expect.stringContaining('COVERING INDEX requests_failed (id>? AND id<?)'),
    expect.stringContaining('PRIMARY KEY (step=? AND number=?)'),
  ])
  connection.close()
  await bench.close()
})

test('a report by key whose days begin elsewhere reads the requests of the shorter part of each day', async () => {
  const bench = await createSqliteBench()
  await fill(bench)
  const days = 30
  // As in New York in winter.
  const boundsMs = Array.from(
    { length: days },
    (_, day) => (TODAY - days + day) * DAY_MS + 5 * HOUR_MS,
  )
  const query = { accountId: 'acct_0', apiKeyId: null, by: 'key' as const }
  const asked = await queriesOf(bench, (db) => readPeriods(db, { ...query, boundsMs }))
  await bench.close()
  let readMs = 0
  for (const { sql: text, parameters } of asked) {
    if (!text.includes('from "requests" where id >= ')) continue
    const [fromMs = 0, untilMs = 0] = parameters.flatMap((value) => timeOfId(String(value)) ?? [])
    readMs += untilMs - fromMs
  }
  expect(readMs).toBe(days * 5 * HOUR_MS)
})

test('on PostgreSQL no report of an account or a key reads more than its own, analysed or not', async () => {
  const bench = await createPostgresBench()
  await fill(bench)
  const client = new Client(bench.url)
  await client.connect()
  const all = await queriesOf(bench, readAll)
  const asked = all.filter((query) => query.sql.trim().startsWith('select'))
  expect(asked.length).toBeGreaterThan(15)
  const canaries = CANARIES.map((canary) => canary.sql)
  const queries = [...asked, ...CANARIES]
  expect(await greedy(client, { queries, rowsMax: ROWS_MAX })).toEqual(canaries)
  await client.query('analyze')
  expect(await greedy(client, { queries, rowsMax: ROWS_MAX })).toEqual(canaries)
  await client.end()
  await bench.close()
})
