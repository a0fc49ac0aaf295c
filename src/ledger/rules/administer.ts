import {
  ACCOUNTS,
  type AccountRow,
  API_KEYS,
  type ApiKeyRow,
  CREDIT_CODES,
  type CreditCodeRow,
} from '../../store/schema.ts'
import type {
  AddApiKeyInput,
  AddCreditCodeInput,
  CreateAccountInput,
  UpdateAccountInput,
  UpdateApiKeyInput,
} from '../ledger.ts'
import type { Book } from './book.ts'

/** Makes an account without credit. */
export function createAccount(book: Book, input: CreateAccountInput, nowMs: number): AccountRow {
  const earlier = book.account(input.id)
  if (earlier !== undefined) return earlier
  return book.writeAccount({ ...ACCOUNTS.start, ...input, createdAtMs: nowMs })
}

/** Changes what is given of an account. Null where there is no such account. */
export function updateAccount(book: Book, change: UpdateAccountInput): AccountRow | null {
  const account = book.account(change.id)
  return account === undefined ? null : book.writeAccount({ ...account, ...change })
}

/** Makes a key. Null where there is no such account. */
export function addApiKey(book: Book, input: AddApiKeyInput, nowMs: number): ApiKeyRow | null {
  if (book.account(input.accountId) === undefined) return null
  const earlier = book.apiKey(input.id)
  if (earlier !== undefined) return earlier
  return book.writeApiKey({ ...API_KEYS.start, ...input, createdAtMs: nowMs })
}

/** Changes what is given of a key. Null where there is no such key, or it was deleted. */
export function updateApiKey(book: Book, change: UpdateApiKeyInput): ApiKeyRow | null {
  const apiKey = book.apiKey(change.id)
  if (apiKey === undefined || apiKey.deletedAtMs !== null) return null
  return book.writeApiKey({ ...apiKey, ...change })
}

/** Deletes a key. False where there is no such key, or it was deleted before. */
export function deleteApiKey(book: Book, apiKeyId: string, nowMs: number): boolean {
  const apiKey = book.apiKey(apiKeyId)
  if (apiKey === undefined || apiKey.deletedAtMs !== null) return false
  book.writeApiKey({ ...apiKey, deletedAtMs: nowMs })
  return true
}

/** Makes a code. */
export function addCreditCode(book: Book, input: AddCreditCodeInput, nowMs: number): CreditCodeRow {
  const earlier = book.creditCodeOfId(input.id)
  if (earlier !== undefined) return earlier
  return book.writeCreditCode({ ...CREDIT_CODES.start, ...input, createdAtMs: nowMs })
}

/** Makes a code worth nothing, unless it was redeemed or revoked. Null where there is no such code. */
export function revokeCreditCode(
  book: Book,
  creditCodeId: string,
  nowMs: number,
): CreditCodeRow | null {
  const code = book.creditCodeOfId(creditCodeId)
  if (code === undefined) return null
  if (code.redeemedAtMs !== null || code.revokedAtMs !== null) return code
  return book.writeCreditCode({ ...code, revokedAtMs: nowMs })
}
