import { ALLOWANCE_PERIODS } from '../vocabulary/allowance.ts'
import { ENTRY_KINDS, PURSES, ZERO_MICROS } from '../vocabulary/money.ts'
import { REQUEST_STATES } from '../vocabulary/outcome.ts'
import { EMPTY_WINDOW } from '../vocabulary/request-window.ts'
import { ALERT_LETTERS, ALERTS } from './alert-tables.ts'
import { CATALOG_MODELS, CATALOG_STATE, PRICE_SNAPSHOTS } from './catalog-tables.ts'
import { COMMIT_MARKS, STORE_GAPS } from './gap-tables.ts'
import { PEOPLE_TABLES, UNCOPIED_PEOPLE_TABLES } from './people-tables.ts'
import { PURCHASES, SALE_TABLES } from './sale-tables.ts'
import {
  amount,
  flag,
  integer,
  oneOf,
  orNull,
  type RowOf,
  requestWindow,
  startsAs,
  Table,
  type TableOf,
  text,
  texts,
  together,
} from './table.ts'
import { LOOKUP_DOUBTS, PRUNED_REQUESTS, REFUSALS, USAGE_TABLES } from './usage-tables.ts'
import { WEBHOOK_CONDITIONS, WEBHOOK_DELIVERIES, WEBHOOKS } from './webhook-tables.ts'

// A column is one line here, and its migration. From that line follow the types of rows, the tables that
// Kysely knows, the functions that read and write rows, the columns of statements and of copies. Names end in
// their unit: `_ms` are milliseconds (`_at_ms` since the Unix epoch), `_micros` micro-dollars, `_usd` dollars
// as exact decimal text.

/** The models that an account's keys, or one key, may use: ids of the catalog, and `author/*` for all of an author's. */
const MODEL_LISTS = {
  /** Null: every model. */
  models_allow: orNull(texts),
  /** Outranks the other. Null: no model. */
  models_deny: orNull(texts),
}

/** The limits that an account or a key is given. */
const OWN_LIMITS = {
  /** The most that requests may cost whose holds open in one period of a calendar; null: there is no such limit. */
  allowance: together({
    allowance_micros: amount,
    allowance_period: oneOf(ALLOWANCE_PERIODS),
    allowance_time_zone: text,
  }),
  /** In place of the deployment's limits; null: those of the deployment. */
  requests_per_minute_max: orNull(integer),
  in_flight_max: orNull(integer),
  /** Null: there is no such limit. */
  tokens_per_minute_max: orNull(integer),
}

/** The counters of these limits. */
const LIMIT_COUNTS = {
  open_holds: startsAs(0, integer),
  /** Admitted requests by second; see `request-window`. For an account: while one of its limits counts them. */
  request_window: startsAs(EMPTY_WINDOW, requestWindow),
  /** Tokens of admitted requests by second, while the account or the key has a limit of them. */
  token_window: startsAs(EMPTY_WINDOW, requestWindow),
  /** The sums of requests whose holds opened in one period of the allowance; null: there is no allowance. */
  period: together({
    period_starts_at_ms: integer,
    period_ends_at_ms: integer,
    /** No hold has opened at or after this moment. */
    period_unused_from_ms: integer,
    /** Charges and corrections. */
    period_spend_micros: amount,
    /** Credit that is still held. */
    period_held_micros: amount,
  }),
}

/** Owners of money. The balances are a projection of `entries`, the held amounts of `requests`. */
export const ACCOUNTS = new Table('accounts', {
  key: ['id'],
  fixed: {
    id: text,
    name: text,
    email: orNull(text),
    /** The keys of a disabled account answer `account_suspended`. */
    disabled: startsAs(false, flag),
    /** Since when it is disabled; null: it is not, or was before this was recorded. */
    disabled_at_ms: orNull(integer),
    /** The reason that its members can read; null: none. */
    disabled_note: orNull(text),
    /** The platform fee of its requests, in hundredths of a percent; null: that of the model. */
    fee_basis_points: orNull(integer),
    ...MODEL_LISTS,
    /** Its ID in another system, which no two accounts share; null: none. */
    external_id: orNull(text),
    /** Texts by their names, as JSON; null: none. */
    metadata_json: orNull(text),
    /** The buyer that receipts name, as JSON: name, address and tax ID; null: none. */
    billing_json: orNull(text),
    created_at_ms: integer,
    ...OWN_LIMITS,
    /** Webhooks report low credit when paid credit falls below this amount; null: the default. */
    low_balance_micros: orNull(amount),
  },
  moving: {
    backed_balance_micros: startsAs(ZERO_MICROS, amount),
    backed_held_micros: startsAs(ZERO_MICROS, amount),
    free_balance_micros: startsAs(ZERO_MICROS, amount),
    free_held_micros: startsAs(ZERO_MICROS, amount),
    /** Null if the account never had free credit. */
    free_expires_at_ms: orNull(integer),
    /** Whether paid credit was ever added. */
    has_backed_credit: startsAs(false, flag),
    /** The number of the account's latest entry. */
    entry_count: startsAs(0, integer),
    /** The number of the latest entry that added credit; 0: there is none. */
    last_credit_number: startsAs(0, integer),
    /** The balances of both purses right after it, from which alerts compute shares. */
    last_credit_balance_micros: startsAs(ZERO_MICROS, amount),
    ...LIMIT_COUNTS,
  },
})

/** An owner of money. */
export type AccountRow = RowOf<typeof ACCOUNTS>

/** API keys. The key itself is not here, only its SHA-256. */
export const API_KEYS = new Table('api_keys', {
  key: ['id'],
  fixed: {
    id: text,
    account_id: text,
    name: text,
    /** Lower-case hexadecimal; a name with slashes, which no hash is, for a key that has no text. */
    key_hash: text,
    /** The part of the key that is shown: its first and last characters, `sk-<tag>-AbC…wxyz`. Empty: it has no text. */
    display_prefix: text,
    /** The hash of the text that the key had before; null: it has had no other, or that one was ended. */
    previous_key_hash: orNull(text),
    /** When that text stops working; null: there is none. */
    previous_expires_at_ms: orNull(integer),
    disabled: startsAs(false, flag),
    /** Null while the key exists. */
    deleted_at_ms: orNull(integer),
    /** Null: it does not expire. */
    expires_at_ms: orNull(integer),
    /** The most that the key may ever spend; null: there is no limit. */
    credit_limit_micros: orNull(amount),
    ...MODEL_LISTS,
    /** Texts by their names, as JSON; null: none. */
    metadata_json: orNull(text),
    created_at_ms: integer,
    ...OWN_LIMITS,
  },
  moving: {
    /** Charges and corrections of its requests. */
    spend_micros: startsAs(ZERO_MICROS, amount),
    /** The credit that its requests hold. */
    held_micros: startsAs(ZERO_MICROS, amount),
    ...LIMIT_COUNTS,
  },
})

/** An API key, never with its text. */
export type ApiKeyRow = RowOf<typeof API_KEYS>

/** Codes that are worth paid credit, once. The code itself is not here, only its SHA-256. */
export const CREDIT_CODES = new Table('credit_codes', {
  key: ['id'],
  fixed: {
    id: text,
    /** Lower-case hexadecimal. */
    code_hash: text,
    /** The part of the code that is shown: its last characters. */
    display_suffix: text,
    amount_micros: amount,
    created_at_ms: integer,
    /** Null: it does not expire. */
    expires_at_ms: orNull(integer),
    revoked_at_ms: orNull(integer),
  },
  moving: {
    redeemed_at_ms: orNull(integer),
    /** The account that has its credit; null until then. */
    redeemed_by: orNull(text),
  },
})

/** A code that is worth paid credit, once; never with its text. */
export type CreditCodeRow = RowOf<typeof CREDIT_CODES>

/** Facts about the store itself. */
const SETTINGS = new Table('settings', { key: ['name'], fixed: { name: text, value: text } })

/** Processes that open holds. */
const INSTANCES = new Table('instances', {
  key: ['id'],
  fixed: {
    id: text,
    started_at_ms: integer,
    heartbeat_at_ms: integer,
    stopped_at_ms: orNull(integer),
    program_schema: integer,
  },
})

/** The columns of a request that are known when its hold opens. */
const REQUEST_FIXED = {
  id: text,
  account_id: text,
  api_key_id: text,
  instance_id: text,
  /** The name of the format that it came in. */
  endpoint: text,
  /** The name of the upstream that it is sent to. */
  upstream: text,
  model_id: text,
  stream: flag,
  /** The credit of each purse that the hold was granted. */
  backed_granted_micros: amount,
  free_granted_micros: amount,
  price_snapshot_id: text,
  /** The platform fee in its charges, in hundredths of a percent of the cost. */
  fee_basis_points: integer,
  opened_at_ms: integer,
  /** The client's tags: see `tags`; null: none. */
  tags: orNull(texts),
  /** The tokens that it counted for in the windows of its account and key; null: neither has such a limit. */
  token_count: together({ counted_tokens: integer, counted_in_second: integer }),
}

/** One row for each hold that was opened and is open no longer: the request's place in Activity. */
export const REQUESTS = new Table('requests', {
  key: ['id'],
  fixed: REQUEST_FIXED,
  moving: {
    state: oneOf(REQUEST_STATES),
    /**
     * Whether it was abandoned: made unresolved before its attempt has ended, because its instance was gone or
     * its client has left. The settle of that attempt still counts.
     */
    swept: startsAs(false, flag),
    /** The part of the hold that is still held. */
    backed_held_micros: amount,
    free_held_micros: amount,
    /** The charge, corrections included. */
    backed_charge_micros: startsAs(ZERO_MICROS, amount),
    free_charge_micros: startsAs(ZERO_MICROS, amount),
    /** The part of the free charge that the purse could not pay. */
    written_off_micros: startsAs(ZERO_MICROS, amount),
    /** The provider's cost behind the charge; null if the charge is an estimate. */
    cost_usd: orNull(text),
    /**
     * The cost behind the charge in micro-dollars and millionths of one: of an estimate, the estimate's; of a released
     * hold, the cost that was learned later. Null: it is not known.
     */
    cost: together({ cost_micros: amount, cost_rest_pico: integer }),
    /** Whether the reported cost stands without a look-up, or did; only on provisional and final requests. */
    cost_stands: startsAs(false, flag),
    /** The last cost learned after the hold was released, which is never charged; null: none. */
    late_cost_usd: orNull(text),
    late_reports: startsAs(0, integer),
    http_status: orNull(integer),
    error_code: orNull(text),
    generation_id: orNull(text),
    /** A `TokenUsage`; null if none was reported. */
    usage: together({
      input_tokens: integer,
      cache_read_tokens: integer,
      cache_write_tokens: integer,
      cache_write_long_tokens: integer,
      output_tokens: integer,
      reasoning_tokens: integer,
      image_output_tokens: integer,
      searches: integer,
    }),
    first_byte_at_ms: orNull(integer),
    /** When its attempt ended, or it was abandoned. */
    ended_at_ms: orNull(integer),
    /** When it became final or released. */
    settled_at_ms: orNull(integer),
  },
})

/** A request whose hold was opened. */
export type RequestRow = RowOf<typeof REQUESTS>

/** The holds that are open. A request whose hold a program before 0.3.0 has opened is in `requests` from then on. */
export const HOLDS = new Table('holds', {
  key: ['id'],
  fixed: REQUEST_FIXED,
  moving: { generation_id: orNull(text) },
})

/** The request of a hold that is open: all that was granted is held, and nothing is charged. */
export function openRequest(hold: RowOf<typeof HOLDS>): RequestRow {
  return {
    ...REQUESTS.start,
    ...hold,
    state: 'open',
    backedHeldMicros: hold.backedGrantedMicros,
    freeHeldMicros: hold.freeGrantedMicros,
  }
}

/** Posted money: inserted once, never changed. */
export const ENTRIES = new Table('entries', {
  key: ['account_id', 'number'],
  fixed: {
    account_id: text,
    /** Counts the account's entries from 1, without gaps. */
    number: integer,
    kind: oneOf(ENTRY_KINDS),
    purse: oneOf(PURSES),
    /** The change of the purse's balance. */
    amount_micros: amount,
    /**
     * Unique for the account: the caller's id of added credit, the id of the code of an activation or of the
     * purchase, and `<id of the purchase>:<n>:<cause>` of its reversals, without the cause where it is not known.
     */
    reference: orNull(text),
    request_id: orNull(text),
    api_key_id: orNull(text),
    /** The expiry of a grant. */
    expires_at_ms: orNull(integer),
    created_at_ms: integer,
  },
})

/** An entry of an account. */
export type Entry = RowOf<typeof ENTRIES>

/** The migrations that were applied. Each store keeps its own list: it is not copied. */
const MIGRATIONS_APPLIED = new Table('migrations', {
  key: ['number'],
  fixed: { number: integer, name: text, applied_at_ms: integer },
})

/** Every table that is copied. A table comes after the tables that it refers to. */
export const TABLES = [
  ACCOUNTS,
  API_KEYS,
  CREDIT_CODES,
  PURCHASES,
  ...SALE_TABLES,
  SETTINGS,
  INSTANCES,
  PRICE_SNAPSHOTS,
  CATALOG_MODELS,
  CATALOG_STATE,
  HOLDS,
  REQUESTS,
  LOOKUP_DOUBTS,
  PRUNED_REQUESTS,
  REFUSALS,
  ENTRIES,
  ...USAGE_TABLES,
  ...PEOPLE_TABLES,
  WEBHOOKS,
  WEBHOOK_CONDITIONS,
  WEBHOOK_DELIVERIES,
  ALERTS,
  ALERT_LETTERS,
  STORE_GAPS,
] as const

/** Every table that each store has for itself: sessions end when a store is copied. */
export const UNCOPIED_TABLES = [
  MIGRATIONS_APPLIED,
  COMMIT_MARKS,
  ...UNCOPIED_PEOPLE_TABLES,
] as const

/** The tables as Kysely sees them, with columns named as in the database. */
export type Tables = {
  /** A view of `holds`, as they would be in `requests`. */
  readonly open_requests: TableOf<typeof REQUESTS>
  /** A view of all requests: those of `requests` and of `open_requests`. */
  readonly all_requests: TableOf<typeof REQUESTS>
} & {
  readonly [Some in
    | (typeof TABLES)[number]
    | (typeof UNCOPIED_TABLES)[number] as Some['name']]: TableOf<Some>
}
