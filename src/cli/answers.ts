import type { Account } from '../identity/accounts.ts'
import type { ApiKey } from '../identity/api-keys.ts'
import type { Balance } from '../ledger/activity.ts'
import type { Entry } from '../ledger/ledger.ts'
import type { RequestRow } from '../ledger/rows.ts'

// The JSON of `--json`: money in micro-dollars, times in RFC 3339.

/** An account with its credit. */
export function accountAnswer(account: Account, balance: Balance | null): object {
  return {
    id: account.id,
    object: 'account',
    name: account.name,
    email: account.email,
    disabled: account.disabled,
    credit: balance === null ? null : creditAnswer(balance),
    has_backed_credit: balance?.hasBackedCredit ?? false,
    created_at: time(account.createdAtMs),
  }
}

function creditAnswer({ backed, free }: Balance): object {
  return {
    backed: {
      balance: backed.balanceMicros,
      held: backed.heldMicros,
      available: backed.availableMicros,
    },
    free: {
      balance: free.balanceMicros,
      held: free.heldMicros,
      available: free.availableMicros,
      expires_at: time(free.expiresAtMs),
    },
  }
}

/** An API key, never with its text. */
export function apiKeyAnswer(apiKey: ApiKey): object {
  return {
    id: apiKey.id,
    object: 'key',
    account_id: apiKey.accountId,
    name: apiKey.name,
    prefix: apiKey.displayPrefix,
    disabled: apiKey.disabled,
    expires_at: time(apiKey.expiresAtMs),
    credit_limit: apiKey.creditLimitMicros,
    spend: apiKey.spendMicros,
    held: apiKey.heldMicros,
    created_at: time(apiKey.createdAtMs),
  }
}

/** A line of an account's books. */
export function entryAnswer(entry: Entry): object {
  return {
    id: `${entry.accountId}/${entry.number}`,
    object: 'entry',
    account_id: entry.accountId,
    kind: entry.kind,
    amount: entry.amountMicros,
    purse: entry.purse,
    reference: entry.reference,
    request_id: entry.requestId,
    created_at: time(entry.createdAtMs),
  }
}

/** A request and what it held, cost and was charged. */
export function requestAnswer(row: RequestRow): object {
  return {
    id: row.id,
    object: 'request',
    account_id: row.accountId,
    key_id: row.apiKeyId,
    endpoint: row.endpoint,
    model: row.modelId,
    stream: row.stream,
    state: row.state,
    http_status: row.httpStatus,
    error_code: row.errorCode,
    hold: row.backedGrantedMicros + row.freeGrantedMicros,
    held: row.backedHeldMicros + row.freeHeldMicros,
    charge: chargeOf(row),
    provider_cost: row.costUsd,
    overrun: Math.max(0, chargeOf(row) - row.backedGrantedMicros - row.freeGrantedMicros),
    usage: row.usage,
    generation_id: row.generationId,
    price_snapshot: row.priceSnapshotId,
    opened_at: time(row.openedAtMs),
    first_byte_at: time(row.firstByteAtMs),
    settled_at: time(row.settledAtMs),
  }
}

/** What a request was charged, corrections included. */
export function chargeOf(row: RequestRow): number {
  return row.backedChargeMicros + row.freeChargeMicros
}

function time(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString()
}
