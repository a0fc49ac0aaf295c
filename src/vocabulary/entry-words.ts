import type { EntryKind } from './money.ts'
import { type ReversalCause, reversalCauseOf } from './purchase.ts'

/** An entry or a line of a statement, as the API has it. A negative amount, in micro-dollars, removes credit. */
interface NamedEntry {
  readonly kind: EntryKind
  readonly amount: number
  readonly reference: string | null
}

/** The kind of an entry as people read it, on the page and on the command line; of a refund or dispute, its cause. */
export function entryName({ kind, amount, reference }: NamedEntry): string {
  if (kind !== 'reversal') return KIND_NAMES[kind]
  return reversalName({ amount, cause: reversalCauseOf(reference ?? '') })
}

/** The name of a change by a refund or a dispute; null: the cause is not known. */
export function reversalName({
  amount,
  cause,
}: Pick<NamedEntry, 'amount'> & { readonly cause: ReversalCause | null }): string {
  if (cause !== null) return CAUSE_NAMES[cause]
  return amount < 0 ? 'Refund or dispute' : 'Dispute won or refund failed'
}

const KIND_NAMES: Readonly<Record<Exclude<EntryKind, 'reversal'>, string>> = {
  top_up: 'Top-up',
  activation: 'Code redeemed',
  purchase: 'Purchase',
  grant: 'Free credit given',
  expiry: 'Free credit expired',
  charge: 'Charge',
  correction: 'Correction',
  chargeback: 'Credit removed',
  write_off: 'Written off',
}

const CAUSE_NAMES: Readonly<Record<ReversalCause, string>> = {
  refund: 'Refund',
  refund_failed: 'Refund failed',
  dispute: 'Dispute',
  dispute_won: 'Dispute won',
}
