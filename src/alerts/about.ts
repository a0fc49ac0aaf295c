import type { AlertStep } from '../vocabulary/alert-step.ts'
import type { AllowancePeriod } from '../vocabulary/allowance.ts'

/** An allowance and its spend in the current period. */
interface AllowanceUse {
  readonly step: AlertStep
  readonly spendMicros: number
  readonly allowanceMicros: number
  readonly period: AllowancePeriod
  readonly resetsAtMs: number
}

/** The facts of an alert at the time when it was noted. */
export type AlertAbout =
  | {
      readonly kind: 'credit'
      readonly step: AlertStep
      readonly leftMicros: number
      /** The balance right after the last credit. */
      readonly creditedMicros: number
    }
  | ({ readonly kind: 'account_allowance' } & AllowanceUse)
  | {
      readonly kind: 'key_limit'
      readonly step: AlertStep
      readonly keyName: string
      readonly spendMicros: number
      readonly limitMicros: number
    }
  | ({ readonly kind: 'key_allowance'; readonly keyName: string } & AllowanceUse)
  | {
      readonly kind: 'free_credit_ends'
      readonly amountMicros: number
      readonly endsAtMs: number
    }
