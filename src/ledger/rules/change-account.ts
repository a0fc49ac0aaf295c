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
  AddApiKeyVerdict,
  AddCreditCodeInput,
  CreateAccountInput,
  RotateApiKeyInput,
  UpdateAccountInput,
  UpdateAccountVerdict,
  UpdateApiKeyInput,
} from '../ledger.ts'
import type { UnitOfWork } from '../work.ts'
import { countsUnder, firstPeriod, KEYS } from './limits.ts'

/**
 * Makes an account without credit, and its owner a member. An account that already has its external ID is unchanged.
 */
export function createAccount(
  work: UnitOfWork,
  { ownerId = null, ...input }: CreateAccountInput,
  nowMs: number,
): AccountRow {
  const earlier = work.accounts.get(input.id) ?? work.accountOfExternalId(input.externalId)
  if (earlier !== undefined) return earlier
  const period = firstPeriod(input.allowance, nowMs)
  const account = work.accounts.write({ ...ACCOUNTS.start, ...input, period, createdAtMs: nowMs })
  if (ownerId !== null) {
    work.members.insert({ accountId: input.id, userId: ownerId, role: 'owner', createdAtMs: nowMs })
  }
  return account
}

/** Changes the given fields of an account, unless another account has its new external ID. Null: no such account. */
export function updateAccount(
  work: UnitOfWork,
  change: UpdateAccountInput,
  nowMs: number,
): UpdateAccountVerdict {
  const account = work.accounts.get(change.id)
  if (account === undefined) return null
  const owner = work.accountOfExternalId(change.externalId)
  if (owner !== undefined && owner.id !== account.id) return 'externalIdTaken'
  return work.accounts.write({
    ...account,
    ...change,
    ...suspensionAfter(account, { change, nowMs }),
    ...countsUnder(work, account, { change, nowMs }),
  })
}

/** Since when an account is disabled, and the note for its members, which ends with it. */
function suspensionAfter(
  { disabled, disabledAtMs, disabledNote }: AccountRow,
  { change, nowMs }: { readonly change: UpdateAccountInput; readonly nowMs: number },
): Pick<AccountRow, 'disabledAtMs' | 'disabledNote'> {
  if (!(change.disabled ?? disabled)) return { disabledAtMs: null, disabledNote: null }
  const { disabledNote: note = disabledNote } = change
  return { disabledAtMs: disabled ? disabledAtMs : nowMs, disabledNote: note }
}

/** Makes a key, unless the account has too many. Null if there is no such account. */
export function addApiKey(
  work: UnitOfWork,
  { keysMax = null, ...input }: AddApiKeyInput,
  nowMs: number,
): AddApiKeyVerdict {
  if (work.accounts.get(input.accountId) === undefined) return null
  const earlier = work.apiKeys.get(input.id)
  if (earlier !== undefined) return earlier
  if (keysMax !== null) {
    const counted = work.counted(KEYS, input.accountId)
    if (counted === undefined) throw new Error(`keys of ${input.accountId} were not counted`)
    const { present, made } = counted
    if (present >= keysMax) return 'tooManyKeys'
    if (made >= keysMax) return 'tooManyNewKeys'
  }
  const period = firstPeriod(input.allowance, nowMs)
  return work.apiKeys.write({ ...API_KEYS.start, ...input, period, createdAtMs: nowMs })
}

/** Changes the given fields of a key. Null if there is no such key, or it was deleted. */
export function updateApiKey(
  work: UnitOfWork,
  change: UpdateApiKeyInput,
  nowMs: number,
): ApiKeyRow | null {
  const apiKey = work.apiKeys.get(change.id)
  if (apiKey === undefined || apiKey.deletedAtMs !== null) return null
  return work.apiKeys.write({
    ...apiKey,
    ...change,
    ...countsUnder(work, apiKey, { change, nowMs }),
  })
}

/**
 * Gives a key a new text. The one before works for the grace; the one before that is ended. Null if there is no
 * such key, or it was deleted.
 */
export function rotateApiKey(
  work: UnitOfWork,
  { id, graceMs, ...next }: RotateApiKeyInput,
  nowMs: number,
): ApiKeyRow | null {
  const apiKey = work.apiKeys.get(id)
  if (apiKey === undefined || apiKey.deletedAtMs !== null) return null
  // If the command runs again, it must not end the previous text early.
  if (apiKey.keyHash === next.keyHash) return apiKey
  return work.apiKeys.write({
    ...apiKey,
    ...next,
    previousKeyHash: graceMs > 0 ? apiKey.keyHash : null,
    previousExpiresAtMs: graceMs > 0 ? nowMs + graceMs : null,
  })
}

/** Deletes a key. False if it was deleted before; null if there is no such key. */
export function deleteApiKey(work: UnitOfWork, apiKeyId: string, nowMs: number): boolean | null {
  const apiKey = work.apiKeys.get(apiKeyId)
  if (apiKey === undefined) return null
  if (apiKey.deletedAtMs !== null) return false
  work.apiKeys.write({ ...apiKey, deletedAtMs: nowMs })
  return true
}

/** Adds a credit code. If the command runs again, returns the code that it added before. */
export function addCreditCode(
  work: UnitOfWork,
  input: AddCreditCodeInput,
  nowMs: number,
): CreditCodeRow {
  const earlier = work.creditCodes.find(({ id }) => id === input.id)
  if (earlier !== undefined) return earlier
  return work.creditCodes.write({ ...CREDIT_CODES.start, ...input, createdAtMs: nowMs })
}

/** Revokes a code, unless it was redeemed or revoked before. Null if there is no such code. */
export function revokeCreditCode(
  work: UnitOfWork,
  creditCodeId: string,
  nowMs: number,
): CreditCodeRow | null {
  const code = work.creditCodes.find(({ id }) => id === creditCodeId)
  if (code === undefined) return null
  if (code.redeemedAtMs !== null || code.revokedAtMs !== null) return code
  return work.creditCodes.write({ ...code, revokedAtMs: nowMs })
}
