import type { AllowancePeriod } from '../vocabulary/allowance.ts'
import type { PaidUnits, ReversalCause } from '../vocabulary/purchase.ts'

/** Percent of a limit or of credit that are used, at which owners of the account are notified, once each. */
const ALERT_STEPS = [100, 90, 75] as const

/** A step of an alert, in percent. */
type AlertStep = (typeof ALERT_STEPS)[number]

/** The highest step that a use has reached; null: none, or there was nothing to use. */
export function alertStep(usedMicros: number, ofMicros: number | null): AlertStep | null {
  if (ofMicros === null || ofMicros <= 0) return null
  // Amounts are below 2^53 / 100 by far: 90 million dollars.
  return ALERT_STEPS.find((step) => usedMicros * 100 >= ofMicros * step) ?? null
}

/** The step, and those below it. */
export function stepsUpTo(step: AlertStep): readonly AlertStep[] {
  return ALERT_STEPS.filter((each) => each <= step)
}

/** An allowance and its spend in the current period. */
interface AllowanceUse {
  readonly step: AlertStep
  readonly spendMicros: number
  readonly allowanceMicros: number
  readonly period: AllowancePeriod
  readonly resetsAtMs: number
}

/** The facts of an alert about a key. */
interface OfKey {
  readonly keyName: string
  /** Whether further alerts about keys of the account are not emailed that day. Absent: they are. */
  readonly isLastOfDay?: true
}

/** A payment. Earlier versions have noted no decimals. */
export type NotedPayment = Omit<PaidUnits, 'decimals'> & Partial<Pick<PaidUnits, 'decimals'>>

/** The facts of an alert at the time when it was noted. */
export type AlertAbout =
  | {
      readonly kind: 'credit'
      readonly step: AlertStep
      readonly leftMicros: number
      /** The balance right after credit was last added, less the credit that was removed since. */
      readonly creditedMicros: number
      /** That credit: refunds, disputes, and what operators removed. */
      readonly removedMicros: number
    }
  | ({ readonly kind: 'account_allowance' } & AllowanceUse)
  | ({
      readonly kind: 'key_limit'
      readonly step: AlertStep
      readonly spendMicros: number
      readonly limitMicros: number
    } & OfKey)
  | ({ readonly kind: 'key_allowance' } & AllowanceUse & OfKey)
  | {
      readonly kind: 'free_credit_ends'
      readonly amountMicros: number
      readonly endsAtMs: number
    }
  | {
      /** A purchase was paid, and its credit was added. */
      readonly kind: 'purchase'
      readonly purchaseId: string
      /** As a person reads it; null: it has none. */
      readonly receiptNumber: string | null
      readonly creditMicros: number
      /** The payment, in the smallest unit of its currency; null: it is not known. */
      readonly paid: NotedPayment | null
      /** The paid credit of the account afterwards. */
      readonly balanceMicros: number
    }
  | {
      readonly kind: 'reversal'
      /** Below zero: credit was removed; above: it was added again. */
      readonly amountMicros: number
      /** Null: it is not known. */
      readonly cause: ReversalCause | null
      readonly purchasedAtMs: number
      readonly creditMicros: number
      readonly remainingMicros: number
      /** The paid credit of the account afterwards. */
      readonly balanceMicros: number
    }
  | {
      /** An operator removed paid credit. */
      readonly kind: 'removal'
      /** Above zero. */
      readonly amountMicros: number
      readonly reference: string
      /** The paid credit of the account afterwards. */
      readonly balanceMicros: number
    }
