import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'
import { forgetWholeDays } from './0032-costs.ts'

/**
 * Failed requests by error code in roll-ups. Roll-ups are made again in the background, except for days of
 * which requests were pruned: the codes of their failed requests are not known.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  // Rows are read only by their key, and the key is most of a row: SQLite keeps it once.
  const end = sql.raw(isPostgres(db) ? '' : ' without rowid')
  await sql`
    create table usage_errors (
      step text not null, number bigint not null, account_id text not null, api_key_id text not null,
      model_id text not null, endpoint text not null, upstream text not null, code text not null,
      requests bigint not null, latest_id text not null,
      constraint usage_errors_groups
        primary key (step, number, account_id, api_key_id, model_id, endpoint, upstream, code)
    )${end}`.execute(db)
  await forgetWholeDays(db)
  for (const [step, table, apiKeyId] of [
    ['hour', 'usage_hours', sql`''`],
    ['day', 'usage_days', sql.ref('api_key_id')],
  ] as const) {
    await sql`
      insert into usage_errors (step, number, account_id, api_key_id, model_id, endpoint, upstream, code,
        requests, latest_id)
      select ${sql.lit(step)}, ${sql.ref(step)}, account_id, ${apiKeyId}, model_id, endpoint, upstream, '', failed, ''
      from ${sql.table(table)} where failed > 0
        and ${sql.ref(step)} in (select number from usage_rolled where step = ${sql.lit(step)})`.execute(
      db,
    )
  }
}
