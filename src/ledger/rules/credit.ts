import { type AccountRow, type CreditCodeRow, ENTRIES, type Entry } from '../../store/schema.ts'
import {
  addMicros,
  BALANCE_MICROS_MAX,
  ENTRY_FACTS,
  type EntryKind,
  type Micros,
  maxMicros,
  micros,
  subtractMicros,
  ZERO_MICROS,
} from '../../vocabulary/money.ts'
import type {
  AddCreditInput,
  BeyondBalance,
  CreditVerdict,
  RedeemCodeInput,
  RedeemVerdict,
} from '../ledger.ts'
import type { UnitOfWork } from '../work.ts'

/** An entry before it has its place in an account. */
type Posting = Omit<Entry, 'accountId' | 'number'>

/** Adds an entry to the unit of work and returns the new account. A posting of zero adds nothing. */
export function post(work: UnitOfWork, account: AccountRow, posting: Posting): AccountRow {
  const { purse, amountMicros } = posting
  if (amountMicros === 0) return account
  const entryCount = account.entryCount + 1
  work.entries.insert({ accountId: account.id, number: entryCount, ...posting })
  const backedMicros = purse === 'backed' ? amountMicros : ZERO_MICROS
  const freeMicros = purse === 'free' ? amountMicros : ZERO_MICROS
  const posted: AccountRow = {
    ...account,
    entryCount,
    backedBalanceMicros: addMicros(account.backedBalanceMicros, backedMicros),
    freeBalanceMicros: addMicros(account.freeBalanceMicros, freeMicros),
  }
  return isCredit(posting) ? { ...posted, ...lastCredit(posted) } : posted
}

/**
 * Whether an entry adds credit, after which the alerts of an account start again. A reversal adds credit if a dispute
 * was won or a refund failed.
 */
export function isCredit({ kind, amountMicros }: Pick<Entry, 'kind' | 'amountMicros'>): boolean {
  return amountMicros > 0 && ENTRY_FACTS[kind].adds !== null
}

function lastCredit({
  entryCount: lastCreditNumber,
  backedBalanceMicros,
  freeBalanceMicros,
}: AccountRow): Pick<AccountRow, 'lastCreditNumber' | 'lastCreditBalanceMicros'> {
  const lastCreditBalanceMicros = addMicros(backedBalanceMicros, freeBalanceMicros)
  return { lastCreditNumber, lastCreditBalanceMicros }
}

/** The most credit that can be added to an account now. Expired free credit takes room only where it is held. */
export function roomForCredit(account: AccountRow, nowMs: number): Micros {
  const { backedBalanceMicros, freeBalanceMicros, freeHeldMicros } = account
  const unexpiredMicros = freeCreditExpired(account, nowMs)
    ? micros(Math.min(freeBalanceMicros, freeHeldMicros))
    : freeBalanceMicros
  const balanceMicros = addMicros(backedBalanceMicros, unexpiredMicros)
  return maxMicros(ZERO_MICROS, subtractMicros(BALANCE_MICROS_MAX, balanceMicros))
}

/** Why credit can't be added, or removed; null: it can. */
function beyondBalance(
  account: AccountRow,
  { changeMicros, nowMs }: { readonly changeMicros: Micros; readonly nowMs: number },
): BeyondBalance | null {
  const change = changeMicros > 0 ? 'added' : 'removed'
  const mostMicros =
    change === 'added'
      ? roomForCredit(account, nowMs)
      : maxMicros(ZERO_MICROS, addMicros(BALANCE_MICROS_MAX, account.backedBalanceMicros))
  return Math.abs(changeMicros) > mostMicros ? { kind: 'beyondBalance', change, mostMicros } : null
}

/** The balances less held credit, never below zero; free credit counts until it expires. */
export function availableCredit(
  account: AccountRow,
  nowMs: number,
): { readonly backedMicros: Micros; readonly freeMicros: Micros } {
  const backed = subtractMicros(account.backedBalanceMicros, account.backedHeldMicros)
  const free = subtractMicros(account.freeBalanceMicros, account.freeHeldMicros)
  return {
    backedMicros: backed > 0 ? backed : ZERO_MICROS,
    freeMicros: free > 0 && !freeCreditExpired(account, nowMs) ? free : ZERO_MICROS,
  }
}

/** Whether free credit that is not held has lapsed. */
export function freeCreditExpired(
  account: Pick<AccountRow, 'freeExpiresAtMs'>,
  nowMs: number,
): boolean {
  return account.freeExpiresAtMs !== null && nowMs >= account.freeExpiresAtMs
}

/** Posts the expiry of free credit that has expired and is not held. Held credit may still be charged. */
export function lapseFreeCredit(work: UnitOfWork, account: AccountRow, nowMs: number): AccountRow {
  const unheld = account.freeBalanceMicros - account.freeHeldMicros
  if (unheld <= 0 || !freeCreditExpired(account, nowMs)) return account
  return post(work, account, {
    ...ENTRIES.start,
    kind: 'expiry',
    purse: 'free',
    amountMicros: micros(-unheld),
    createdAtMs: nowMs,
  })
}

/** Posts the expiry of an account's free credit that has expired and is not held. Whether there was some. */
export function lapseCredit(work: UnitOfWork, accountId: string, nowMs: number): boolean {
  const account = work.accounts.get(accountId)
  if (account === undefined) return false
  const lapsed = lapseFreeCredit(work, account, nowMs)
  if (lapsed === account) return false
  work.accounts.update(lapsed)
  return true
}

/**
 * Adds credit, or removes paid credit. Further free credit adds to the rest, and the later expiry applies to all of
 * it. Throws RangeError for impossible credit.
 */
export function addCredit(work: UnitOfWork, input: AddCreditInput, nowMs: number): CreditVerdict {
  const account = work.accounts.get(input.accountId)
  if (account === undefined) return { kind: 'unknownAccount' }
  const earlier = work.creditEntry(input)
  if (earlier !== undefined && ENTRY_FACTS[earlier.kind].of === null) {
    return { kind: isSameCredit(earlier, input) ? 'exists' : 'conflict', entry: earlier }
  }
  checkCredit(input)
  if (input.expiresAtMs !== null && input.expiresAtMs <= nowMs) return { kind: 'expired' }
  const beyond = beyondBalance(account, { changeMicros: input.amountMicros, nowMs })
  if (beyond !== null) return beyond

  const lapsed = lapseFreeCredit(work, account, nowMs)
  const kind: EntryKind =
    input.purse === 'free' ? 'grant' : input.amountMicros > 0 ? 'top_up' : 'chargeback'
  const posted = post(work, lapsed, {
    ...ENTRIES.start,
    kind,
    purse: input.purse,
    amountMicros: input.amountMicros,
    reference: input.reference,
    expiresAtMs: input.expiresAtMs,
    createdAtMs: nowMs,
  })
  work.accounts.update({
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

/** Whether a reference begins with an ID under which only its own credit is posted, such as that of a code. */
export function isReservedReference(reference: string): boolean {
  return Object.values(ENTRY_FACTS).some(({ of }) => of !== null && reference.startsWith(`${of}_`))
}

function isSameCredit(entry: Entry, input: AddCreditInput): boolean {
  return (
    entry.purse === input.purse &&
    entry.amountMicros === input.amountMicros &&
    entry.expiresAtMs === input.expiresAtMs
  )
}

function checkCredit(input: AddCreditInput): void {
  if (input.reference === '') throw new RangeError('credit needs a reference')
  if (isReservedReference(input.reference)) throw new RangeError('the reference is reserved')
  if (input.amountMicros === 0) throw new RangeError('credit of zero is none')
  if (input.purse === 'backed') {
    if (input.expiresAtMs !== null) throw new RangeError('paid credit does not expire')
    return
  }
  if (input.amountMicros < 0) throw new RangeError('free credit is not removed')
  if (input.expiresAtMs === null) throw new RangeError('free credit needs an expiry')
  if (!Number.isSafeInteger(input.expiresAtMs)) throw new RangeError('an expiry is a whole number')
}

/**
 * Redeems a code for paid credit of an account. The code's row names its account, so only one account gets the
 * credit; when that account repeats the command, it gets the same entry.
 */
export function redeemCode(work: UnitOfWork, input: RedeemCodeInput, nowMs: number): RedeemVerdict {
  const account = work.accounts.get(input.accountId)
  if (account === undefined) return { kind: 'unknownAccount' }
  const code = work.creditCodes.get(input.codeHash)
  if (code === undefined) return { kind: 'unknownCode' }
  if (code.redeemedBy === account.id) return { kind: 'exists', entry: activationOf(work, code) }
  if (code.redeemedBy !== null) return { kind: 'used' }
  if (code.revokedAtMs !== null) return { kind: 'revoked' }
  if (code.expiresAtMs !== null && nowMs >= code.expiresAtMs) return { kind: 'expired' }
  const beyond = beyondBalance(account, { changeMicros: code.amountMicros, nowMs })
  if (beyond !== null) return beyond

  const redeemed = { ...code, redeemedAtMs: nowMs, redeemedBy: account.id }
  work.creditCodes.update(redeemed)
  const posted = post(work, lapseFreeCredit(work, account, nowMs), {
    ...ENTRIES.start,
    kind: 'activation',
    purse: 'backed',
    amountMicros: code.amountMicros,
    reference: code.id,
    createdAtMs: nowMs,
  })
  work.accounts.update({ ...posted, hasBackedCredit: true })
  return { kind: 'redeemed', entry: activationOf(work, redeemed) }
}

function activationOf(work: UnitOfWork, { id: reference, redeemedBy }: CreditCodeRow) {
  const entry = work.creditEntry({ accountId: redeemedBy ?? '', reference })
  if (entry === undefined) throw new Error(`the code ${reference} was redeemed without an entry`)
  return entry
}
