import { CompiledQuery, type Kysely } from 'kysely'
import type { Tables } from '../../store/schema.ts'
import {
  addToPruned,
  chartedWithout,
  daysOf,
  PRUNABLE,
  PRUNED_COLUMNS,
  PRUNED_SUMS,
  type PruneBatch,
  type Pruned,
  pruneUntilId,
} from './prune-requests.ts'

interface PageRow {
  readonly id: string
  readonly account_id: string
  readonly prunable: boolean
}

const PAGE = `select id, account_id, ${PRUNABLE.replace('$', '$1')} as prunable from requests
  where id > $2 and id < $3 order by id limit $4`

// As the ledger does, in the order of ids: an account's lock guards all its rows.
const LOCK_ACCOUNTS = `select id from accounts where id = any($1) order by id for no key update`

const PRUNE = `with gone as (
    delete from requests where id = any($1) and ${PRUNABLE.replace('$', '$2')}
    returning *
  ), kept as (
    insert into pruned_requests (${PRUNED_COLUMNS})
    select ${PRUNED_SUMS} from gone group by api_key_id, account_id order by api_key_id
    ${addToPruned('greatest')}
  )
  select count(*) as requests from gone`

/** Prunes a batch of a PostgreSQL store, beside other gateways that may do so too. */
export async function prunePostgres(
  db: Kysely<Tables>,
  { settledBeforeMs, afterId, rowsMax }: PruneBatch,
): Promise<Pruned> {
  const { rows } = await db.executeQuery<PageRow>(
    CompiledQuery.raw(PAGE, [settledBeforeMs, afterId, pruneUntilId(settledBeforeMs), rowsMax]),
  )
  const ids = rows.filter(({ prunable }) => prunable).map(({ id }) => id)
  const charted = new Set(chartedWithout(ids, await rolledDays(db, ids)))
  const old = rows.filter(({ id }) => charted.has(id))
  return {
    requests: old.length === 0 ? 0 : await prune(db, { old, settledBeforeMs }),
    nextAfterId: rows.length < rowsMax ? null : (rows.at(-1)?.id ?? null),
  }
}

async function rolledDays(
  db: Kysely<Tables>,
  requestIds: readonly string[],
): Promise<ReadonlySet<number>> {
  const days = daysOf(requestIds)
  if (days.length === 0) return new Set()
  const rows = await db
    .selectFrom('usage_rolled')
    .select('number')
    .where('step', '=', 'day')
    .where('number', 'in', days)
    .execute()
  return new Set(rows.map((row) => row.number))
}

function prune(
  db: Kysely<Tables>,
  { old, settledBeforeMs }: { readonly old: readonly PageRow[]; readonly settledBeforeMs: number },
): Promise<number> {
  const accountIds = new Set(old.map((row) => row.account_id))
  const ids = old.map(({ id }) => id)
  return db.transaction().execute(async (trx) => {
    await trx.executeQuery(CompiledQuery.raw(LOCK_ACCOUNTS, [[...accountIds]]))
    const { rows } = await trx.executeQuery<{ readonly requests: number }>(
      CompiledQuery.raw(PRUNE, [ids, settledBeforeMs]),
    )
    return Number(rows[0]?.requests)
  })
}
