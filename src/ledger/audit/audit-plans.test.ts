import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { greedy, type Query, queriesOf, stepsOf } from '../testing/plans.ts'
import { createPostgresBench } from '../testing/postgres-bench.ts'
import { createSqliteBench } from '../testing/sqlite-bench.ts'
import type { StoreBench } from '../testing/store-bench.ts'
import { auditView } from './audit.ts'

/** More than two pages. */
const ENTRIES = 5_000
const PAGE_ROWS = 2_000

/** Entries of one account, as a large tenant has. */
async function fill(bench: StoreBench): Promise<void> {
  await bench.createAccount('A')
  await sql`
    with recursive numbers (number) as (
      select 1 union all select number + 1 from numbers where number < ${sql.lit(ENTRIES)}
    )
    insert into entries (account_id, number, kind, purse, amount_micros, created_at_ms)
    select 'A', number, 'top_up', 'backed', 1, 1 from numbers`.execute(bench.db)
}

/** The reads of an audit. */
async function readsOf(bench: StoreBench): Promise<readonly Query[]> {
  const asked = await queriesOf(bench, auditView)
  return asked.filter((query) => query.sql.trim().startsWith('select'))
}

test('on PostgreSQL a page of an audit reads only its own rows', async () => {
  const bench = await createPostgresBench()
  await fill(bench)
  const asked = await readsOf(bench)
  const client = new Client(bench.url)
  await client.connect()
  const canary = { sql: 'select count(*) from entries', parameters: [] }
  const queries = [...asked, canary]
  expect(asked.length).toBeGreaterThan(5)
  await client.query('analyze')
  expect(await greedy(client, { queries, rowsMax: PAGE_ROWS })).toEqual([canary.sql])
  await client.end()
  await bench.close()
})

test('on SQLite a page of entries begins at the end of the page before', async () => {
  const bench = await createSqliteBench()
  await fill(bench)
  const asked = await readsOf(bench)
  const connection = new DatabaseSync(bench.file)
  const page = asked.find((query) => query.sql.includes('"entries"'))?.sql ?? ''
  expect(stepsOf(connection, page)).toMatch(
    /^SEARCH entries .*\(\(account_id,number\)>\(\?,\?\)\)$/,
  )
  connection.close()
  await bench.close()
})
