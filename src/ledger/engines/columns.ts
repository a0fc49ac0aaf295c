import { type Micros, micros } from '../../vocabulary/money.ts'
import { REQUEST_STATES, type RequestState } from '../../vocabulary/request-state.ts'
import type { TokenUsage } from '../../vocabulary/usage.ts'
import type { Entry, EntryKind, Purse } from '../ledger.ts'
import type {
  AccountRow,
  ApiKeyRow,
  CreditCodeRow,
  PrunedRequestsRow,
  RequestRow,
} from '../rows.ts'

/** A row as a database driver gives it. */
export type Columns = Readonly<Record<string, unknown>>

/** Both kinds of credit. */
export const PURSES = ['backed', 'free'] as const satisfies readonly Purse[]

/** Every reason for which an entry is posted. */
export const ENTRY_KINDS = [
  'top_up',
  'activation',
  'chargeback',
  'grant',
  'charge',
  'correction',
  'expiry',
  'write_off',
] as const satisfies readonly EntryKind[]

/** Reads a row of `accounts`. Throws where a column is not what the schema says. */
export function accountRowOf(columns: Columns): AccountRow {
  return {
    id: text(columns, 'id'),
    disabled: flag(columns, 'disabled'),
    backedBalanceMicros: amount(columns, 'backed_balance_micros'),
    backedHeldMicros: amount(columns, 'backed_held_micros'),
    freeBalanceMicros: amount(columns, 'free_balance_micros'),
    freeHeldMicros: amount(columns, 'free_held_micros'),
    freeExpiresAtMs: integerOrNull(columns, 'free_expires_at_ms'),
    hasBackedCredit: flag(columns, 'has_backed_credit'),
    requestWindow: text(columns, 'request_window'),
    entryCount: integer(columns, 'entry_count'),
  }
}

/** Reads a row of `api_keys`. Throws where a column is not what the schema says. */
export function apiKeyRowOf(columns: Columns): ApiKeyRow {
  const creditLimit = integerOrNull(columns, 'credit_limit_micros')
  return {
    id: text(columns, 'id'),
    accountId: text(columns, 'account_id'),
    disabled: flag(columns, 'disabled'),
    deleted: integerOrNull(columns, 'deleted_at_ms') !== null,
    expiresAtMs: integerOrNull(columns, 'expires_at_ms'),
    creditLimitMicros: creditLimit === null ? null : micros(creditLimit),
    spendMicros: amount(columns, 'spend_micros'),
    heldMicros: amount(columns, 'held_micros'),
    openHolds: integer(columns, 'open_holds'),
    requestWindow: text(columns, 'request_window'),
  }
}

/** Reads a row of `requests`. Throws where a column is not what the schema says. */
export function requestRowOf(columns: Columns): RequestRow {
  return {
    id: text(columns, 'id'),
    accountId: text(columns, 'account_id'),
    apiKeyId: text(columns, 'api_key_id'),
    instanceId: text(columns, 'instance_id'),
    endpoint: text(columns, 'endpoint'),
    modelId: text(columns, 'model_id'),
    stream: flag(columns, 'stream'),
    state: oneOf<RequestState>(columns, 'state', REQUEST_STATES),
    swept: flag(columns, 'swept'),
    backedGrantedMicros: amount(columns, 'backed_granted_micros'),
    freeGrantedMicros: amount(columns, 'free_granted_micros'),
    backedHeldMicros: amount(columns, 'backed_held_micros'),
    freeHeldMicros: amount(columns, 'free_held_micros'),
    backedChargeMicros: amount(columns, 'backed_charge_micros'),
    freeChargeMicros: amount(columns, 'free_charge_micros'),
    writtenOffMicros: amount(columns, 'written_off_micros'),
    costUsd: textOrNull(columns, 'cost_usd'),
    lateCostUsd: textOrNull(columns, 'late_cost_usd'),
    lateReports: integer(columns, 'late_reports'),
    priceSnapshotId: text(columns, 'price_snapshot_id'),
    httpStatus: integerOrNull(columns, 'http_status'),
    errorCode: textOrNull(columns, 'error_code'),
    generationId: textOrNull(columns, 'generation_id'),
    usage: usageOf(columns),
    openedAtMs: integer(columns, 'opened_at_ms'),
    firstByteAtMs: integerOrNull(columns, 'first_byte_at_ms'),
    endedAtMs: integerOrNull(columns, 'ended_at_ms'),
    settledAtMs: integerOrNull(columns, 'settled_at_ms'),
  }
}

/** Reads a row of `entries`. Throws where a column is not what the schema says. */
export function entryOf(columns: Columns): Entry {
  return {
    accountId: text(columns, 'account_id'),
    number: integer(columns, 'number'),
    kind: oneOf<EntryKind>(columns, 'kind', ENTRY_KINDS),
    purse: oneOf<Purse>(columns, 'purse', PURSES),
    amountMicros: amount(columns, 'amount_micros'),
    reference: textOrNull(columns, 'reference'),
    requestId: textOrNull(columns, 'request_id'),
    apiKeyId: textOrNull(columns, 'api_key_id'),
    expiresAtMs: integerOrNull(columns, 'expires_at_ms'),
    createdAtMs: integer(columns, 'created_at_ms'),
  }
}

/** Reads a row of `pruned_requests`. Throws where a column is not what the schema says. */
export function prunedRequestsRowOf(columns: Columns): PrunedRequestsRow {
  return {
    apiKeyId: text(columns, 'api_key_id'),
    accountId: text(columns, 'account_id'),
    backedChargeMicros: amount(columns, 'backed_charge_micros'),
    freeChargeMicros: amount(columns, 'free_charge_micros'),
    writtenOffMicros: amount(columns, 'written_off_micros'),
  }
}

/** Reads a row of `credit_codes`. Throws where a column is not what the schema says. */
export function creditCodeRowOf(columns: Columns): CreditCodeRow {
  return {
    id: text(columns, 'id'),
    hash: text(columns, 'code_hash'),
    displaySuffix: text(columns, 'display_suffix'),
    amountMicros: amount(columns, 'amount_micros'),
    createdAtMs: integer(columns, 'created_at_ms'),
    expiresAtMs: integerOrNull(columns, 'expires_at_ms'),
    revokedAtMs: integerOrNull(columns, 'revoked_at_ms'),
    redeemedAtMs: integerOrNull(columns, 'redeemed_at_ms'),
    redeemedBy: textOrNull(columns, 'redeemed_by'),
  }
}

function usageOf(columns: Columns): TokenUsage | null {
  if (columns['input_tokens'] === null) return null
  return {
    inputTokens: integer(columns, 'input_tokens'),
    cacheReadTokens: integer(columns, 'cache_read_tokens'),
    cacheWriteTokens: integer(columns, 'cache_write_tokens'),
    cacheWriteLongTokens: integer(columns, 'cache_write_long_tokens'),
    outputTokens: integer(columns, 'output_tokens'),
    reasoningTokens: integer(columns, 'reasoning_tokens'),
    imageOutputTokens: integer(columns, 'image_output_tokens'),
    searches: integer(columns, 'searches'),
  }
}

function text(columns: Columns, name: string): string {
  const value = columns[name]
  return typeof value === 'string' ? value : impossible(name, value)
}

function textOrNull(columns: Columns, name: string): string | null {
  return columns[name] === null ? null : text(columns, name)
}

function integer(columns: Columns, name: string): number {
  const value = columns[name]
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : impossible(name, value)
}

function integerOrNull(columns: Columns, name: string): number | null {
  return columns[name] === null ? null : integer(columns, name)
}

function amount(columns: Columns, name: string): Micros {
  return micros(integer(columns, name))
}

function flag(columns: Columns, name: string): boolean {
  return integer(columns, name) === 1
}

function oneOf<T extends string>(columns: Columns, name: string, members: readonly T[]): T {
  const value = columns[name]
  return members.find((member) => member === value) ?? impossible(name, value)
}

function impossible(name: string, value: unknown): never {
  throw new TypeError(`the store has ${JSON.stringify(value)} in the column ${name}`)
}
