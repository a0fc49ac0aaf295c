import type { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import type { Client } from 'pg'
import { postgresPoolDialect } from '../../store/postgres/postgres-store.ts'
import type { Tables } from '../../store/schema.ts'
import { sqliteThreadDialect } from '../../store/sqlite/sqlite-store.ts'
import type { StoreBench } from './store-bench.ts'

interface PlanNode {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** The number of rows that the run of a plan has read, including rows that it then left out. */
function rowsLookedAt(node: PlanNode): number {
  const rows = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)
  const own = node['Relation Name'] === undefined ? 0 : rows * node['Actual Loops']
  return (node.Plans ?? []).reduce((sum, plan) => sum + rowsLookedAt(plan), own)
}

/** A query with its parameters. */
export interface Query {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** Reads from the store of a bench, and returns the queries of that, in order. */
export async function queriesOf(
  { store: { location } }: Pick<StoreBench, 'store'>,
  read: (db: Kysely<Tables>) => Promise<unknown>,
): Promise<readonly Query[]> {
  const queries: Query[] = []
  const dialect =
    location.kind === 'sqlite'
      ? sqliteThreadDialect({ file: location.file, readOnly: true })
      : postgresPoolDialect({ url: location.url, connectionsMax: 1, use: 'shortStatements' })
  const db = new Kysely<Tables>({ dialect, log: ({ query }) => void queries.push(query) })
  await read(db)
  await db.destroy()
  return queries
}

/** The queries that look at more rows than `rowsMax` on PostgreSQL. */
export async function greedy(
  client: Client,
  { queries, rowsMax }: { readonly queries: readonly Query[]; readonly rowsMax: number },
): Promise<string[]> {
  const found: string[] = []
  for (const { sql, parameters } of queries) {
    await client.query('begin')
    const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
      `explain (analyze, format json) ${sql}`,
      [...parameters],
    )
    await client.query('rollback')
    const [explained] = rows[0]?.['QUERY PLAN'] ?? []
    if (explained === undefined) throw new Error(`no plan of ${sql}`)
    if (rowsLookedAt(explained.Plan) > rowsMax) found.push(sql)
  }
  return found
}

/** The steps of a query on SQLite, without its parameters: a plan that needs their values is not one to count on. */
export function stepsOf(connection: DatabaseSync, sql: string): string {
  const steps = connection.prepare(`explain query plan ${sql}`).all()
  return steps.map(({ detail }) => String(detail)).join('; ')
}
