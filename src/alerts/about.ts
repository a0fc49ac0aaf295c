import { type AlertStep, stepsUpTo } from '../vocabulary/alert-step.ts'
import type { AllowancePeriod } from '../vocabulary/allowance.ts'

/** An allowance and what was spent of it in the period that goes on. */
interface AllowanceUse {
  readonly step: AlertStep
  readonly spendMicros: number
  readonly allowanceMicros: number
  readonly period: AllowancePeriod
  readonly resetsAtMs: number
}

/** What an alert says, as it was when it was noted. */
export type AlertAbout =
  | {
      readonly kind: 'credit'
      readonly step: AlertStep
      readonly leftMicros: number
      /** What there was right after the last credit. */
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

/** What is noted of an alert: its step with those below it, which are not mailed any more then; 0 of one without steps. */
export function notedSteps(about: AlertAbout): readonly number[] {
  return about.kind === 'free_credit_ends' ? [0] : stepsUpTo(about.step)
}
