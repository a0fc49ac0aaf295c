/**
 * The tables as Kysely sees them. Times are integer milliseconds since the Unix epoch, money integer
 * micro-dollars, a provider's cost exact decimal text, yes and no 1 and 0. Columns are named as in the
 * database; each folder turns rows into its own types.
 */
export interface Tables {
  readonly accounts: AccountsTable
  readonly api_keys: ApiKeysTable
  readonly requests: RequestsTable
  readonly entries: EntriesTable
  readonly pruned_requests: PrunedRequestsTable
  readonly credit_codes: CreditCodesTable
  readonly price_snapshots: PriceSnapshotsTable
  readonly catalog_models: CatalogModelsTable
  readonly catalog_state: CatalogStateTable
  readonly instances: InstancesTable
  readonly settings: SettingsTable
  readonly migrations: MigrationsTable
}

/** Owners of money. The balances are a projection of `entries`, the held amounts of `requests`. */
export interface AccountsTable {
  id: string
  name: string
  email: string | null
  disabled: number
  created_at_ms: number
  backed_balance_micros: number
  backed_held_micros: number
  free_balance_micros: number
  free_held_micros: number
  /** Null where the account never had free credit. */
  free_expires_at_ms: number | null
  /** Whether backed credit was ever added. */
  has_backed_credit: number
  /** Admitted requests by second, while the account has had no backed credit; see `request-window`. */
  request_window: string
  /** The number of the account's latest entry. */
  entry_count: number
}

/** API keys. The key itself is not here, only its SHA-256. */
export interface ApiKeysTable {
  id: string
  account_id: string
  name: string
  /** Lower-case hexadecimal. */
  key_hash: string
  /** What pages show of the key: its first and last characters. */
  display_prefix: string
  disabled: number
  /** Null while the key exists. */
  deleted_at_ms: number | null
  expires_at_ms: number | null
  credit_limit_micros: number | null
  created_at_ms: number
  spend_micros: number
  held_micros: number
  open_holds: number
  /** Admitted requests by second; see `request-window`. */
  request_window: string
}

/** One row for each hold that was opened: the request's place in Activity. */
export interface RequestsTable {
  id: string
  account_id: string
  api_key_id: string
  instance_id: string
  endpoint: string
  model_id: string
  stream: number
  state: string
  /** Whether the hold was made unresolved because its instance is gone. */
  swept: number
  /** What was granted when the hold opened. */
  backed_granted_micros: number
  free_granted_micros: number
  /** What is still reserved. */
  backed_held_micros: number
  free_held_micros: number
  /** What was charged, corrections included. */
  backed_charge_micros: number
  free_charge_micros: number
  /** Of the free charge, what the purse could not pay. */
  written_off_micros: number
  cost_usd: string | null
  /** The last cost learned after the hold was released, which is never charged. */
  late_cost_usd: string | null
  late_reports: number
  price_snapshot_id: string
  http_status: number | null
  error_code: string | null
  generation_id: string | null
  input_tokens: number | null
  cache_read_tokens: number | null
  cache_write_tokens: number | null
  cache_write_long_tokens: number | null
  output_tokens: number | null
  reasoning_tokens: number | null
  image_output_tokens: number | null
  searches: number | null
  opened_at_ms: number
  first_byte_at_ms: number | null
  /** When its attempt ended, or its instance was found gone. */
  ended_at_ms: number | null
  /** When it became final or released. */
  settled_at_ms: number | null
}

/** By API key, what its requests that are in Activity no more came to: what their entries add up to. */
export interface PrunedRequestsTable {
  api_key_id: string
  account_id: string
  /** How many. */
  requests: number
  backed_charge_micros: number
  free_charge_micros: number
  written_off_micros: number
  /** When the last to be settled of them was. */
  latest_settled_at_ms: number
}

/** Posted money: rows are inserted and never changed. */
export interface EntriesTable {
  account_id: string
  /** Counts the account's entries from 1, without gaps. */
  number: number
  kind: string
  purse: string
  /** What it did to the purse's balance: positive adds. */
  amount_micros: number
  /** The caller's own id of added credit, once an account; null on every other kind. */
  reference: string | null
  request_id: string | null
  api_key_id: string | null
  /** On a grant, the expiry that came with it. */
  expires_at_ms: number | null
  created_at_ms: number
}

/** Codes that are worth backed credit, once. The code itself is not here, only its SHA-256. */
export interface CreditCodesTable {
  id: string
  /** Lower-case hexadecimal. */
  code_hash: string
  /** What pages show of the code: its last characters. */
  display_suffix: string
  amount_micros: number
  created_at_ms: number
  /** Null: it does not expire. */
  expires_at_ms: number | null
  revoked_at_ms: number | null
  redeemed_at_ms: number | null
  /** The account that has its credit; null until then. */
  redeemed_by: string | null
}

/** Prices that charges were computed with. */
export interface PriceSnapshotsTable {
  id: string
  model_id: string
  prices_json: string
  created_at_ms: number
}

/** The catalog's last good refresh, so that a restart has prices. */
export interface CatalogModelsTable {
  id: string
  /** The upstream that listed it. */
  source: string
  item_json: string
}

/** One row, with `id` 1, or none. */
export interface CatalogStateTable {
  id: number
  source: string
  refreshed_at_ms: number
}

/** Processes that open holds. */
export interface InstancesTable {
  id: string
  started_at_ms: number
  heartbeat_at_ms: number
  stopped_at_ms: number | null
}

/** Facts about the store itself. */
export interface SettingsTable {
  name: string
  value: string
}

/** Which migrations were applied. */
export interface MigrationsTable {
  number: number
  name: string
  applied_at_ms: number
}
