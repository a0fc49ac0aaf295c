import { type Kysely, sql } from 'kysely'
import type { Tables } from '../schema.ts'

/** Whether a commit is on a second PostgreSQL server before it is confirmed. */
export type Replication =
  | { readonly kind: 'synchronous'; readonly standbyNames: string }
  | { readonly kind: 'asynchronous'; readonly standbys: readonly string[] }
  | { readonly kind: 'none' }

/**
 * Reads how the server's standbys follow. Readers of logical slots are no standbys, nor is a backup that is being taken. The
 * server shows names to every user, and the state only to members of `pg_monitor`.
 */
export async function readReplication(db: Kysely<Tables>): Promise<Replication> {
  // A name is null if no standby follows.
  const { rows } = await sql<{ readonly standbyNames: string; readonly name: string | null }>`
    select current_setting('synchronous_standby_names') as "standbyNames", standby.name
    from (select 1) as always left join (
      select coalesce(nullif(application_name, ''), 'without a name') as name from pg_stat_replication
      where state is distinct from 'backup' and application_name <> 'pg_basebackup'
        and not exists (select from pg_replication_slots where slot_type = 'logical' and active_pid = pid)
    ) as standby on true order by standby.name`.execute(db)
  const standbyNames = rows[0]?.standbyNames.trim() ?? ''
  if (standbyNames !== '') return { kind: 'synchronous', standbyNames }
  const standbys = rows.flatMap(({ name }) => name ?? [])
  return standbys.length === 0 ? { kind: 'none' } : { kind: 'asynchronous', standbys }
}
