import { DatabaseSync } from 'node:sqlite'
import type { Kysely } from 'kysely'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { PostgresWriters } from '../../store/postgres/postgres-connection.ts'
import type { Tables } from '../../store/schema.ts'
import { micros } from '../../vocabulary/money.ts'
import type { Ledger } from '../commands.ts'
import { PERIODS } from '../counts.ts'
import {
  LOCK_FOUND,
  type PlannedStatement,
  ROW_STATEMENTS,
  STATEMENTS,
} from '../engines/postgres-statements.ts'
import { ForgottenHolds } from '../instances/forgotten-holds.ts'
import { abandonEarlierInstances } from '../instances/open-instance.ts'
import { Presence } from '../instances/presence.ts'
import { newRemovals, removedSinceCredit } from '../removed-credit.ts'
import { BEGUN_PURCHASES } from '../rules/begun-purchases.ts'
import { KEYS } from '../rules/limits.ts'
import { greedy, type Query, queriesOf, stepsOf } from '../testing/plans.ts'
import { createPostgresBench } from '../testing/postgres-bench.ts'
import { createSqliteBench } from '../testing/sqlite-bench.ts'
import { getRequest, listRequests } from './activity.ts'
import { getBalance } from './balance.ts'
import { listBought, listStatement } from './entries.ts'
import { ENTRIES_A_SUM } from './entry-sums.ts'
import { listUnsettled } from './unsettled.ts'

interface Reader {
  readonly db: Kysely<Tables>
  readonly ledger: Ledger
}

/** The time of an entry shortly behind the first sum of an account's entries. */
const SUMMED_MS = (2 * ENTRIES_A_SUM + 20) * 1_000

/** Tables of few rows, and what queries make of few. */
const MADE_BY_QUERIES = /SCAN (holds|all_requests|holding|halves|CONSTANT ROW)/g

/** Every read of requests and entries but the audit's, which goes through all of them. */
async function readAll({ db, ledger }: Reader): Promise<void> {
  const page = { limit: 5, cursor: 'req_4' }
  for (const filter of [
    {},
    { accountId: 'A1' },
    { apiKeyId: 'K1' },
    { state: 'unresolved' as const },
    { accountId: 'A1', state: 'open' as const, sinceMs: 5, untilMs: 9 },
    { apiKeyId: 'K1', modelId: 'm', state: ['open', 'unresolved'] as const },
  ]) {
    await listRequests(db, { ...filter, ...page })
  }
  await getRequest(db, 'req_1')
  const place = { before: 9, balanceMicros: micros(9) }
  await listStatement(db, { accountId: 'A1', place, limit: 5 })
  await listStatement(db, { accountId: 'A1', toMs: SUMMED_MS, limit: 5 })
  await listBought(db, { accountId: 'A1', before: 9, limit: 5 })
  await removedSinceCredit(db, ['A1', 'A2'])
  await newRemovals(db, { accountIds: ['A1', 'A2'], nowMs: 0, limit: 5 })
  await getBalance(db, { accountId: 'A1', nowMs: 0 })
  const after = { instanceId: 'I', requestId: 'req_1' }
  await listUnsettled(db, { after: { ...after, state: 'provisional' }, limit: 5 })
  await listUnsettled(db, { after: { ...after, state: 'unresolved' }, limit: 5 })
  const never = () => {
    throw new Error('nothing is to be abandoned, and the store answers')
  }
  await new ForgottenHolds({
    db,
    ledger,
    instanceId: 'I',
    isKnown: () => true,
    onAbandoned: never,
    onFailure: never,
  }).look()
}

/**
 * The queries of `readAll`; a list of more than unsettled requests is two, and a page of a statement before a moment five.
 */
const READS = 23

test('on SQLite no read scans all of Activity, with any filter', async () => {
  const bench = await createSqliteBench()
  await bench.createAccount('A1')
  const { ledger } = bench
  const asked = await queriesOf(bench, async (db) => {
    await readAll({ db, ledger })
    await abandonEarlierInstances({ db, ledger, instanceId: 'I' })
  })
  const connection = new DatabaseSync(bench.file)
  const plans = asked.map(({ sql }) => ({ sql, steps: stepsOf(connection, sql) }))
  connection.close()
  await bench.close()
  expect(plans.length).toBe(READS + 1)
  // There are as many holds as running requests. The rows found in both tables are scanned.
  for (const { sql, steps } of plans) {
    expect(steps.replaceAll(MADE_BY_QUERIES, ''), sql).not.toMatch(/\bSCAN\b/)
  }
  const unsettled = plans.filter(({ sql }) => /^select \* from "all_requests".*state = '/.test(sql))
  expect(unsettled.length).toBeGreaterThan(2)
  for (const { sql, steps } of unsettled) {
    expect(steps, sql).toContain('USING INDEX requests_unsettled')
  }
  const balance = plans.find(({ sql }) => sql.includes('held_micros'))
  expect(balance?.steps).toContain('requests_holding (cost_stands=? AND account_id=?)')
  const purchases = plans.find(({ sql }) => sql.includes('top_up'))
  expect(purchases?.steps).toContain('entries_purchases')
  // By the numbers of its entries, all charges since the last credit would be read.
  const removed = plans.find(({ sql }) => sql.includes('last_credit_number'))
  expect(removed?.steps).toContain('USING INDEX entries_reference (account_id=?')
  const removals = plans.find(({ sql }) => sql.includes('from alerts'))
  expect(removals?.steps).toContain('USING INDEX entries_other (account_id=? AND created_at_ms>?)')
})

const REQUESTS = 20_000
/** Rows of one account, its open holds, and the hundred accounts, which are few enough to be scanned. */
const UNSETTLED = 260

// One account has half of all: what goes through all of its Activity is as bad as through everybody's.
const FILL = `
  insert into accounts (id, name, created_at_ms)
    select 'A' || n, 'A' || n, 0 from generate_series(1, 100) as n;
  insert into api_keys (id, account_id, name, key_hash, display_prefix, created_at_ms)
    select 'K' || n, 'A' || n, 'K' || n, 'hash ' || n, 'K' || n, 0 from generate_series(1, 100) as n;
  insert into requests (id, account_id, api_key_id, instance_id, endpoint, model_id, stream, state,
      price_snapshot_id, opened_at_ms)
    select 'req_' || n, 'A' || account, 'K' || account, 'I', 'chat', 'author/name', 0,
      case when n % 400 = 0 then 'open' when n % 400 = 1 then 'unresolved'
        when n % 400 = 2 then 'provisional' else 'final' end, 'prices', n
    from (select n, case when n % 2 = 0 then 1 else n % 100 + 1 end as account
      from generate_series(1, ${REQUESTS}) as n);
  insert into holds (id, account_id, api_key_id, instance_id, endpoint, upstream, model_id, stream,
      backed_granted_micros, free_granted_micros, price_snapshot_id, fee_basis_points, opened_at_ms)
    select 'req_h' || n, 'A1', 'K1', 'I', 'chat', 'openrouter', 'author/name', 0, 0, 0, 'prices', 500, n
    from generate_series(1, 50) as n;
  insert into entries (account_id, number, kind, purse, amount_micros, reference, request_id,
      created_at_ms)
    select account_id, row_number() over (partition by account_id order by opened_at_ms),
      case when opened_at_ms % 500 = 0 then 'top_up' else 'charge' end, 'backed', 1,
      case when opened_at_ms % 500 = 0 then 'r' || opened_at_ms end, id, opened_at_ms * 1000
    from requests;
  update accounts set entry_count = (select count(*) from entries where account_id = accounts.id);
  insert into entry_sums (account_id, number, sum_micros) values ('A1', ${ENTRIES_A_SUM}, ${ENTRIES_A_SUM});
`

const CANARIES: readonly Query[] = [
  { sql: 'select id from requests where model_id = $1', parameters: ['none'] },
  { sql: 'select id from requests where model_id = $1 order by id limit 5', parameters: ['none'] },
  {
    sql: 'select id from requests where account_id = $1 and model_id = $2',
    parameters: ['A1', 'none'],
  },
]

test('on PostgreSQL no read scans all of Activity, with or without analysed tables', async () => {
  const bench = await createPostgresBench()
  const client = new Client(bench.url)
  await client.connect()
  await client.query(FILL)
  const { ledger } = bench
  const onFailure = (cause: unknown) => {
    throw cause
  }
  const all = await queriesOf(bench, async (db) => {
    await readAll({ db, ledger })
    await new Presence({ db, ledger, instanceId: 'J', onAbandoned: () => {}, onFailure }).beat()
  })
  const asked = all.filter(({ sql }) => /^\s*(select|with)/.test(sql))
  // The presence has looked at instances, at holders and at the clock.
  expect(asked.length).toBe(READS + 3)
  const canaries = CANARIES.map(({ sql }) => sql)
  const queries = [...asked, ...CANARIES]
  expect(await greedy(client, { queries, rowsMax: UNSETTLED })).toEqual(canaries)
  await client.query('analyze')
  expect(await greedy(client, { queries, rowsMax: UNSETTLED })).toEqual(canaries)
  await client.end()
  await bench.close()
})

test('on PostgreSQL no statement of the ledger scans all of Activity, with any contents', async () => {
  const bench = await createPostgresBench()
  // Without the writer's time-out of statements, which is for statements that look rows up.
  const filling = new Client(bench.url)
  await filling.connect()
  await filling.query(FILL)
  const { client } = await new PostgresWriters({ url: bench.url }).open()
  const json = async (table: string, id: string) => {
    const { rows } = await client.query(
      `select json_agg(${table})::text as json from ${table} where id = $1`,
      [id],
    )
    return String(rows[0]?.json)
  }
  const values = new Map<PlannedStatement, readonly unknown[]>([
    [STATEMENTS.lock_accounts, [['A1']]],
    [STATEMENTS.lock_accounts_of, [['A1'], ['req_7']]],
    [STATEMENTS.lock_api_keys, [['K1']]],
    [STATEMENTS.lock_api_keys_of, [['K1'], ['req_7']]],
    [STATEMENTS.take_holds, [['req_7', 'req_h8']]],
    [STATEMENTS.read_holds, [['req_7', 'req_h8']]],
    [STATEMENTS.delete_holds, [['req_7', 'req_h8']]],
    [STATEMENTS.lock_requests, [['req_7', 'req_8']]],
    [STATEMENTS.read_credits, [['A1'], ['r500']]],
    [STATEMENTS.read_external_accounts, [['customer-1']]],
    [STATEMENTS.read_code_credits, [['A1'], ['hash']]],
    [STATEMENTS.read_open_request_ids, ['I', 500]],
    [STATEMENTS.read_witnesses, [['req_7', 'req_8']]],
    [STATEMENTS.read_actors, [['user_1', 'atok_1']]],
    [STATEMENTS.read_commit_mark, ['I']],
    [STATEMENTS.mark_commit, ['I', 1]],
    [STATEMENTS.read_time, []],
    [
      STATEMENTS.save,
      [await json('accounts', 'A1'), await json('api_keys', 'K1'), '[]', '[]', '[]'],
    ],
    [STATEMENTS.make_final, [['req_7', 'req_8'], 1]],
    [STATEMENTS.recall, [['req_7', 'req_8']]],
    // A period that few of the requests are in.
    [PERIODS.account, ['A1', 'req_999', 0, 1]],
    [PERIODS.apiKey, ['K1', 'req_999', 0, 1]],
    [KEYS, ['A1', 0]],
    [BEGUN_PURCHASES, ['A1', 0, 0]],
    [STATEMENTS.raise_callers_version, []],
  ])
  // Each of them, and none that was added since.
  const named = [
    ...Object.values(STATEMENTS),
    ...[PERIODS.account, PERIODS.apiKey, KEYS, BEGUN_PURCHASES],
    ...LOCK_FOUND.values(),
    ...ROW_STATEMENTS.values(),
  ].map(({ name }) => name)
  // The parameters by which rows are found: as many as the statement has.
  for (const statement of LOCK_FOUND.values()) {
    const found = [['play:1'], ['pur_1'], [1]].filter((_, at) =>
      statement.text.includes(`$${at + 1}`),
    )
    values.set(statement, found)
  }
  for (const statement of ROW_STATEMENTS.values()) {
    const [table, id] = FILLED.find(([of]) => statement.name.endsWith(`_${of}`)) ?? []
    const isRow = table !== undefined && id !== undefined && !statement.name.startsWith('insert')
    values.set(statement, [isRow ? await json(table, id) : '[]'])
  }
  expect([...values.keys()].map(({ name }) => name).toSorted()).toEqual(named.toSorted())

  const queries: Query[] = []
  for (const [{ name, text }, parameters] of values) {
    await client.query(`prepare ${name} as ${text}`)
    const literals = parameters.map((value) => client.escapeLiteral(asText(value)))
    const listed = literals.length === 0 ? '' : `(${literals.join(', ')})`
    queries.push({ sql: `execute ${name}${listed}`, parameters: [] })
  }
  expect(await greedy(client, { queries, rowsMax: UNSETTLED })).toEqual([])
  await filling.query('analyze')
  expect(await greedy(client, { queries, rowsMax: UNSETTLED })).toEqual([])
  await client.query(`prepare canary as ${CANARIES[0]?.sql}`)
  const canary = { sql: "execute canary('none')", parameters: [] }
  expect(await greedy(client, { queries: [canary], rowsMax: UNSETTLED })).toEqual([canary.sql])
  await Promise.all([client.end(), filling.end()])
  await bench.close()
})

/** A row of each table that is long. */
const FILLED = [
  ['accounts', 'A1'],
  ['api_keys', 'K1'],
  ['requests', 'req_8'],
] as const

/** A parameter as PostgreSQL reads it in text. */
function asText(value: unknown): string {
  return Array.isArray(value) ? `{${value.map((item) => `"${item}"`).join(',')}}` : String(value)
}
