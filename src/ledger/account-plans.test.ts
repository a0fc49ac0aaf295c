import { DatabaseSync } from 'node:sqlite'
import type { Kysely } from 'kysely'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import type { Tables } from '../store/schema.ts'
import { listAccounts } from './accounts.ts'
import { listCreditedPurchases, listDepositsOf } from './purchases.ts'
import { greedy, queriesOf, stepsOf } from './testing/plans.ts'
import { createPostgresBench } from './testing/postgres-bench.ts'
import { createSqliteBench } from './testing/sqlite-bench.ts'

const ACCOUNTS = 5_000
const OF_A_STATE = 20
const PURCHASES = 5_000

/**
 * A store of 5,000 accounts: 20 are low, 20 in debt, 20 suspended; one has all held purchases, three of them of one
 * transaction. Each account has a purchase that was credited, one each millisecond.
 */
const FILL = `
  insert into accounts (id, name, created_at_ms, has_backed_credit, backed_balance_micros, disabled)
    select 'A' || n, 'A' || n, 0, 1,
      case when n % 250 = 1 then -1 when n % 250 = 2 then 1 else 9000000 end,
      case when n % 250 = 3 then 1 else 0 end
    from generate_series(1, ${ACCOUNTS}) as n;
  insert into purchases (id, account_id, method, source, credit_micros, created_at_ms, state)
    select 'pur_' || n, 'A1', 'base-usdc', 'chain:8453:0x' || (n / 3) || ':' || (n % 3), 1, 0, 'held'
    from generate_series(1, ${PURCHASES}) as n;
  insert into purchases (id, account_id, method, source, credit_micros, created_at_ms, state, paid_currency, paid_units,
      credited_at_ms)
    select 'pur_card_' || n, 'A' || n, 'card', 'play:' || n, 1, 0, 'credited', 'usd', '1', n
    from generate_series(1, ${PURCHASES}) as n;
`

async function readAll(db: Kysely<Tables>): Promise<readonly number[]> {
  const counts: number[] = []
  for (const state of ['low_credit', 'in_debt', 'suspended'] as const) {
    counts.push((await listAccounts(db, { state, limit: 100 })).accounts.length)
  }
  const after = { id: 'A2501', value: null }
  counts.push((await listAccounts(db, { state: 'in_debt', limit: 5, after })).accounts.length)
  counts.push((await listDepositsOf(db, { accountId: 'A1', source: 'chain:8453:0x7:1' })).length)
  const credited = { sinceMs: 1_000, untilMs: 2_000, limit: 5 }
  for (const after of [null, { id: 'pur_card_1500', creditedAtMs: 1_500 }]) {
    counts.push((await listCreditedPurchases(db, { ...credited, after })).rows.length)
  }
  return counts
}

const CREDITED_STEPS =
  'SEARCH purchases USING INDEX purchases_credited_at_ms (credited_at_ms>? AND credited_at_ms<?); SEARCH accounts USING INDEX sqlite_autoindex_accounts_1 (id=?); USE TEMP B-TREE FOR LAST TERM OF ORDER BY'

test('on SQLite accounts of a state, deposits of a transaction, and purchases credited in a range are found by their indexes', async () => {
  const bench = await createSqliteBench()
  const asked = await queriesOf(bench, readAll)
  const connection = new DatabaseSync(bench.file)
  const steps = asked.map(({ sql }) => stepsOf(connection, sql))
  connection.close()
  await bench.close()
  expect(steps).toEqual([
    'SEARCH accounts USING INDEX accounts_credit_state (credit_state=?)',
    'SEARCH accounts USING INDEX accounts_credit_state (credit_state=?)',
    'SCAN accounts USING INDEX accounts_suspended',
    'SEARCH accounts USING INDEX accounts_credit_state (credit_state=? AND id<?)',
    'SEARCH purchases USING INDEX purchases_deposits (account_id=? AND <expr>=?)',
    CREDITED_STEPS,
    CREDITED_STEPS,
  ])
})

test('on PostgreSQL they are found by their indexes, whether or not the tables were analysed', async () => {
  const bench = await createPostgresBench()
  const client = new Client(bench.url)
  await client.connect()
  await client.query(FILL)
  const queries = await queriesOf(bench, async (db) =>
    expect(await readAll(db)).toEqual([OF_A_STATE, OF_A_STATE, OF_A_STATE, 5, 3, 5, 5]),
  )
  const canary = { sql: 'select id from accounts where name = $1', parameters: ['none'] }
  const found = () => greedy(client, { queries: [...queries, canary], rowsMax: OF_A_STATE })
  expect(await found()).toEqual([canary.sql])
  await client.query('analyze')
  expect(await found()).toEqual([canary.sql])
  await client.end()
  await bench.close()
})
