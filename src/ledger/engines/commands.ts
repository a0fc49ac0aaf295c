import type { RequestState } from '../../vocabulary/request-state.ts'
import type {
  AddCreditInput,
  Corrected,
  CorrectInput,
  CreditVerdict,
  OpenHoldInput,
  OpenHoldVerdict,
  RedeemCodeInput,
  RedeemVerdict,
  Settled,
  SettleInput,
} from '../ledger.ts'

/** Everything that changes the books. Closed: a store applies them in order and knows no others. */
export type LedgerCommand =
  | { readonly kind: 'openHold'; readonly input: OpenHoldInput }
  | {
      readonly kind: 'settle'
      readonly input: SettleInput
      /** Of a hold that may not be there yet: its opening is under this account's lock. */
      readonly accountId?: string
    }
  | { readonly kind: 'noteGeneration'; readonly requestId: string; readonly generationId: string }
  | { readonly kind: 'correct'; readonly input: CorrectInput }
  | { readonly kind: 'addCredit'; readonly input: AddCreditInput }
  | { readonly kind: 'redeemCode'; readonly input: RedeemCodeInput }
  | { readonly kind: 'sweepInstance'; readonly instanceId: string }
  | { readonly kind: 'sweepHolds'; readonly requestIds: readonly string[] }

/** What a command answers; `of` is the command's kind. */
export type LedgerVerdict =
  | { readonly of: 'openHold'; readonly verdict: OpenHoldVerdict | HoldEnded }
  /** Null where no such hold was opened. */
  | { readonly of: 'settle'; readonly settled: Settled | null }
  | { readonly of: 'noteGeneration' }
  | { readonly of: 'correct'; readonly corrected: Corrected }
  | { readonly of: 'addCredit'; readonly verdict: CreditVerdict }
  | { readonly of: 'redeemCode'; readonly verdict: RedeemVerdict }
  | { readonly of: 'sweepInstance'; readonly swept: number }
  | { readonly of: 'sweepHolds'; readonly swept: number }

/** The answer to a repeated `openHold` whose hold has ended: nothing may run on it. */
export interface HoldEnded {
  readonly kind: 'ended'
  readonly state: RequestState
}

/**
 * What is applied first within a batch. Holds open last: what settles or adds credit in the same
 * batch makes room for them.
 */
export function rankOfCommand(command: LedgerCommand): number {
  return command.kind === 'openHold' ? 1 : 0
}
