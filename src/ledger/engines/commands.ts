import type { AccountRow, ApiKeyRow, CreditCodeRow } from '../../store/schema.ts'
import type { RequestState } from '../../vocabulary/outcome.ts'
import type {
  AddApiKeyInput,
  AddCreditCodeInput,
  AddCreditInput,
  Corrected,
  CorrectInput,
  CreateAccountInput,
  CreditVerdict,
  OpenHoldInput,
  OpenHoldVerdict,
  RedeemCodeInput,
  RedeemVerdict,
  Settled,
  SettleInput,
  UpdateAccountInput,
  UpdateApiKeyInput,
} from '../ledger.ts'

/** All commands of the ledger, by kind: what each takes, and its verdict. */
interface Commands {
  openHold: {
    readonly takes: { readonly input: OpenHoldInput }
    readonly verdict: OpenHoldVerdict | HoldEnded
  }
  settle: {
    readonly takes: {
      readonly input: SettleInput
      /** Of a hold that may not be there yet: its opening is under this account's lock. */
      readonly accountId?: string
    }
    /** Null where no such hold was opened. */
    readonly verdict: Settled | null
  }
  noteGeneration: {
    readonly takes: { readonly requestId: string; readonly generationId: string }
    readonly verdict: null
  }
  correct: { readonly takes: { readonly input: CorrectInput }; readonly verdict: Corrected }
  addCredit: { readonly takes: { readonly input: AddCreditInput }; readonly verdict: CreditVerdict }
  redeemCode: {
    readonly takes: { readonly input: RedeemCodeInput }
    readonly verdict: RedeemVerdict
  }
  /** The verdict is how many holds it has made unresolved. */
  abandonInstance: { readonly takes: { readonly instanceId: string }; readonly verdict: number }
  /** The verdict is how many holds it has made unresolved. */
  abandonHolds: {
    readonly takes: { readonly requestIds: readonly string[] }
    readonly verdict: number
  }
  createAccount: {
    readonly takes: { readonly input: CreateAccountInput }
    readonly verdict: AccountRow
  }
  updateAccount: {
    readonly takes: { readonly input: UpdateAccountInput }
    readonly verdict: AccountRow | null
  }
  addApiKey: {
    readonly takes: { readonly input: AddApiKeyInput }
    readonly verdict: ApiKeyRow | null
  }
  updateApiKey: {
    readonly takes: { readonly input: UpdateApiKeyInput }
    readonly verdict: ApiKeyRow | null
  }
  deleteApiKey: { readonly takes: { readonly apiKeyId: string }; readonly verdict: boolean }
  addCreditCode: {
    readonly takes: { readonly input: AddCreditCodeInput }
    readonly verdict: CreditCodeRow
  }
  revokeCreditCode: {
    readonly takes: { readonly creditCodeId: string }
    readonly verdict: CreditCodeRow | null
  }
}

/** Closed: an engine applies commands of these kinds in order and knows no others. */
export type CommandKind = keyof Commands

/** A command of one of some kinds; by default, of any. */
export type LedgerCommand<Kind extends CommandKind = CommandKind> = {
  [Each in Kind]: { readonly kind: Each } & Commands[Each]['takes']
}[Kind]

/** What a command of one of some kinds answers; by default, of any. */
export type LedgerVerdict<Kind extends CommandKind = CommandKind> = Commands[Kind]['verdict']

/** What a command answers. */
export type VerdictOf<Command extends LedgerCommand> = LedgerVerdict<Command['kind']>

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
