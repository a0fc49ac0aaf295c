import { CompiledQuery } from 'kysely'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { PostgresWriters } from '../../store/postgres/postgres-connection.ts'
import { createPostgresBench } from '../testing/postgres-bench.ts'
import { runScript } from '../testing/script.ts'
import { type PlannedStatement, STATEMENTS } from './postgres-statements.ts'

/** The number of versions of one account and one key. Each has its own entry in the index. */
const VERSIONS = 500
/** The pages of a few tables and indexes, each looked at a few times. */
const PAGES_MAX = 40

interface Explained {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: Readonly<Record<string, unknown>> }]
}

test('a batch finds its account and key at once while a snapshot keeps all of their old versions', async () => {
  const bench = await createPostgresBench()
  await bench.createAccount('A')
  await bench.createApiKey('K', 'A')
  await runScript(bench, 'credit A backed 1000 first')
  const reader = new Client(bench.url)
  await reader.connect()
  await reader.query('begin isolation level repeatable read')
  await reader.query('select from accounts')
  // Changes of indexed columns, in rows so large that few fit on a page.
  await bench.db.executeQuery(
    CompiledQuery.raw(`do $$ begin for version in 1..${VERSIONS} loop
      update accounts set external_id = version, name = repeat('long ', 300);
      update api_keys set previous_key_hash = version, name = repeat('long ', 300);
    end loop; end $$`),
  )

  const { client } = await new PostgresWriters({ url: bench.url }).open()
  const json = async (table: string, id: string): Promise<string> => {
    const { rows } = await client.query(
      `select json_agg(${table})::text as json from ${table} where id = '${id}'`,
    )
    return String(rows[0]?.json)
  }
  const pagesOf = async (text: string): Promise<number> => {
    await client.query('begin')
    const { rows } = await client.query<Explained>(
      `explain (analyze, buffers, format json) ${text}`,
    )
    await client.query('rollback')
    const plan = rows[0]?.['QUERY PLAN'][0].Plan
    return Number(plan?.['Shared Hit Blocks']) + Number(plan?.['Shared Read Blocks'])
  }
  const statements: readonly (readonly [PlannedStatement, readonly string[]])[] = [
    [STATEMENTS.lock_accounts, ['{A}']],
    [STATEMENTS.lock_accounts_of, ['{A}', '{}']],
    [STATEMENTS.lock_api_keys, ['{K}']],
    [STATEMENTS.lock_api_keys_of, ['{K}', '{}']],
    [STATEMENTS.save, [await json('accounts', 'A'), await json('api_keys', 'K'), '[]', '[]', '[]']],
  ]
  const pages = new Map<string, number>()
  for (const [{ name, text }, values] of statements) {
    await client.query(`prepare ${name} as ${text}`)
    const literals = values.map((value) => client.escapeLiteral(value)).join(', ')
    pages.set(name, await pagesOf(`execute ${name}(${literals})`))
  }
  const canary = await pagesOf("select id from accounts where id = 'A'")
  await reader.end()
  await client.end()
  await bench.close()
  expect(canary).toBeGreaterThan(PAGES_MAX)
  expect([...pages].filter(([, count]) => count > PAGES_MAX)).toEqual([])
})
