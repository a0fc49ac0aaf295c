import type { Entry } from '../ledger.ts'
import type { AccountRow, ApiKeyRow, CreditCodeRow, RequestRow } from '../rows.ts'

/** A value as every engine takes it: times and money are integers, yes and no 1 and 0. */
export type ColumnValue = string | number | null

/** The columns of `accounts` that the ledger writes. */
export const ACCOUNT_COLUMNS = [
  'backed_balance_micros',
  'backed_held_micros',
  'free_balance_micros',
  'free_held_micros',
  'free_expires_at_ms',
  'has_backed_credit',
  'request_window',
  'entry_count',
]

/** The columns of `api_keys` that the ledger writes. */
export const API_KEY_COLUMNS = ['spend_micros', 'held_micros', 'open_holds', 'request_window']

/** The columns of `requests` that are set when the hold opens, and never after. */
export const REQUEST_FIXED_COLUMNS = [
  'id',
  'account_id',
  'api_key_id',
  'instance_id',
  'endpoint',
  'model_id',
  'stream',
  'backed_granted_micros',
  'free_granted_micros',
  'price_snapshot_id',
  'opened_at_ms',
]

/** The columns of `requests` that change as it moves on. */
export const REQUEST_MOVING_COLUMNS = [
  'state',
  'swept',
  'backed_held_micros',
  'free_held_micros',
  'backed_charge_micros',
  'free_charge_micros',
  'written_off_micros',
  'cost_usd',
  'late_cost_usd',
  'late_reports',
  'http_status',
  'error_code',
  'generation_id',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'cache_write_long_tokens',
  'output_tokens',
  'reasoning_tokens',
  'image_output_tokens',
  'searches',
  'first_byte_at_ms',
  'ended_at_ms',
  'settled_at_ms',
]

/** The columns of `entries`. */
export const ENTRY_COLUMNS = [
  'account_id',
  'number',
  'kind',
  'purse',
  'amount_micros',
  'reference',
  'request_id',
  'api_key_id',
  'expires_at_ms',
  'created_at_ms',
]

/** The columns of `credit_codes` that the ledger writes. */
export const REDEEMED_COLUMNS = ['redeemed_at_ms', 'redeemed_by']

/** In the order of `ACCOUNT_COLUMNS`. */
export function accountValues(row: AccountRow): ColumnValue[] {
  return [
    row.backedBalanceMicros,
    row.backedHeldMicros,
    row.freeBalanceMicros,
    row.freeHeldMicros,
    row.freeExpiresAtMs,
    row.hasBackedCredit ? 1 : 0,
    row.requestWindow,
    row.entryCount,
  ]
}

/** In the order of `API_KEY_COLUMNS`. */
export function apiKeyValues(row: ApiKeyRow): ColumnValue[] {
  return [row.spendMicros, row.heldMicros, row.openHolds, row.requestWindow]
}

/** In the order of `REQUEST_FIXED_COLUMNS`. */
export function fixedRequestValues(row: RequestRow): ColumnValue[] {
  return [
    row.id,
    row.accountId,
    row.apiKeyId,
    row.instanceId,
    row.endpoint,
    row.modelId,
    row.stream ? 1 : 0,
    row.backedGrantedMicros,
    row.freeGrantedMicros,
    row.priceSnapshotId,
    row.openedAtMs,
  ]
}

/** In the order of `REQUEST_MOVING_COLUMNS`. */
export function movingRequestValues(row: RequestRow): ColumnValue[] {
  const { usage } = row
  return [
    row.state,
    row.swept ? 1 : 0,
    row.backedHeldMicros,
    row.freeHeldMicros,
    row.backedChargeMicros,
    row.freeChargeMicros,
    row.writtenOffMicros,
    row.costUsd,
    row.lateCostUsd,
    row.lateReports,
    row.httpStatus,
    row.errorCode,
    row.generationId,
    usage?.inputTokens ?? null,
    usage?.cacheReadTokens ?? null,
    usage?.cacheWriteTokens ?? null,
    usage?.cacheWriteLongTokens ?? null,
    usage?.outputTokens ?? null,
    usage?.reasoningTokens ?? null,
    usage?.imageOutputTokens ?? null,
    usage?.searches ?? null,
    row.firstByteAtMs,
    row.endedAtMs,
    row.settledAtMs,
  ]
}

/** In the order of `ENTRY_COLUMNS`. */
export function entryValues(entry: Entry): ColumnValue[] {
  return [
    entry.accountId,
    entry.number,
    entry.kind,
    entry.purse,
    entry.amountMicros,
    entry.reference,
    entry.requestId,
    entry.apiKeyId,
    entry.expiresAtMs,
    entry.createdAtMs,
  ]
}

/** In the order of `REDEEMED_COLUMNS`. */
export function redeemedValues(row: CreditCodeRow): ColumnValue[] {
  return [row.redeemedAtMs, row.redeemedBy]
}
