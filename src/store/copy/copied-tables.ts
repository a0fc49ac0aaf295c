import type { Tables } from '../tables.ts'

type ColumnKind = 'text' | 'integer'

type KindOf<Value> = NonNullable<Value> extends string ? 'text' : 'integer'

interface TableOf<Row> {
  /** The columns of the primary key, in its order. */
  readonly key: readonly (keyof Row & string)[]
  readonly columns: { readonly [Column in keyof Row & string]: KindOf<Row[Column]> }
}

// A table stands after those that it refers to: rows are copied in this order. A table or column that is
// missing here does not compile. Each store keeps its own list of migrations.
const TABLES = {
  accounts: {
    key: ['id'],
    columns: {
      id: 'text',
      name: 'text',
      email: 'text',
      disabled: 'integer',
      created_at_ms: 'integer',
      backed_balance_micros: 'integer',
      backed_held_micros: 'integer',
      free_balance_micros: 'integer',
      free_held_micros: 'integer',
      free_expires_at_ms: 'integer',
      has_backed_credit: 'integer',
      request_window: 'text',
      entry_count: 'integer',
    },
  },
  api_keys: {
    key: ['id'],
    columns: {
      id: 'text',
      account_id: 'text',
      name: 'text',
      key_hash: 'text',
      display_prefix: 'text',
      disabled: 'integer',
      deleted_at_ms: 'integer',
      expires_at_ms: 'integer',
      credit_limit_micros: 'integer',
      created_at_ms: 'integer',
      spend_micros: 'integer',
      held_micros: 'integer',
      open_holds: 'integer',
      request_window: 'text',
    },
  },
  credit_codes: {
    key: ['id'],
    columns: {
      id: 'text',
      code_hash: 'text',
      display_suffix: 'text',
      amount_micros: 'integer',
      created_at_ms: 'integer',
      expires_at_ms: 'integer',
      revoked_at_ms: 'integer',
      redeemed_at_ms: 'integer',
      redeemed_by: 'text',
    },
  },
  settings: { key: ['name'], columns: { name: 'text', value: 'text' } },
  instances: {
    key: ['id'],
    columns: {
      id: 'text',
      started_at_ms: 'integer',
      heartbeat_at_ms: 'integer',
      stopped_at_ms: 'integer',
    },
  },
  price_snapshots: {
    key: ['id'],
    columns: { id: 'text', model_id: 'text', prices_json: 'text', created_at_ms: 'integer' },
  },
  catalog_models: { key: ['id'], columns: { id: 'text', source: 'text', item_json: 'text' } },
  catalog_state: {
    key: ['id'],
    columns: { id: 'integer', source: 'text', refreshed_at_ms: 'integer' },
  },
  requests: {
    key: ['id'],
    columns: {
      id: 'text',
      account_id: 'text',
      api_key_id: 'text',
      instance_id: 'text',
      endpoint: 'text',
      model_id: 'text',
      stream: 'integer',
      state: 'text',
      swept: 'integer',
      backed_granted_micros: 'integer',
      free_granted_micros: 'integer',
      backed_held_micros: 'integer',
      free_held_micros: 'integer',
      backed_charge_micros: 'integer',
      free_charge_micros: 'integer',
      written_off_micros: 'integer',
      cost_usd: 'text',
      late_cost_usd: 'text',
      late_reports: 'integer',
      price_snapshot_id: 'text',
      http_status: 'integer',
      error_code: 'text',
      generation_id: 'text',
      input_tokens: 'integer',
      cache_read_tokens: 'integer',
      cache_write_tokens: 'integer',
      cache_write_long_tokens: 'integer',
      output_tokens: 'integer',
      reasoning_tokens: 'integer',
      image_output_tokens: 'integer',
      searches: 'integer',
      opened_at_ms: 'integer',
      first_byte_at_ms: 'integer',
      ended_at_ms: 'integer',
      settled_at_ms: 'integer',
    },
  },
  pruned_requests: {
    key: ['api_key_id'],
    columns: {
      api_key_id: 'text',
      account_id: 'text',
      requests: 'integer',
      backed_charge_micros: 'integer',
      free_charge_micros: 'integer',
      written_off_micros: 'integer',
      latest_settled_at_ms: 'integer',
    },
  },
  entries: {
    key: ['account_id', 'number'],
    columns: {
      account_id: 'text',
      number: 'integer',
      kind: 'text',
      purse: 'text',
      amount_micros: 'integer',
      reference: 'text',
      request_id: 'text',
      api_key_id: 'text',
      expires_at_ms: 'integer',
      created_at_ms: 'integer',
    },
  },
} as const satisfies {
  readonly [Table in Exclude<keyof Tables, 'migrations'>]: TableOf<Tables[Table]>
}

/** A column of a copied table. */
export interface CopiedColumn {
  readonly name: string
  /** Integers are of 64 bits: not every one of them is a safe integer of JavaScript. */
  readonly kind: ColumnKind
}

/** A table whose rows are copied. */
export interface CopiedTable {
  readonly name: string
  /** The columns of the primary key: rows are read in its order. */
  readonly key: readonly CopiedColumn[]
  readonly columns: readonly CopiedColumn[]
}

/** Every table of the store but `migrations`, those that others refer to first. */
export const COPIED_TABLES: readonly CopiedTable[] = Object.entries(TABLES).map(([name, table]) => {
  const keyNames: readonly string[] = table.key
  const columns = Object.entries(table.columns).map(([column, kind]) => ({ name: column, kind }))
  return {
    name,
    key: keyNames.flatMap((part) => columns.filter((column) => column.name === part)),
    columns,
  }
})
