import { ENTRIES, type Entry } from '../../store/schema.ts'
import type { EntryKind } from '../../vocabulary/money.ts'
import type { AddCreditInput, CreditVerdict } from '../ledger.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { lapseFreeCredit, post } from './postings.ts'

/**
 * Adds credit, or takes backed credit back. A second grant of free credit adds to the first, and the
 * later expiry holds for both. Throws RangeError for credit that can't be.
 */
export function addCredit(work: UnitOfWork, input: AddCreditInput, nowMs: number): CreditVerdict {
  const account = work.account(input.accountId)
  if (account === undefined) return { kind: 'unknownAccount' }
  const earlier = work.creditEntry(input)
  if (earlier !== undefined && earlier.kind !== 'activation') {
    return { kind: isSameCredit(earlier, input) ? 'exists' : 'conflict', entry: earlier }
  }
  checkCredit(input, nowMs)

  const lapsed = lapseFreeCredit(work, account, nowMs)
  const kind: EntryKind =
    input.purse === 'free' ? 'grant' : input.amountMicros > 0 ? 'top_up' : 'chargeback'
  const posted = post(work, {
    ...ENTRIES.start,
    account: lapsed,
    kind,
    purse: input.purse,
    amountMicros: input.amountMicros,
    reference: input.reference,
    expiresAtMs: input.expiresAtMs,
    createdAtMs: nowMs,
  })
  work.putAccount({
    ...posted,
    freeExpiresAtMs:
      input.expiresAtMs === null
        ? posted.freeExpiresAtMs
        : Math.max(input.expiresAtMs, posted.freeExpiresAtMs ?? 0),
    hasBackedCredit: posted.hasBackedCredit || kind === 'top_up',
  })
  const entry = work.creditEntry(input)
  if (entry === undefined) throw new Error('credit was posted without its reference')
  return { kind: 'added', entry }
}

/** Whether a reference is the id of a credit code, under which nothing but its redemption is posted. */
export function isCodeReference(reference: string): boolean {
  return reference.startsWith('code_')
}

function isSameCredit(entry: Entry, input: AddCreditInput): boolean {
  return (
    entry.purse === input.purse &&
    entry.amountMicros === input.amountMicros &&
    entry.expiresAtMs === input.expiresAtMs
  )
}

function checkCredit(input: AddCreditInput, nowMs: number): void {
  if (input.reference === '') throw new RangeError('credit needs a reference')
  if (isCodeReference(input.reference)) throw new RangeError('the reference is of a code')
  if (input.amountMicros === 0) throw new RangeError('credit of zero is none')
  if (input.purse === 'backed') {
    if (input.expiresAtMs !== null) throw new RangeError('backed credit does not expire')
    return
  }
  if (input.amountMicros < 0) throw new RangeError('free credit is not taken back')
  if (input.expiresAtMs === null) throw new RangeError('free credit needs an expiry')
  if (!Number.isSafeInteger(input.expiresAtMs) || input.expiresAtMs <= nowMs) {
    throw new RangeError('the expiry of free credit is in the future')
  }
}
