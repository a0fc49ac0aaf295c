import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'

/**
 * Access that was taken from people, for gateways to take again after a failover that lost it. On PostgreSQL the database
 * writes each row in the same transaction, whichever program changes what. A SQLite store loses no commit, and no row is
 * written there.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  await sql`
    create table taken_access (
      id text not null primary key, table_name text not null, key_json text not null, set_json text,
      taken_at_ms bigint not null
    )`.execute(db)
  if (!isPostgres(db)) return
  await sql`
    create function note_taken_access() returns trigger language plpgsql as $$
    declare
      now_us bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
    begin
      insert into taken_access (id, table_name, key_json, set_json, taken_at_ms) values (
        lpad(now_us::text, 17, '0') || '-' || gen_random_uuid()::text,
        tg_table_name,
        (select json_object_agg(name, to_jsonb(old) -> name) from unnest(string_to_array(tg_argv[0], ',')) name)::text,
        case when tg_op = 'UPDATE' then
          (select json_object_agg(name, to_jsonb(new) -> name) from unnest(string_to_array(tg_argv[1], ',')) name)::text
        end,
        now_us / 1000);
      return null;
    end $$`.execute(db)
  for (const { table, event, when = 'true', key, set } of TAKINGS) {
    const columns = set === undefined ? [key] : [key, set]
    await sql`
      create trigger ${sql.ref(`${table}_${set === undefined ? 'removed' : 'changed'}`)}
      after ${sql.raw(event)} on ${sql.table(table)} for each row when (${sql.raw(when)})
      execute function note_taken_access(${sql.join(columns.map((names) => sql.lit(names)))})`.execute(
      db,
    )
  }
}

interface Taking {
  readonly table: string
  readonly event: string
  /** Default: always. */
  readonly when?: string
  /** The columns that name the row. */
  readonly key: string
  /** The columns that are set. Absent: the row is removed. */
  readonly set?: string
}

const NOW_MS = 'extract(epoch from clock_timestamp()) * 1000'

const TAKINGS: readonly Taking[] = [
  // With its time: the same person may become a member again.
  { table: 'members', event: 'delete', key: 'account_id,user_id,created_at_ms' },
  {
    table: 'members',
    event: 'update of role',
    when: 'old.role <> new.role',
    key: 'account_id,user_id,created_at_ms',
    set: 'role',
  },
  {
    table: 'users',
    event: 'update of is_operator',
    when: 'old.is_operator = 1 and new.is_operator = 0',
    key: 'id',
    set: 'is_operator',
  },
  { table: 'sign_ins', event: 'delete', key: 'id,user_id,provider' },
  {
    table: 'sign_ins',
    event: 'update of password_hash',
    when: 'old.password_hash is distinct from new.password_hash',
    key: 'id,user_id',
    set: 'password_hash',
  },
  { table: 'authenticator_apps', event: 'delete', key: 'id,user_id' },
  {
    table: 'authenticator_apps',
    event: 'update of id',
    when: 'old.id <> new.id',
    key: 'id,user_id',
    set: 'id,secret,created_at_ms,last_step,last_used_at_ms',
  },
  { table: 'passkeys', event: 'delete', key: 'id,user_id' },
  {
    table: 'recovery_codes',
    event: 'delete',
    when: 'old.used_at_ms is null',
    key: 'user_id,code_hash',
  },
  {
    table: 'recovery_codes',
    event: 'update of used_at_ms',
    when: 'old.used_at_ms is null',
    key: 'user_id,code_hash',
    set: 'used_at_ms',
  },
  // One that has expired gives no access.
  {
    table: 'sessions',
    event: 'delete',
    when: `old.expires_at_ms > ${NOW_MS}`,
    key: 'id,user_id',
  },
  {
    table: 'links',
    event: 'update of used_at_ms',
    when: 'old.used_at_ms is null',
    key: 'id',
    set: 'used_at_ms',
  },
  {
    table: 'admin_tokens',
    event: 'update of revoked_at_ms',
    when: 'old.revoked_at_ms is null and new.revoked_at_ms is not null',
    key: 'id',
    set: 'revoked_at_ms',
  },
]
