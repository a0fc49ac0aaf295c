import { type RawBuilder, sql } from 'kysely'

/**
 * The column of a query of accounts or keys that says when the newest request of each was opened; null: it has none.
 * Holds have no index by owner, so all are read for an owner with open holds.
 */
export function newestOpenedAt(of: 'accounts' | 'api_keys'): RawBuilder<number | null> {
  const owner = sql.raw(of === 'accounts' ? 'account_id' : 'api_key_id')
  const [rowId, openHolds] = [sql.ref(`${of}.id`), sql.ref(`${of}.open_holds`)]
  return sql`(select max(newest.opened_at_ms) from (
    select case when ${openHolds} > 0
      then (select max(holds.opened_at_ms) from holds where holds.${owner} = ${rowId}) end as opened_at_ms
    union all select * from (
      select requests.opened_at_ms from requests where requests.${owner} = ${rowId} order by requests.id desc limit 1
    ) as ended) as newest)`
}
