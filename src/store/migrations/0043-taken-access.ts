import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'

/**
 * Access that was taken from people, for gateways to take again after a failover that lost it. On PostgreSQL the database
 * writes each row in the same transaction, whichever program changes what, into the schema of the changed table. A SQLite
 * store loses no commit, and no row is written there.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  await sql`
    create table taken_access (
      id text not null primary key, user_id text not null, table_name text not null,
      key_json text not null, set_json text, taken_at_ms bigint not null
    )`.execute(db)
  await sql`create index taken_access_user on taken_access (user_id)`.execute(db)
  if (!isPostgres(db)) return
  await sql`
    create function note_taken_access() returns trigger language plpgsql as $$
    declare
      now_us bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
      row_user text := coalesce(to_jsonb(old) ->> tg_argv[2], '');
      noted bigint;
    begin
      if tg_argv[3] = 'bounded' then
        execute format(
          'select count(*) from (select 1 from %I.taken_access where user_id = $1 limit ${sql.raw(ROWS_MAX)}) as noted',
          tg_table_schema)
          into noted using row_user;
        if noted >= ${sql.raw(ROWS_MAX)} then return null; end if;
      end if;
      execute format(
        'insert into %I.taken_access (id, user_id, table_name, key_json, set_json, taken_at_ms)
          values ($1, $2, $3, $4, $5, $6)',
        tg_table_schema)
        using
          lpad(now_us::text, 17, '0') || '-' || md5(random()::text || clock_timestamp()::text),
          row_user,
          tg_table_name::text,
          (select json_object_agg(name, to_jsonb(old) -> name) from unnest(string_to_array(tg_argv[0], ',')) name)::text,
          case when tg_op = 'UPDATE' then json_build_object(tg_argv[1], to_jsonb(new) -> tg_argv[1])::text end,
          now_us / 1000;
      return null;
    end $$`.execute(db)
  for (const { table, when = 'true', key, set = '', user, isBounded } of TAKINGS) {
    const event = set === '' ? 'delete' : `update of ${set}`
    const parameters = [key, set, user, isBounded ? 'bounded' : '']
    await sql`
      create trigger ${sql.ref(`${table}_${set === '' ? 'removed' : 'changed'}`)}
      after ${sql.raw(event)} on ${sql.table(table)} for each row when (${sql.raw(when)})
      execute function note_taken_access(${sql.join(parameters.map((text) => sql.lit(text)))})`.execute(
      db,
    )
  }
}

/** For a user with so many rows, removals that people can repeat at will are no longer noted. */
const ROWS_MAX = '200'

interface Taking {
  readonly table: string
  /** Default: always. */
  readonly when?: string
  /** The columns that name the row. */
  readonly key: string
  /** The column that is set. Absent: the row is removed. */
  readonly set?: string
  /** The column with the user; empty: none. */
  readonly user: string
  readonly isBounded: boolean
}

const NOW_MS = 'extract(epoch from clock_timestamp()) * 1000'

const OWN = { key: 'id,user_id', user: 'user_id', isBounded: true } as const

// With its time: the same person may become a member again.
const MEMBER = {
  table: 'members',
  key: 'account_id,user_id,created_at_ms',
  user: 'user_id',
} as const

const TAKINGS: readonly Taking[] = [
  { ...MEMBER, isBounded: false },
  { ...MEMBER, when: 'old.role <> new.role', set: 'role', isBounded: true },
  {
    table: 'users',
    when: 'old.is_operator = 1 and new.is_operator = 0',
    key: 'id',
    set: 'is_operator',
    user: 'id',
    isBounded: false,
  },
  { ...OWN, table: 'sign_ins', key: 'id,user_id,provider' },
  { ...OWN, table: 'authenticator_apps' },
  { ...OWN, table: 'passkeys' },
  // One that has expired gives no access.
  { ...OWN, table: 'sessions', when: `old.expires_at_ms > ${NOW_MS}` },
  {
    table: 'admin_tokens',
    when: 'old.revoked_at_ms is null and new.revoked_at_ms is not null',
    key: 'id',
    set: 'revoked_at_ms',
    user: '',
    isBounded: false,
  },
]
