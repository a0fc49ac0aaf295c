import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'

/**
 * More changes for gateways to repeat after a failover that lost them: of passwords, second factors, links, keys, accounts,
 * credit codes, webhooks and maintenance. A note never has a secret, nor the hash of one: only which row was changed.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  if (!isPostgres(db)) return
  // By position: the columns that name the row; the columns that are set, none if it is removed; the column with the user;
  // whether a user has only so many notes; another column with the user; the set columns whose values are left out.
  await sql`
    create or replace function note_taken_access() returns trigger language plpgsql as $$
    declare
      now_us bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
      before jsonb := case when tg_op = 'INSERT' then '{}' else to_jsonb(old) end;
      after jsonb := case when tg_op = 'DELETE' then '{}' else to_jsonb(new) end;
      named jsonb := case when tg_op = 'INSERT' then after else before end;
      row_user text := coalesce(named ->> tg_argv[2], named ->> tg_argv[4], '');
      noted bigint;
      set_text text;
    begin
      -- A gateway that repeats a lost change adds the lost note itself.
      if current_setting('tollgate.notes', true) = 'off' then return null; end if;
      if tg_argv[3] = 'bounded' and row_user <> '' then
        execute format(
          'select count(*) from (select 1 from %I.taken_access where user_id = $1 and table_name = $2 limit ${sql.raw(ROWS_MAX)}) as noted',
          tg_table_schema)
          into noted using row_user, tg_table_name::text;
        if noted >= ${sql.raw(ROWS_MAX)} then return null; end if;
      end if;
      if tg_op <> 'DELETE' then
        select json_object_agg(name,
            case when name = any(string_to_array(tg_argv[5], ',')) then null else after -> name end)::text
          into set_text
          from unnest(string_to_array(tg_argv[1], ',')) name
          where before -> name is distinct from after -> name;
        if set_text is null then return null; end if;
      end if;
      execute format(
        'insert into %I.taken_access (taken_at_ms, id, user_id, table_name, key_json, set_json)
          values ($1, $2, $3, $4, $5, $6)',
        tg_table_schema)
        using
          now_us / 1000,
          lpad(now_us::text, 17, '0') || '-' || md5(random()::text || clock_timestamp()::text),
          row_user,
          tg_table_name::text,
          (select json_object_agg(name, named -> name) from unnest(string_to_array(tg_argv[0], ',')) name)::text,
          set_text;
      return null;
    end $$`.execute(db)
  for (const change of CHANGES) {
    const {
      table,
      does,
      when = 'true',
      key,
      set = '',
      user = '',
      otherUser = '',
      hidden = '',
    } = change
    const event =
      does === 'changed' ? `update of ${change.of ?? set}` : does === 'added' ? 'insert' : 'delete'
    const parameters = [key, set, user, 'bounded', otherUser, hidden]
    await sql`
      create trigger ${sql.ref(`${table}_${change.name}`)}
      after ${sql.raw(event)} on ${sql.table(table)} for each row when (${sql.raw(when)})
      execute function note_taken_access(${sql.join(parameters.map((text) => sql.lit(text)))})`.execute(
      db,
    )
  }
}

/** A user with so many notes of one table has no more of that table. */
const ROWS_MAX = '200'

interface Change {
  readonly table: string
  /** The name of the trigger, after the table. */
  readonly name: string
  readonly does: 'added' | 'changed' | 'removed'
  /** Default: always. */
  readonly when?: string
  /** The columns whose change is noted. Default: those that are set. */
  readonly of?: string
  /** The columns that name the row. */
  readonly key: string
  /** The columns that are set, comma-separated; only those that differ are noted. */
  readonly set?: string
  /** The column with the user, or with the account. Absent: none, and the notes are not bounded. */
  readonly user?: string
  /** The column with the user where the first has none. */
  readonly otherUser?: string
  /** The set columns whose values are secrets, which are left out. */
  readonly hidden?: string
}

const OWN = { key: 'id,user_id', user: 'user_id' } as const

const CODES = { table: 'recovery_codes', key: 'user_id,created_at_ms', user: 'user_id' } as const

// The whole row: a column that a condition names can't get another collation.
const IS_MAINTENANCE = `to_jsonb(new) ->> 'name' = 'maintenance'`

const MAINTENANCE = { table: 'settings', key: 'name', set: 'value' } as const

/** Whether a column differs after a change. */
const differs = (column: string): string => `old.${column} is distinct from new.${column}`

const CHANGES: readonly Change[] = [
  {
    ...OWN,
    table: 'sign_ins',
    name: 'password_changed',
    does: 'changed',
    // A user without a password, who gets one, has none again if that is lost.
    when: `${differs('password_hash')} and old.password_hash not like '!%'`,
    key: 'id,user_id,provider',
    set: 'password_hash',
    hidden: 'password_hash',
  },
  {
    ...OWN,
    table: 'authenticator_apps',
    name: 'replaced',
    does: 'changed',
    when: differs('secret'),
    set: 'id,secret',
    hidden: 'secret',
  },
  {
    ...OWN,
    table: 'authenticator_apps',
    name: 'used',
    does: 'changed',
    when: 'old.secret = new.secret and old.last_step < new.last_step',
    set: 'last_step',
  },
  {
    ...OWN,
    table: 'authenticator_apps',
    name: 'added',
    does: 'added',
    set: 'secret',
    hidden: 'secret',
  },
  {
    ...OWN,
    table: 'passkeys',
    name: 'added',
    does: 'added',
    set: 'public_key',
    hidden: 'public_key',
  },
  {
    ...CODES,
    name: 'used',
    does: 'changed',
    when: 'old.used_at_ms is null and new.used_at_ms is not null',
    set: 'used_at_ms',
  },
  { ...CODES, name: 'removed', does: 'removed', when: 'old.used_at_ms is null' },
  {
    table: 'links',
    name: 'used',
    does: 'changed',
    when: 'old.used_at_ms is null and new.used_at_ms is not null',
    key: 'id',
    set: 'used_at_ms',
    user: 'user_id',
    otherUser: 'inviter_id',
  },
  {
    table: 'accounts',
    name: 'disabled',
    does: 'changed',
    when: differs('disabled'),
    key: 'id',
    set: 'disabled,disabled_at_ms,disabled_note',
    user: 'id',
  },
  {
    table: 'api_keys',
    name: 'disabled',
    does: 'changed',
    when: `${differs('disabled')} or ${differs('expires_at_ms')}`,
    key: 'id,account_id',
    set: 'disabled,expires_at_ms',
    user: 'account_id',
  },
  {
    table: 'api_keys',
    name: 'deleted',
    does: 'changed',
    when: 'old.deleted_at_ms is null and new.deleted_at_ms is not null',
    key: 'id,account_id',
    set: 'deleted_at_ms',
    user: 'account_id',
  },
  // Of the new text, the part that is shown.
  {
    table: 'api_keys',
    name: 'rotated',
    does: 'changed',
    of: 'key_hash',
    when: differs('key_hash'),
    key: 'id,account_id',
    set: 'display_prefix,previous_expires_at_ms',
    user: 'account_id',
  },
  {
    table: 'credit_codes',
    name: 'revoked',
    does: 'changed',
    when: 'old.revoked_at_ms is null and new.revoked_at_ms is not null',
    key: 'id',
    set: 'revoked_at_ms',
  },
  { table: 'webhooks', name: 'removed', does: 'removed', key: 'id' },
  {
    table: 'webhooks',
    name: 'changed',
    does: 'changed',
    when: `${differs('events')} or ${differs('disabled')}`,
    key: 'id',
    set: 'events,disabled',
  },
  // Many receivers have their secret in the address.
  {
    table: 'webhooks',
    name: 'moved',
    does: 'changed',
    when: differs('url'),
    key: 'id',
    set: 'url',
    hidden: 'url',
  },
  {
    ...MAINTENANCE,
    name: 'changed',
    does: 'changed',
    when: `${IS_MAINTENANCE} and ${differs('value')}`,
  },
  { ...MAINTENANCE, name: 'added', does: 'added', when: IS_MAINTENANCE },
]
