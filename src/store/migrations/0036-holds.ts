import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'

/**
 * Holds that are open, in a table of their own. Requests that are open stay where they are: on PostgreSQL a program of
 * before may still settle them there.
 */
export async function up(db: Kysely<Tables>): Promise<void> {
  // Its key is most of how a row is found: SQLite keeps it once.
  const end = sql.raw(isPostgres(db) ? '' : ' without rowid')
  await sql`
    create table holds (
      id text not null primary key, account_id text not null, api_key_id text not null, instance_id text not null,
      endpoint text not null, upstream text not null, model_id text not null, stream integer not null,
      backed_granted_micros bigint not null, free_granted_micros bigint not null, price_snapshot_id text not null,
      fee_basis_points bigint not null, opened_at_ms bigint not null, tags text, counted_tokens bigint,
      counted_in_second bigint, generation_id text
    )${end}`.execute(db)
  for (const view of VIEWS) await sql.raw(view).execute(db)
}

/** The columns of requests that holds have too. */
const COMMON = [
  'id',
  'account_id',
  'api_key_id',
  'instance_id',
  'endpoint',
  'upstream',
  'model_id',
  'stream',
  'backed_granted_micros',
  'free_granted_micros',
  'price_snapshot_id',
  'fee_basis_points',
  'opened_at_ms',
  'tags',
  'counted_tokens',
  'counted_in_second',
  'generation_id',
]

/** The other columns, and their values in an open hold. */
const OF_OPEN = [
  ['state', "cast('open' as text)"],
  ['swept', 'cast(0 as integer)'],
  ['backed_held_micros', 'backed_granted_micros'],
  ['free_held_micros', 'free_granted_micros'],
  ['backed_charge_micros', 'cast(0 as bigint)'],
  ['free_charge_micros', 'cast(0 as bigint)'],
  ['written_off_micros', 'cast(0 as bigint)'],
  ['cost_usd', 'cast(null as text)'],
  ['cost_micros', 'cast(null as bigint)'],
  ['cost_rest_pico', 'cast(null as bigint)'],
  ['cost_stands', 'cast(0 as integer)'],
  ['late_cost_usd', 'cast(null as text)'],
  ['late_reports', 'cast(0 as integer)'],
  ['http_status', 'cast(null as integer)'],
  ['error_code', 'cast(null as text)'],
  ['input_tokens', 'cast(null as bigint)'],
  ['cache_read_tokens', 'cast(null as bigint)'],
  ['cache_write_tokens', 'cast(null as bigint)'],
  ['cache_write_long_tokens', 'cast(null as bigint)'],
  ['output_tokens', 'cast(null as bigint)'],
  ['reasoning_tokens', 'cast(null as bigint)'],
  ['image_output_tokens', 'cast(null as bigint)'],
  ['searches', 'cast(null as bigint)'],
  ['first_byte_at_ms', 'cast(null as bigint)'],
  ['ended_at_ms', 'cast(null as bigint)'],
  ['settled_at_ms', 'cast(null as bigint)'],
] as const

const COLUMNS = [...COMMON, ...OF_OPEN.map(([name]) => name)].join(', ')

// Every value has the type of its column: only then both engines look into each table by its own indexes.
const VIEWS = [
  `create view open_requests as
  select ${[...COMMON, ...OF_OPEN.map(([name, value]) => `${value} as ${name}`)].join(', ')} from holds`,
  `create view all_requests as
  select ${COLUMNS} from requests union all select ${COLUMNS} from open_requests`,
]
