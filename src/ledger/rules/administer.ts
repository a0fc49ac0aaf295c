import {
  ACCOUNTS,
  type AccountRow,
  API_KEYS,
  type ApiKeyRow,
  CREDIT_CODES,
  type CreditCodeRow,
} from '../../store/schema.ts'
import type { AddApiKeyInput, AddCreditCodeInput, CreateAccountInput, UpdateAccountInput, UpdateApiKeyInput } from '../ledger.ts'
import type { UnitOfWork } from './unit-of-work.ts'

/** Makes an account without credit. */
export function createAccount(work: UnitOfWork, input: CreateAccountInput, nowMs: number): AccountRow {
  const earlier = work.account(input.id)
  if (earlier !== undefined) return earlier
  return work.writeAccount({ ...ACCOUNTS.start, ...input, createdAtMs: nowMs })
}

/** Changes the given fields of an account. Null where there is no such account. */
export function updateAccount(work: UnitOfWork, change: UpdateAccountInput): AccountRow | null {
  const account = work.account(change.id)
  return account === undefined ? null : work.writeAccount({ ...account, ...change })
}

/** Makes a key. Null where there is no such account. */
export function addApiKey(work: UnitOfWork, input: AddApiKeyInput, nowMs: number): ApiKeyRow | null {
  if (work.account(input.accountId) === undefined) return null
  const earlier = work.apiKey(input.id)
  if (earlier !== undefined) return earlier
  return work.writeApiKey({ ...API_KEYS.start, ...input, createdAtMs: nowMs })
}

/** Changes the given fields of a key. Null where there is no such key, or it was deleted. */
export function updateApiKey(work: UnitOfWork, change: UpdateApiKeyInput): ApiKeyRow | null {
  const apiKey = work.apiKey(change.id)
  if (apiKey === undefined || apiKey.deletedAtMs !== null) return null
  return work.writeApiKey({ ...apiKey, ...change })
}

/** Deletes a key. False where there is no such key, or it was deleted before. */
export function deleteApiKey(work: UnitOfWork, apiKeyId: string, nowMs: number): boolean {
  const apiKey = work.apiKey(apiKeyId)
  if (apiKey === undefined || apiKey.deletedAtMs !== null) return false
  work.writeApiKey({ ...apiKey, deletedAtMs: nowMs })
  return true
}

/** Makes a code. */
export function addCreditCode(work: UnitOfWork, input: AddCreditCodeInput, nowMs: number): CreditCodeRow {
  const earlier = work.creditCodeOfId(input.id)
  if (earlier !== undefined) return earlier
  return work.writeCreditCode({ ...CREDIT_CODES.start, ...input, createdAtMs: nowMs })
}

/** Makes a code worth nothing, unless it was redeemed or revoked. Null where there is no such code. */
export function revokeCreditCode(
  work: UnitOfWork,
  creditCodeId: string,
  nowMs: number,
): CreditCodeRow | null {
  const code = work.creditCodeOfId(creditCodeId)
  if (code === undefined) return null
  if (code.redeemedAtMs !== null || code.revokedAtMs !== null) return code
  return work.writeCreditCode({ ...code, revokedAtMs: nowMs })
}
