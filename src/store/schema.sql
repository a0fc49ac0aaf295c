CREATE VIEW all_requests as
  select id, account_id, api_key_id, instance_id, endpoint, upstream, model_id, stream, backed_granted_micros, free_granted_micros, price_snapshot_id, fee_basis_points, opened_at_ms, tags, counted_tokens, counted_in_second, generation_id, state, swept, backed_held_micros, free_held_micros, backed_charge_micros, free_charge_micros, written_off_micros, cost_usd, cost_micros, cost_rest_pico, cost_stands, late_cost_usd, late_reports, http_status, error_code, input_tokens, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens, reasoning_tokens, image_output_tokens, searches, first_byte_at_ms, ended_at_ms, settled_at_ms from requests union all select id, account_id, api_key_id, instance_id, endpoint, upstream, model_id, stream, backed_granted_micros, free_granted_micros, price_snapshot_id, fee_basis_points, opened_at_ms, tags, counted_tokens, counted_in_second, generation_id, state, swept, backed_held_micros, free_held_micros, backed_charge_micros, free_charge_micros, written_off_micros, cost_usd, cost_micros, cost_rest_pico, cost_stands, late_cost_usd, late_reports, http_status, error_code, input_tokens, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens, reasoning_tokens, image_output_tokens, searches, first_byte_at_ms, ended_at_ms, settled_at_ms from open_requests;
CREATE VIEW open_requests as
  select id, account_id, api_key_id, instance_id, endpoint, upstream, model_id, stream, backed_granted_micros, free_granted_micros, price_snapshot_id, fee_basis_points, opened_at_ms, tags, counted_tokens, counted_in_second, generation_id, cast('open' as text) as state, cast(0 as integer) as swept, backed_granted_micros as backed_held_micros, free_granted_micros as free_held_micros, cast(0 as bigint) as backed_charge_micros, cast(0 as bigint) as free_charge_micros, cast(0 as bigint) as written_off_micros, cast(null as text) as cost_usd, cast(null as bigint) as cost_micros, cast(null as bigint) as cost_rest_pico, cast(0 as integer) as cost_stands, cast(null as text) as late_cost_usd, cast(0 as integer) as late_reports, cast(null as integer) as http_status, cast(null as text) as error_code, cast(null as bigint) as input_tokens, cast(null as bigint) as cache_read_tokens, cast(null as bigint) as cache_write_tokens, cast(null as bigint) as cache_write_long_tokens, cast(null as bigint) as output_tokens, cast(null as bigint) as reasoning_tokens, cast(null as bigint) as image_output_tokens, cast(null as bigint) as searches, cast(null as bigint) as first_byte_at_ms, cast(null as bigint) as ended_at_ms, cast(null as bigint) as settled_at_ms from holds;
CREATE TABLE accounts (
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
  last_credit_number bigint default 0 not null, last_credit_balance_micros bigint default 0 not null, "disabled_at_ms" bigint, "disabled_note" text, "billing_json" text, credit_state text generated always as (
      case when backed_balance_micros < 0 then 'in_debt'
        when disabled = 0 and has_backed_credit = 1
          and backed_balance_micros < coalesce(low_balance_micros, 5000000) then 'low_credit' end
    ) virtual,
  constraint accounts_held check (backed_held_micros >= 0 and free_held_micros >= 0
    and free_balance_micros >= free_held_micros)
);
CREATE TABLE admin_tokens (
  id text not null primary key, name text not null, token_hash text not null unique,
  display_prefix text not null, scopes text not null, made_by text, created_at_ms bigint not null,
  expires_at_ms bigint, revoked_at_ms bigint, last_used_at_ms bigint
);
CREATE TABLE alert_letters (
  id text not null primary key, user_id text not null references users (id),
  account_id text not null references accounts (id), about_json text not null, created_at_ms bigint not null,
  tries integer default 0 not null, next_try_at_ms bigint not null
);
CREATE TABLE alerts (
  subject text not null, step integer not null, account_id text not null references accounts (id),
  ends_at_ms bigint, created_at_ms bigint not null,
  constraint alerts_key primary key (subject, step)
);
CREATE TABLE api_keys (
  id text not null primary key, account_id text not null references accounts (id), name text not null,
  key_hash text not null unique, display_prefix text not null, disabled integer default 0 not null,
  deleted_at_ms bigint, expires_at_ms bigint, credit_limit_micros bigint, created_at_ms bigint not null,
  open_holds integer default 0 not null, request_window text default '' not null,
  spend_micros bigint default 0 not null, held_micros bigint default 0 not null, models_allow text,
  models_deny text, allowance_micros bigint, allowance_period text, allowance_time_zone text,
  requests_per_minute_max bigint, in_flight_max bigint, tokens_per_minute_max bigint,
  period_starts_at_ms bigint, period_ends_at_ms bigint, period_unused_from_ms bigint,
  period_spend_micros bigint, period_held_micros bigint, token_window text default '' not null,
  metadata_json text, "previous_key_hash" text, "previous_expires_at_ms" bigint,
  constraint api_keys_held check (held_micros >= 0 and open_holds >= 0)
);
CREATE TABLE authenticator_apps (
  user_id text not null primary key references users (id), id text not null unique, secret text not null,
  created_at_ms bigint not null, last_step bigint not null, last_used_at_ms bigint
);
CREATE TABLE catalog_models (
  upstream text not null, id text not null, item_json text not null,
  constraint catalog_models_pkey primary key (upstream, id)
);
CREATE TABLE catalog_state (
  upstream text not null primary key, source text not null, place bigint not null,
  refreshed_at_ms bigint not null
);
CREATE TABLE "commit_marks" ("instance_id" text not null primary key, "commits" bigint not null);
CREATE TABLE confirming_deposits (
  chain_id bigint not null, tx_hash text not null, log_index bigint not null,
  account_id text not null references accounts (id), method text not null, block bigint not null,
  currency text not null, units text not null, credit_micros bigint not null, seen_at_ms bigint not null,
  constraint confirming_deposits_key primary key (chain_id, tx_hash, log_index)
);
CREATE TABLE credit_codes (
  id text not null primary key, code_hash text not null unique, display_suffix text not null,
  amount_micros bigint not null, created_at_ms bigint not null, expires_at_ms bigint, revoked_at_ms bigint,
  redeemed_at_ms bigint, redeemed_by text references accounts (id),
  constraint credit_codes_redeemed check (amount_micros > 0 and (redeemed_at_ms is null) = (redeemed_by is null))
);
CREATE TABLE deposit_addresses (
  chain_id bigint not null, address text not null, account_id text not null references accounts (id),
  created_at_ms bigint not null,
  constraint deposit_addresses_key primary key (chain_id, address),
  constraint deposit_addresses_case check (address = lower(address))
);
CREATE TABLE entries (
  account_id text not null references accounts (id), number bigint not null, kind text not null,
  purse text not null, amount_micros bigint not null, reference text, request_id text, api_key_id text,
  expires_at_ms bigint, created_at_ms bigint not null,
  constraint entries_pkey primary key (account_id, number)
);
CREATE TABLE entry_sums (
      account_id text not null, number bigint not null, sum_micros bigint not null,
      constraint entry_sums_pkey primary key (account_id, number)
    ) without rowid;
CREATE TABLE holds (
      id text not null primary key, account_id text not null, api_key_id text not null, instance_id text not null,
      endpoint text not null, upstream text not null, model_id text not null, stream integer not null,
      backed_granted_micros bigint not null, free_granted_micros bigint not null, price_snapshot_id text not null,
      fee_basis_points bigint not null, opened_at_ms bigint not null, tags text, counted_tokens bigint,
      counted_in_second bigint, generation_id text
    ) without rowid;
CREATE TABLE instances (
  id text not null primary key, started_at_ms bigint not null, heartbeat_at_ms bigint not null,
  stopped_at_ms bigint, program_schema integer not null
);
CREATE TABLE "late_costs" ("id" text not null primary key, "hour" bigint not null, "day" bigint not null, "account_id" text not null, "api_key_id" text not null, "model_id" text not null, "endpoint" text not null, "upstream" text not null, "cost_micros" bigint not null, "cost_rest_pico" bigint not null);
CREATE TABLE links (
  id text not null primary key, kind text not null, token_hash text not null unique, email text,
  user_id text references users (id), is_operator integer default 0 not null,
  account_id text references accounts (id), role text, expires_at_ms bigint not null, used_at_ms bigint,
  created_at_ms bigint not null, mailed integer default 0 not null, ticket_hash text, code_hash text,
  tries integer default 0 not null
, "vouched" integer default 0 not null, "inviter_id" text);
CREATE TABLE lookup_doubts (
  upstream text not null, model_id text not null, endpoint text not null, stream integer not null,
  differences bigint not null, opened_at_ms bigint not null,
  constraint lookup_doubts_pkey primary key (upstream, model_id, endpoint, stream)
);
CREATE TABLE mail_rates (
  subject_hash text not null primary key, mails integer not null, ends_at_ms bigint not null
, "last_at_ms" bigint);
CREATE TABLE members (
  account_id text not null references accounts (id), user_id text not null references users (id),
  role text not null, created_at_ms bigint not null,
  constraint members_pkey primary key (account_id, user_id)
);
CREATE TABLE "migrations" ("number" integer primary key, "name" text not null, "applied_at_ms" bigint not null);
CREATE TABLE operator_actions (
  id text not null primary key, user_id text references users (id), token_id text references admin_tokens (id),
  token_name text, action text not null, target_id text, created_at_ms bigint not null, account_id text,
  amount_micros bigint, detail_json text default '{}' not null,
  constraint operator_actions_by_one check ((user_id is null and token_name is not null)
    or (user_id is not null and token_name is null and token_id is null))
);
CREATE TABLE passkeys (
  id text not null primary key, user_id text not null references users (id), name text not null,
  credential_id text not null unique, public_key text not null, host text not null, transports text not null,
  signatures bigint not null, created_at_ms bigint not null, last_used_at_ms bigint
);
CREATE TABLE play_checkouts (
  id text not null primary key, cents bigint not null, state text not null, expires_at_ms bigint not null,
  constraint play_checkouts_cents check (cents > 0)
);
CREATE TABLE price_snapshots (
  id text not null primary key, model_id text not null, prices_json text not null, created_at_ms bigint not null
);
CREATE TABLE pruned_requests (
  api_key_id text not null primary key references api_keys (id),
  account_id text not null references accounts (id), requests bigint not null,
  backed_charge_micros bigint not null, free_charge_micros bigint not null, written_off_micros bigint not null,
  latest_settled_at_ms bigint not null
);
CREATE TABLE purchases (
  id text not null primary key, account_id text not null references accounts (id), method text not null,
  source text not null unique, credit_micros bigint not null, created_at_ms bigint not null,
  expires_at_ms bigint, state text not null, reversed_micros bigint default 0 not null,
  reversals bigint default 0 not null, payment_ref text, paid_currency text, paid_units text, note text,
  credited_at_ms bigint, price_units text, "receipt_number" bigint, "tax_units" text, "dispute" text, "buyer_json" text,
  constraint purchases_reversed check (credit_micros > 0 and 0 <= reversed_micros and reversed_micros <= credit_micros
    and (reversals = 0 or state = 'credited') and (reversed_micros = 0 or reversals > 0)),
  constraint purchases_credited check ((state = 'credited') = (credited_at_ms is not null)
    and (paid_currency is null) = (paid_units is null) and (state <> 'credited' or paid_units is not null))
);
CREATE TABLE "receipt_numbers" ("id" text not null primary key, "last_number" bigint not null);
CREATE TABLE recovery_codes (
  user_id text not null references users (id), code_hash text not null, created_at_ms bigint not null,
  used_at_ms bigint,
  constraint recovery_codes_key primary key (user_id, code_hash)
);
CREATE TABLE refusals (
      account_id text not null, hour bigint not null, api_key_id text not null, code text not null,
      requests bigint not null, latest_at_ms bigint not null,
      constraint refusals_cells primary key (account_id, hour, api_key_id, code)
    ) without rowid;
CREATE TABLE requests (
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
, "cost_micros" bigint, "cost_rest_pico" bigint);
CREATE TABLE sale_cursors (
  source text not null primary key, position text not null, block_hash text, looked_at_ms bigint not null
);
CREATE TABLE sessions (
  id text not null primary key, user_id text not null references users (id), token_hash text not null unique,
  address text, agent text, expires_at_ms bigint not null, created_at_ms bigint not null,
  confirmed_at_ms bigint, last_used_at_ms bigint, factor_passed_at_ms bigint,
  challenge text, challenge_at_ms bigint
, "guarded_at_ms" bigint);
CREATE TABLE settings (
  name text not null primary key, value text not null
);
CREATE TABLE sign_in_rates (
  caller_hash text not null primary key, attempts integer not null, started_at_ms bigint not null
);
CREATE TABLE sign_ins (
  id text not null primary key, user_id text not null references users (id), provider text not null,
  provider_user_id text not null, password_hash text, created_at_ms bigint not null,
  constraint sign_ins_provider unique (provider, provider_user_id)
);
CREATE TABLE "store_gaps" ("id" text not null primary key, "instance_id" text not null, "found_at_ms" bigint not null, "from_ms" bigint not null, "until_ms" bigint not null, "commits" bigint not null, "requests" bigint not null, "charge_micros" bigint not null, "commands" bigint not null, "lost" bigint not null);
CREATE TABLE taken_access (
      id text not null primary key, user_id text not null, table_name text not null,
      key_json text not null, set_json text, taken_at_ms bigint not null
    );
CREATE TABLE token_rates (
  chain_id bigint not null, token text not null, rate8 bigint not null, feed_at_ms bigint not null,
  read_at_ms bigint not null,
  constraint token_rates_key primary key (chain_id, token)
);
CREATE TABLE "usage_days" ("day" bigint not null, "account_id" text not null, "api_key_id" text not null, "model_id" text not null, "endpoint" text not null, "upstream" text not null, "requests" bigint not null, "failed" bigint default 0 not null, "backed_charge_micros" bigint default 0 not null, "free_charge_micros" bigint default 0 not null, "written_off_micros" bigint default 0 not null, "input_tokens" bigint default 0 not null, "cache_read_tokens" bigint default 0 not null, "cache_write_tokens" bigint default 0 not null, "cache_write_long_tokens" bigint default 0 not null, "output_tokens" bigint default 0 not null, "reasoning_tokens" bigint default 0 not null, "image_output_tokens" bigint default 0 not null, "searches" bigint default 0 not null, "cost_micros" bigint default 0 not null, "cost_rest_pico" bigint default 0 not null, "uncosted" bigint default 0 not null, "wait_00" integer default 0 not null, "wait_01" integer default 0 not null, "wait_02" integer default 0 not null, "wait_03" integer default 0 not null, "wait_04" integer default 0 not null, "wait_05" integer default 0 not null, "wait_06" integer default 0 not null, "wait_07" integer default 0 not null, "wait_08" integer default 0 not null, "wait_09" integer default 0 not null, "wait_10" integer default 0 not null, "wait_11" integer default 0 not null, "wait_12" integer default 0 not null, "wait_13" integer default 0 not null, "wait_14" integer default 0 not null, "wait_15" integer default 0 not null, "wait_16" integer default 0 not null, "wait_17" integer default 0 not null, "wait_18" integer default 0 not null, "wait_19" integer default 0 not null, "wait_20" integer default 0 not null, "wait_21" integer default 0 not null, "wait_22" integer default 0 not null, "wait_23" integer default 0 not null, constraint "usage_days_groups" primary key ("day", "account_id", "api_key_id", "model_id", "endpoint", "upstream")) without rowid;
CREATE TABLE usage_errors (
      step text not null, number bigint not null, account_id text not null, api_key_id text not null,
      model_id text not null, endpoint text not null, upstream text not null, code text not null,
      requests bigint not null, latest_id text not null,
      constraint usage_errors_groups
        primary key (step, number, account_id, api_key_id, model_id, endpoint, upstream, code)
    ) without rowid;
CREATE TABLE "usage_hours" ("hour" bigint not null, "account_id" text not null, "model_id" text not null, "endpoint" text not null, "upstream" text not null, "requests" bigint not null, "failed" bigint default 0 not null, "backed_charge_micros" bigint default 0 not null, "free_charge_micros" bigint default 0 not null, "written_off_micros" bigint default 0 not null, "input_tokens" bigint default 0 not null, "cache_read_tokens" bigint default 0 not null, "cache_write_tokens" bigint default 0 not null, "cache_write_long_tokens" bigint default 0 not null, "output_tokens" bigint default 0 not null, "reasoning_tokens" bigint default 0 not null, "image_output_tokens" bigint default 0 not null, "searches" bigint default 0 not null, "cost_micros" bigint default 0 not null, "cost_rest_pico" bigint default 0 not null, "uncosted" bigint default 0 not null, "wait_00" integer default 0 not null, "wait_01" integer default 0 not null, "wait_02" integer default 0 not null, "wait_03" integer default 0 not null, "wait_04" integer default 0 not null, "wait_05" integer default 0 not null, "wait_06" integer default 0 not null, "wait_07" integer default 0 not null, "wait_08" integer default 0 not null, "wait_09" integer default 0 not null, "wait_10" integer default 0 not null, "wait_11" integer default 0 not null, "wait_12" integer default 0 not null, "wait_13" integer default 0 not null, "wait_14" integer default 0 not null, "wait_15" integer default 0 not null, "wait_16" integer default 0 not null, "wait_17" integer default 0 not null, "wait_18" integer default 0 not null, "wait_19" integer default 0 not null, "wait_20" integer default 0 not null, "wait_21" integer default 0 not null, "wait_22" integer default 0 not null, "wait_23" integer default 0 not null, constraint "usage_hours_groups" primary key ("hour", "account_id", "model_id", "endpoint", "upstream")) without rowid;
CREATE TABLE usage_rolled (
  step text not null, number bigint not null, requests bigint not null, rolled_at_ms bigint not null, program_schema integer not null default 0,
  constraint usage_rolled_pkey primary key (step, number)
);
CREATE TABLE users (
  id text not null primary key, name text not null, email text not null unique,
  email_verified integer default 0 not null, is_operator integer default 0 not null,
  created_at_ms bigint not null, alert_mails integer default 1 not null, "vouched" integer default 0 not null,
  constraint users_email check (email = lower(email))
);
CREATE TABLE verifications (
  id text not null primary key, identifier text not null, expires_at_ms bigint not null,
  created_at_ms bigint not null);
CREATE TABLE webhook_conditions (
  event text not null, subject_id text not null, since_ms bigint not null,
  constraint webhook_conditions_pkey primary key (event, subject_id)
);
CREATE TABLE webhook_deliveries (
  id text not null primary key, webhook_id text not null references webhooks (id), event text not null,
  body text not null, state text not null, attempts integer default 0 not null,
  next_attempt_at_ms bigint not null, leased_until_ms bigint default 0 not null, http_status integer,
  failure text, created_at_ms bigint not null, ended_at_ms bigint
);
CREATE TABLE webhooks (
  id text not null primary key, url text not null, events text not null, secret text not null,
  disabled integer default 0 not null, created_at_ms bigint not null
);
CREATE INDEX accounts_credit_state on accounts (credit_state, id)
      where credit_state is not null;
CREATE UNIQUE INDEX accounts_external_id on accounts (external_id);
CREATE INDEX accounts_suspended on accounts (id) where disabled = 1;
CREATE INDEX admin_tokens_made_by on admin_tokens (made_by);
CREATE INDEX alert_letters_next_try_at_ms on alert_letters (next_try_at_ms);
CREATE INDEX alerts_account_id on alerts (account_id);
CREATE INDEX alerts_ends_at_ms on alerts (ends_at_ms);
CREATE INDEX api_keys_account_id_id on api_keys (account_id, id);
CREATE INDEX api_keys_created on api_keys (account_id, created_at_ms);
CREATE INDEX api_keys_present on api_keys (account_id) where deleted_at_ms is null;
CREATE UNIQUE INDEX "api_keys_previous_hash" on "api_keys" ("previous_key_hash") where "previous_key_hash" is not null;
CREATE INDEX confirming_deposits_account_id on confirming_deposits (account_id);
CREATE INDEX deposit_addresses_account_id on deposit_addresses (account_id, chain_id);
CREATE INDEX "entries_other" on "entries" ("account_id", "created_at_ms") where kind <> 'charge' and kind <> 'write_off';
CREATE INDEX entries_purchases on entries (account_id, number)
  where kind = 'top_up' or kind = 'activation' or kind = 'purchase' or kind = 'reversal';
CREATE UNIQUE INDEX entries_reference on entries (account_id, reference) where reference is not null;
CREATE INDEX entries_request on entries (request_id) where request_id is not null;
CREATE INDEX entries_reversals on entries (created_at_ms) where kind = 'reversal';
CREATE INDEX "late_costs_by_day" on "late_costs" ("day", "account_id");
CREATE UNIQUE INDEX links_ticket_hash on links (ticket_hash);
CREATE INDEX mail_rates_ends_at_ms on mail_rates (ends_at_ms);
CREATE INDEX members_user_id on members (user_id);
CREATE INDEX operator_actions_account_id_id on operator_actions (account_id, id);
CREATE INDEX passkeys_user on passkeys (user_id, id);
CREATE INDEX purchases_account_id_id on purchases (account_id, id);
CREATE INDEX purchases_credited_at_ms on purchases (credited_at_ms) where credited_at_ms is not null;
CREATE INDEX purchases_deposits on purchases (account_id, rtrim(source, '0123456789'))
      where price_units is null;
CREATE INDEX purchases_payment_ref on purchases (payment_ref) where payment_ref is not null;
CREATE INDEX purchases_pending on purchases (state, account_id, id)
  where state = 'open' or state = 'held' or state = 'below_minimum';
CREATE UNIQUE INDEX "purchases_receipt_number" on "purchases" ("receipt_number");
CREATE INDEX purchases_reversed on purchases (account_id, id)
      where reversed_micros > 0 or dispute is not null;
CREATE INDEX refusals_hours on refusals (hour);
CREATE INDEX requests_account_id_id on requests (account_id, id);
CREATE INDEX requests_api_key_id_id on requests (api_key_id, id);
CREATE INDEX requests_failed on requests (id, account_id, error_code)
      where error_code is not null;
CREATE INDEX requests_holding on requests (cost_stands, account_id)
      where cost_stands = 0 and cost_usd is null and state <> 'final' and state <> 'released';
CREATE INDEX requests_standing on requests (id) where cost_stands = 1 and state = 'provisional';
CREATE INDEX requests_unsettled on requests (state, instance_id, id)
  where cost_stands = 0 and (state = 'open' or state = 'provisional' or state = 'unresolved');
CREATE INDEX sessions_user_id on sessions (user_id);
CREATE INDEX sign_in_rates_started on sign_in_rates (started_at_ms);
CREATE INDEX sign_ins_user_id on sign_ins (user_id);
CREATE INDEX taken_access_user on taken_access (user_id);
CREATE INDEX webhook_deliveries_waiting on webhook_deliveries (webhook_id, next_attempt_at_ms)
  where state = 'waiting';
CREATE INDEX webhook_deliveries_webhook_id_id on webhook_deliveries (webhook_id, id);
