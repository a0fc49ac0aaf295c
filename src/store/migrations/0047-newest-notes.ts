import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'

/**
 * Of a user or an account with many notes of one table, the newest are kept, and no longer the oldest: a failover loses the
 * newest changes. Whoever knew a password could change it again and again, and the change that took it from them was not noted.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  if (!isPostgres(db)) return
  // Its parameters are those of the function in 0046.
  await sql`
    create or replace function note_taken_access() returns trigger language plpgsql as $$
    declare
      now_us bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
      before jsonb := case when tg_op = 'INSERT' then '{}' else to_jsonb(old) end;
      after jsonb := case when tg_op = 'DELETE' then '{}' else to_jsonb(new) end;
      named jsonb := case when tg_op = 'INSERT' then after else before end;
      row_user text := coalesce(named ->> tg_argv[2], named ->> tg_argv[4], '');
      set_text text;
    begin
      -- A gateway that repeats a lost change adds the lost note itself.
      if current_setting('tollgate.notes', true) = 'off' then return null; end if;
      if tg_op <> 'DELETE' then
        select json_object_agg(name,
            case when name = any(string_to_array(tg_argv[5], ',')) then null else after -> name end)::text
          into set_text
          from unnest(string_to_array(tg_argv[1], ',')) name
          where before -> name is distinct from after -> name;
        if set_text is null then return null; end if;
      end if;
      if tg_argv[3] = 'bounded' and row_user <> '' then
        -- Waits for no other transaction, which could wait for this one.
        execute format(
          'delete from %1$I.taken_access where id in (
            select id from %1$I.taken_access where user_id = $1 and table_name = $2 and id <= (
              select id from %1$I.taken_access where user_id = $1 and table_name = $2
                order by id desc offset ${sql.raw(String(NEWEST - 1))} limit 1)
            for update skip locked)',
          tg_table_schema)
          using row_user, tg_table_name::text;
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
}

/** How many notes of one table a user has at most. Gateways count on it: `taken-access.ts`. */
const NEWEST = 200
