import { type CreditCodeRow, ENTRIES } from '../../store/schema.ts'
import type { RedeemCodeInput, RedeemVerdict } from '../ledger.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { post } from './postings.ts'

/**
 * Gives an account the backed credit that a code is worth. The code's own row says who has it, so that
 * of all who ask one is given it; a repeat by that account answers what it was given.
 */
export function redeemCode(work: UnitOfWork, input: RedeemCodeInput, nowMs: number): RedeemVerdict {
  const account = work.account(input.accountId)
  if (account === undefined) return { kind: 'unknownAccount' }
  const code = work.creditCode(input.codeHash)
  if (code === undefined) return { kind: 'unknownCode' }
  if (code.redeemedBy === account.id) return { kind: 'exists', entry: activationOf(work, code) }
  if (code.redeemedBy !== null) return { kind: 'used' }
  if (code.revokedAtMs !== null) return { kind: 'revoked' }
  if (code.expiresAtMs !== null && nowMs >= code.expiresAtMs) return { kind: 'expired' }

  const redeemed = { ...code, redeemedAtMs: nowMs, redeemedBy: account.id }
  work.putCreditCode(redeemed)
  const posted = post(work, {
    ...ENTRIES.start,
    account,
    kind: 'activation',
    purse: 'backed',
    amountMicros: code.amountMicros,
    reference: code.id,
    createdAtMs: nowMs,
  })
  work.putAccount({ ...posted, hasBackedCredit: true })
  return { kind: 'redeemed', entry: activationOf(work, redeemed) }
}

function activationOf(work: UnitOfWork, { id: reference, redeemedBy }: CreditCodeRow) {
  const entry = work.creditEntry({ accountId: redeemedBy ?? '', reference })
  if (entry === undefined) throw new Error(`the code ${reference} was redeemed without an entry`)
  return entry
}
