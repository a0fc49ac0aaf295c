import type { AccountRow, ApiKeyRow, CreditCodeRow } from '../../store/schema.ts'
import { assertNever } from '../../vocabulary/assert-never.ts'
import type { Micros } from '../../vocabulary/money.ts'
import type { RequestState } from '../../vocabulary/outcome.ts'
import type {
  AddApiKeyInput,
  AddCreditCodeInput,
  AddCreditInput,
  Corrected,
  CorrectInput,
  CreateAccountInput,
  CreditVerdict,
  DismissPurchaseInput,
  DismissVerdict,
  OpenHoldInput,
  OpenHoldVerdict,
  PostPurchaseInput,
  PurchaseVerdict,
  RedeemCodeInput,
  RedeemVerdict,
  Settled,
  SettleInput,
  SettleStandingInput,
  UpdateAccountInput,
  UpdateAccountVerdict,
  UpdateApiKeyInput,
} from '../ledger.ts'
import type { OperatorAction } from '../operator-actions.ts'
import type { CreditPlace } from '../rules/unit-of-work.ts'

/** A command that an operator may give. */
interface Recorded {
  /** To be recorded with what the command changes, in the same commit; absent or null: no operator gave it. */
  readonly by?: OperatorAction | null
}

/** The account and the key of a request. */
export interface RequestOwner {
  readonly accountId: string
  readonly apiKeyId: string
}

/** A hold that was opened, and when. */
export interface OpenedHold {
  readonly input: OpenHoldInput
  readonly grant: Extract<OpenHoldVerdict, { kind: 'opened' }>
  /** The store's time. */
  readonly openedAtMs: number
}

/** A request that is booked again, because the store may have lost it. */
export interface RebookInput {
  readonly opened: OpenedHold
  /** How its attempt ended; null: it has not. */
  readonly settle: SettleInput | null
}

/** The result of booking a request again. */
export type RebookVerdict =
  | {
      readonly kind: 'rebooked'
      /** Whether the store had lost the whole request. */
      readonly wasGone: boolean
      /** Whether it had lost its end. */
      readonly settledNow: boolean
      readonly chargedMicros: Micros
    }
  /** The store has lost its account or its key: nothing is booked yet. */
  | { readonly kind: 'noOwner' }

/** A command about one request. */
interface Owned {
  /** Whose request it is, so that the store need not look; absent: the store looks. */
  readonly owner?: RequestOwner
}

/** All commands of the ledger, by kind: what each takes, and its verdict. */
interface Commands {
  openHold(takes: { readonly input: OpenHoldInput }): OpenHoldVerdict | HoldEnded
  /** The verdict is null where no such hold was opened. */
  settle(takes: Owned & { readonly input: SettleInput }): Settled | null
  rebook(takes: { readonly input: RebookInput }): RebookVerdict
  noteGeneration(takes: Owned & { readonly requestId: string; readonly generationId: string }): null
  correct(takes: Recorded & { readonly input: CorrectInput }): Corrected
  settleStanding(takes: { readonly input: SettleStandingInput }): number
  addCredit(takes: Recorded & { readonly input: AddCreditInput }): CreditVerdict
  redeemCode(takes: Recorded & { readonly input: RedeemCodeInput }): RedeemVerdict
  postPurchase(takes: Recorded & { readonly input: PostPurchaseInput }): PurchaseVerdict
  dismissPurchase(takes: Recorded & { readonly input: DismissPurchaseInput }): DismissVerdict
  /** The verdict is how many holds it has made unresolved. */
  abandonInstance(takes: { readonly instanceId: string }): number
  /** The verdict is how many holds it has made unresolved. */
  abandonHolds(takes: { readonly requestIds: readonly string[] }): number
  createAccount(takes: Recorded & { readonly input: CreateAccountInput }): AccountRow
  updateAccount(takes: Recorded & { readonly input: UpdateAccountInput }): UpdateAccountVerdict
  addApiKey(takes: Recorded & { readonly input: AddApiKeyInput }): ApiKeyRow | null
  updateApiKey(takes: Recorded & { readonly input: UpdateApiKeyInput }): ApiKeyRow | null
  deleteApiKey(takes: Recorded & { readonly apiKeyId: string }): boolean
  addCreditCode(takes: Recorded & { readonly input: AddCreditCodeInput }): CreditCodeRow
  revokeCreditCode(takes: Recorded & { readonly creditCodeId: string }): CreditCodeRow | null
}

/** Closed: an engine applies commands of these kinds in order and knows no others. */
export type CommandKind = keyof Commands

/** The kinds of commands that an operator may give. */
export type RecordedKind = {
  [Kind in CommandKind]: 'by' extends keyof Parameters<Commands[Kind]>[0] ? Kind : never
}[CommandKind]

/** A command of one of some kinds; by default, of any. */
export type LedgerCommand<Kind extends CommandKind = CommandKind> = {
  [Each in Kind]: { readonly kind: Each } & Parameters<Commands[Each]>[0]
}[Kind]

/** The verdict on a command of some kinds; by default, of any. */
export type LedgerVerdict<Kind extends CommandKind = CommandKind> = ReturnType<Commands[Kind]>

/** The verdict on a command of this type. */
export type VerdictOf<Command extends LedgerCommand> = LedgerVerdict<Command['kind']>

/** The verdict on a repeated `openHold` whose hold has ended: nothing may run on it. */
export interface HoldEnded {
  readonly kind: 'ended'
  readonly state: RequestState
}

/**
 * Lower ranks are applied first within a batch. Holds open last, so that settles and credit of the same
 * batch make room for them.
 */
export function rankOfCommand(command: LedgerCommand): number {
  return command.kind === 'openHold' ? 1 : 0
}

/** Whether a command may add up the requests of a period, which takes long for a payer with many. */
export function mayAddUp(command: LedgerCommand): boolean {
  const isChange = command.kind === 'updateAccount' || command.kind === 'updateApiKey'
  return isChange && command.input.allowance != null
}

/** The account whose rows a command locks; null: none, several, or the store has to look. */
export function accountOfCommand(command: LedgerCommand): string | null {
  switch (command.kind) {
    case 'openHold':
    case 'addCredit':
    case 'redeemCode':
    case 'postPurchase':
    case 'addApiKey':
      return command.input.accountId
    case 'settle':
    case 'noteGeneration':
      return command.owner?.accountId ?? null
    case 'rebook':
      return command.input.opened.input.accountId
    case 'createAccount':
    case 'updateAccount':
      return command.input.id
    case 'correct':
    case 'settleStanding':
    case 'dismissPurchase':
    case 'abandonInstance':
    case 'abandonHolds':
    case 'updateApiKey':
    case 'deleteApiKey':
    case 'addCreditCode':
    case 'revokeCreditCode':
      return null
    default:
      return assertNever(command)
  }
}

/** The rows that commands work on. */
export interface NamedRows {
  readonly accountIds: Set<string>
  /** Of accounts that are looked for by the id that another system knows them by: to be read alone. */
  readonly externalIds: Set<string>
  readonly apiKeyIds: Set<string>
  /** Requests that are there, if they were ever opened. */
  readonly requestIds: Set<string>
  /** Those of them whose account and key are not named: they are to be found. */
  readonly unownedIds: Set<string>
  /** Requests that are about to be made: there only where a command is repeated. */
  readonly openedIds: Set<string>
  /** Requests alone, of which nothing but their state changes: under the locks on their accounts. */
  readonly standingIds: Set<string>
  /** All requests of these instances that are open. */
  readonly instanceIds: Set<string>
  /** The entries of credit that was added before. */
  readonly credits: CreditPlace[]
  /** The codes, and the entries of their credit. */
  readonly codes: RedeemCodeInput[]
  readonly creditCodeIds: Set<string>
  readonly purchaseSources: Set<string>
  readonly purchaseIds: Set<string>
}

/**
 * The rows that an engine loads before it applies commands. `areOwnersKnown` false: the owners that commands name of
 * requests are looked up all the same.
 */
export function rowsNamedBy(
  commands: readonly LedgerCommand[],
  { areOwnersKnown }: { readonly areOwnersKnown: boolean },
): NamedRows {
  const named: NamedRows = {
    accountIds: new Set(),
    externalIds: new Set(),
    apiKeyIds: new Set(),
    requestIds: new Set(),
    unownedIds: new Set(),
    openedIds: new Set(),
    standingIds: new Set(),
    instanceIds: new Set(),
    credits: [],
    codes: [],
    creditCodeIds: new Set(),
    purchaseSources: new Set(),
    purchaseIds: new Set(),
  }
  for (const command of commands) nameRows(named, command)
  if (!areOwnersKnown) for (const requestId of named.requestIds) named.unownedIds.add(requestId)
  return named
}

function nameRows(named: NamedRows, command: LedgerCommand): void {
  switch (command.kind) {
    case 'openHold':
      named.accountIds.add(command.input.accountId)
      named.apiKeyIds.add(command.input.apiKeyId)
      named.openedIds.add(command.input.requestId)
      return
    case 'settle':
      nameRequest(named, command.input.requestId, command.owner)
      return
    case 'rebook': {
      const { input } = command.input.opened
      nameRequest(named, input.requestId, input)
      return
    }
    case 'correct':
      nameRequest(named, command.input.requestId)
      return
    case 'settleStanding':
      for (const requestId of command.input.requestIds) named.standingIds.add(requestId)
      return
    case 'noteGeneration':
      nameRequest(named, command.requestId, command.owner)
      return
    case 'addCredit':
      named.accountIds.add(command.input.accountId)
      named.credits.push(command.input)
      return
    case 'redeemCode':
      named.accountIds.add(command.input.accountId)
      named.codes.push(command.input)
      return
    case 'postPurchase':
      named.accountIds.add(command.input.accountId)
      named.purchaseSources.add(command.input.source)
      return
    case 'dismissPurchase':
      named.purchaseIds.add(command.input.purchaseId)
      return
    case 'abandonInstance':
      named.instanceIds.add(command.instanceId)
      return
    case 'abandonHolds':
      for (const requestId of command.requestIds) nameRequest(named, requestId)
      return
    case 'createAccount':
    case 'updateAccount':
      named.accountIds.add(command.input.id)
      if (command.input.externalId != null) named.externalIds.add(command.input.externalId)
      return
    case 'addApiKey':
      named.accountIds.add(command.input.accountId)
      named.apiKeyIds.add(command.input.id)
      return
    case 'updateApiKey':
      named.apiKeyIds.add(command.input.id)
      return
    case 'deleteApiKey':
      named.apiKeyIds.add(command.apiKeyId)
      return
    case 'addCreditCode':
      named.creditCodeIds.add(command.input.id)
      return
    case 'revokeCreditCode':
      named.creditCodeIds.add(command.creditCodeId)
      return
    default:
      assertNever(command)
  }
}

/** By position: the rows, and a request of them with its owner. */
function nameRequest(named: NamedRows, requestId: string, owner?: RequestOwner): void {
  named.requestIds.add(requestId)
  if (owner === undefined) {
    named.unownedIds.add(requestId)
    return
  }
  named.accountIds.add(owner.accountId)
  named.apiKeyIds.add(owner.apiKeyId)
}
