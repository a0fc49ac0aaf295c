import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../is-postgres.ts'
import type { Tables } from '../schema.ts'

/** The schema of 0.2.0 in one step: no older store is migrated. */
export async function up(db: Kysely<Tables>): Promise<void> {
  // Rows of roll-ups are found only by their keys.
  const end = isPostgres(db) ? '' : ' without rowid'
  const statements = SCHEMA.replaceAll('{end}', end).replaceAll('{figures}', figures()).split(';')
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** The columns that roll-ups of 0.2.0 add up. */
export const AMOUNTS = [
  'requests',
  'failed',
  'backed_charge_micros',
  'free_charge_micros',
  'written_off_micros',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'cache_write_long_tokens',
  'output_tokens',
  'reasoning_tokens',
  'image_output_tokens',
  'searches',
] as const

/** Its counts of first-byte times. */
export const WAITS = Array.from(
  { length: 24 },
  (_, place) => `wait_${String(place).padStart(2, '0')}`,
)

function figures(): string {
  return [
    'requests bigint not null',
    ...AMOUNTS.slice(1).map((name) => `${name} bigint default 0 not null`),
    ...WAITS.map((name) => `${name} integer default 0 not null`),
  ].join(', ')
}

// `{end}` ends the tables of roll-ups.
const SCHEMA = `
create table accounts (
  id text not null primary key, name text not null, email text, disabled integer default 0 not null,
  created_at_ms bigint not null, free_expires_at_ms bigint, has_backed_credit integer default 0 not null,
  request_window text default '' not null, entry_count bigint default 0 not null,
  backed_balance_micros bigint default 0 not null, backed_held_micros bigint default 0 not null,
  free_balance_micros bigint default 0 not null, free_held_micros bigint default 0 not null,
  fee_basis_points bigint, models_allow text, models_deny text, allowance_micros bigint, allowance_period text,
  allowance_time_zone text, requests_per_minute_max bigint, in_flight_max bigint, tokens_per_minute_max bigint,
  period_starts_at_ms bigint, period_ends_at_ms bigint, period_unused_from_ms bigint,
  period_spend_micros bigint, period_held_micros bigint, token_window text default '' not null,
  open_holds bigint default 0 not null, low_balance_micros bigint, external_id text, metadata_json text,
  last_credit_number bigint default 0 not null, last_credit_balance_micros bigint default 0 not null,
  constraint accounts_held check (backed_held_micros >= 0 and free_held_micros >= 0
    and free_balance_micros >= free_held_micros)
);
create table api_keys (
  id text not null primary key, account_id text not null references accounts (id), name text not null,
  key_hash text not null unique, display_prefix text not null, disabled integer default 0 not null,
  deleted_at_ms bigint, expires_at_ms bigint, credit_limit_micros bigint, created_at_ms bigint not null,
  open_holds integer default 0 not null, request_window text default '' not null,
  spend_micros bigint default 0 not null, held_micros bigint default 0 not null, models_allow text,
  models_deny text, allowance_micros bigint, allowance_period text, allowance_time_zone text,
  requests_per_minute_max bigint, in_flight_max bigint, tokens_per_minute_max bigint,
  period_starts_at_ms bigint, period_ends_at_ms bigint, period_unused_from_ms bigint,
  period_spend_micros bigint, period_held_micros bigint, token_window text default '' not null,
  metadata_json text,
  constraint api_keys_held check (held_micros >= 0 and open_holds >= 0)
);
create index api_keys_account_id_id on api_keys (account_id, id);
create table requests (
  id text not null primary key, account_id text not null references accounts (id),
  api_key_id text not null references api_keys (id), instance_id text not null, endpoint text not null,
  model_id text not null, stream integer not null, state text not null, swept integer default 0 not null,
  cost_usd text, late_cost_usd text, late_reports integer default 0 not null, price_snapshot_id text not null,
  http_status integer, error_code text, generation_id text, input_tokens bigint, cache_read_tokens bigint,
  cache_write_tokens bigint, cache_write_long_tokens bigint, output_tokens bigint, reasoning_tokens bigint,
  image_output_tokens bigint, searches bigint, opened_at_ms bigint not null, first_byte_at_ms bigint,
  ended_at_ms bigint, settled_at_ms bigint, backed_granted_micros bigint default 0 not null,
  free_granted_micros bigint default 0 not null, backed_held_micros bigint default 0 not null,
  free_held_micros bigint default 0 not null, backed_charge_micros bigint default 0 not null,
  free_charge_micros bigint default 0 not null, written_off_micros bigint default 0 not null,
  upstream text default 'openrouter' not null, cost_stands integer default 0 not null, tags text,
  fee_basis_points bigint default 500 not null, counted_tokens bigint, counted_in_second bigint
);
create index requests_account_id_id on requests (account_id, id);
create index requests_api_key_id_id on requests (api_key_id, id);
create table entries (
  account_id text not null references accounts (id), number bigint not null, kind text not null,
  purse text not null, amount_micros bigint not null, reference text, request_id text, api_key_id text,
  expires_at_ms bigint, created_at_ms bigint not null,
  constraint entries_pkey primary key (account_id, number)
);
create unique index entries_reference on entries (account_id, reference) where reference is not null;
create index entries_request on entries (request_id) where request_id is not null;
create table price_snapshots (
  id text not null primary key, model_id text not null, prices_json text not null, created_at_ms bigint not null
);
create table settings (
  name text not null primary key, value text not null
);
create table credit_codes (
  id text not null primary key, code_hash text not null unique, display_suffix text not null,
  amount_micros bigint not null, created_at_ms bigint not null, expires_at_ms bigint, revoked_at_ms bigint,
  redeemed_at_ms bigint, redeemed_by text references accounts (id),
  constraint credit_codes_redeemed check (amount_micros > 0 and (redeemed_at_ms is null) = (redeemed_by is null))
);
create table pruned_requests (
  api_key_id text not null primary key references api_keys (id),
  account_id text not null references accounts (id), requests bigint not null,
  backed_charge_micros bigint not null, free_charge_micros bigint not null, written_off_micros bigint not null,
  latest_settled_at_ms bigint not null
);
create table usage_hours (
  hour bigint not null, account_id text not null, model_id text not null, endpoint text not null, {figures},
  constraint usage_hours_pkey primary key (hour, account_id, model_id, endpoint)
){end};
create table usage_days (
  day bigint not null, account_id text not null, api_key_id text not null, model_id text not null,
  endpoint text not null, {figures},
  constraint usage_days_pkey primary key (day, account_id, api_key_id, model_id, endpoint)
){end};
create table usage_rolled (
  step text not null, number bigint not null, requests bigint not null, rolled_at_ms bigint not null,
  constraint usage_rolled_pkey primary key (step, number)
);
create table users (
  id text not null primary key, name text not null, email text not null unique,
  email_verified integer default 0 not null, is_operator integer default 0 not null,
  created_at_ms bigint not null, updated_at_ms bigint not null, alert_mails integer default 1 not null,
  constraint users_email check (email = lower(email))
);
create table members (
  account_id text not null references accounts (id), user_id text not null references users (id),
  role text not null, created_at_ms bigint not null,
  constraint members_pkey primary key (account_id, user_id)
);
create index members_user_id on members (user_id);
create table sign_ins (
  id text not null primary key, user_id text not null references users (id), provider text not null,
  provider_user_id text not null, password_hash text, created_at_ms bigint not null,
  updated_at_ms bigint not null,
  constraint sign_ins_provider unique (provider, provider_user_id)
);
create index sign_ins_user_id on sign_ins (user_id);
create table sessions (
  id text not null primary key, user_id text not null references users (id), token_hash text not null unique,
  address text, agent text, expires_at_ms bigint not null, created_at_ms bigint not null,
  updated_at_ms bigint not null, confirmed_at_ms bigint, last_used_at_ms bigint, factor_passed_at_ms bigint,
  challenge text, challenge_at_ms bigint
);
create index sessions_user_id on sessions (user_id);
create table verifications (
  id text not null primary key, identifier text not null, value text not null, expires_at_ms bigint not null,
  created_at_ms bigint not null, updated_at_ms bigint not null
);
create table sign_in_rates (
  caller_hash text not null primary key, attempts integer not null, started_at_ms bigint not null
);
create index sign_in_rates_started on sign_in_rates (started_at_ms);
create table links (
  id text not null primary key, kind text not null, token_hash text not null unique, email text,
  user_id text references users (id), is_operator integer default 0 not null,
  account_id text references accounts (id), role text, expires_at_ms bigint not null, used_at_ms bigint,
  created_at_ms bigint not null, mailed integer default 0 not null, ticket_hash text, code_hash text,
  tries integer default 0 not null
);
create table purchases (
  id text not null primary key, account_id text not null references accounts (id), method text not null,
  source text not null unique, credit_micros bigint not null, created_at_ms bigint not null,
  expires_at_ms bigint, state text not null, reversed_micros bigint default 0 not null,
  reversals bigint default 0 not null, payment_ref text, paid_currency text, paid_units text, note text,
  credited_at_ms bigint, price_units text, disputed bigint default 0 not null,
  constraint purchases_reversed check (credit_micros > 0 and 0 <= reversed_micros and reversed_micros <= credit_micros
    and (reversals = 0 or state = 'credited') and (reversed_micros = 0 or reversals > 0)),
  constraint purchases_credited check ((state = 'credited') = (credited_at_ms is not null)
    and (paid_currency is null) = (paid_units is null) and (state <> 'credited' or paid_units is not null))
);
create index purchases_account_id_id on purchases (account_id, id);
create index purchases_pending on purchases (state, account_id, id)
  where state = 'open' or state = 'held' or state = 'below_minimum';
create index entries_purchases on entries (account_id, number)
  where kind = 'top_up' or kind = 'activation' or kind = 'purchase' or kind = 'reversal';
create table play_checkouts (
  id text not null primary key, cents bigint not null, state text not null, expires_at_ms bigint not null,
  constraint play_checkouts_cents check (cents > 0)
);
create table sale_cursors (
  source text not null primary key, position text not null, block_hash text, looked_at_ms bigint not null
);
create index purchases_payment_ref on purchases (payment_ref) where payment_ref is not null;
create index purchases_credited_at_ms on purchases (credited_at_ms) where credited_at_ms is not null;
create table catalog_models (
  upstream text not null, id text not null, item_json text not null,
  constraint catalog_models_pkey primary key (upstream, id)
);
create table catalog_state (
  upstream text not null primary key, source text not null, place bigint not null,
  refreshed_at_ms bigint not null
);
create index requests_unsettled on requests (state, instance_id, id)
  where cost_stands = 0 and (state = 'open' or state = 'provisional' or state = 'unresolved');
create index requests_standing on requests (id) where cost_stands = 1 and state = 'provisional';
create table lookup_doubts (
  upstream text not null, model_id text not null, endpoint text not null, stream integer not null,
  differences bigint not null, opened_at_ms bigint not null,
  constraint lookup_doubts_pkey primary key (upstream, model_id, endpoint, stream)
);
create table deposit_addresses (
  chain_id bigint not null, address text not null, account_id text not null references accounts (id),
  created_at_ms bigint not null,
  constraint deposit_addresses_key primary key (chain_id, address),
  constraint deposit_addresses_case check (address = lower(address))
);
create index deposit_addresses_account_id on deposit_addresses (account_id, chain_id);
create table token_rates (
  chain_id bigint not null, token text not null, rate8 bigint not null, feed_at_ms bigint not null,
  read_at_ms bigint not null,
  constraint token_rates_key primary key (chain_id, token)
);
create table confirming_deposits (
  chain_id bigint not null, tx_hash text not null, log_index bigint not null,
  account_id text not null references accounts (id), method text not null, block bigint not null,
  currency text not null, units text not null, credit_micros bigint not null, seen_at_ms bigint not null,
  constraint confirming_deposits_key primary key (chain_id, tx_hash, log_index)
);
create index confirming_deposits_account_id on confirming_deposits (account_id);
create table admin_tokens (
  id text not null primary key, name text not null, token_hash text not null unique,
  display_prefix text not null, scopes text not null, made_by text, created_at_ms bigint not null,
  expires_at_ms bigint, revoked_at_ms bigint, last_used_at_ms bigint
);
create index admin_tokens_made_by on admin_tokens (made_by);
create table operator_actions (
  id text not null primary key, user_id text references users (id), token_id text references admin_tokens (id),
  token_name text, action text not null, target_id text, created_at_ms bigint not null, account_id text,
  amount_micros bigint, detail_json text default '{}' not null,
  constraint operator_actions_by_one check ((user_id is null and token_name is not null)
    or (user_id is not null and token_name is null and token_id is null))
);
create index operator_actions_account_id_id on operator_actions (account_id, id);
create table webhooks (
  id text not null primary key, url text not null, events text not null, secret text not null,
  disabled integer default 0 not null, created_at_ms bigint not null
);
create table webhook_conditions (
  event text not null, subject_id text not null, since_ms bigint not null,
  constraint webhook_conditions_pkey primary key (event, subject_id)
);
create table webhook_deliveries (
  id text not null primary key, webhook_id text not null references webhooks (id), event text not null,
  body text not null, state text not null, attempts integer default 0 not null,
  next_attempt_at_ms bigint not null, leased_until_ms bigint default 0 not null, http_status integer,
  failure text, created_at_ms bigint not null, ended_at_ms bigint
);
create index webhook_deliveries_webhook_id_id on webhook_deliveries (webhook_id, id);
create index webhook_deliveries_waiting on webhook_deliveries (webhook_id, next_attempt_at_ms)
  where state = 'waiting';
create unique index accounts_external_id on accounts (external_id);
create table instances (
  id text not null primary key, started_at_ms bigint not null, heartbeat_at_ms bigint not null,
  stopped_at_ms bigint, program_schema integer not null
);
create unique index links_ticket_hash on links (ticket_hash);
create table mail_rates (
  subject_hash text not null primary key, mails integer not null, ends_at_ms bigint not null
);
create index mail_rates_ends_at_ms on mail_rates (ends_at_ms);
create table authenticator_apps (
  user_id text not null primary key references users (id), id text not null unique, secret text not null,
  created_at_ms bigint not null, last_step bigint not null, last_used_at_ms bigint
);
create table recovery_codes (
  user_id text not null references users (id), code_hash text not null, created_at_ms bigint not null,
  used_at_ms bigint,
  constraint recovery_codes_key primary key (user_id, code_hash)
);
create table alerts (
  subject text not null, step integer not null, account_id text not null references accounts (id),
  ends_at_ms bigint, created_at_ms bigint not null,
  constraint alerts_key primary key (subject, step)
);
create index alerts_account_id on alerts (account_id);
create index alerts_ends_at_ms on alerts (ends_at_ms);
create table alert_letters (
  id text not null primary key, user_id text not null references users (id),
  account_id text not null references accounts (id), about_json text not null, created_at_ms bigint not null,
  tries integer default 0 not null, next_try_at_ms bigint not null
);
create index alert_letters_next_try_at_ms on alert_letters (next_try_at_ms);
create table passkeys (
  id text not null primary key, user_id text not null references users (id), name text not null,
  credential_id text not null unique, public_key text not null, host text not null, transports text not null,
  signatures bigint not null, created_at_ms bigint not null, last_used_at_ms bigint
);
create index passkeys_user on passkeys (user_id, id)`
