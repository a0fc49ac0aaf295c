import type { AccountRow, ApiKeyRow, CreditCodeRow } from '../store/schema.ts'
import type { Uncounted } from './counts.ts'
import type {
  AddApiKeyInput,
  AddApiKeyVerdict,
  AddCreditCodeInput,
  AddCreditInput,
  Corrected,
  CorrectInput,
  CreateAccountInput,
  CreditVerdict,
  HoldLedger,
  OpenHoldInput,
  OpenHoldVerdict,
  RedeemCodeInput,
  RedeemVerdict,
  RotateApiKeyInput,
  Settled,
  SettleInput,
  SettleStandingInput,
  UpdateAccountInput,
  UpdateAccountVerdict,
  UpdateApiKeyInput,
} from './ledger.ts'
import type { OperatorAction } from './operator-actions.ts'
import {
  ACCOUNT_CHANGE,
  type ActionRecord,
  accountSubject,
  CORRECTION,
  CREDIT_MOVE,
  codeSubject,
  fieldsOf,
  KEY_CHANGE,
  keySubject,
} from './rules/action-subject.ts'
import { uncountedPurchases } from './rules/begun-purchases.ts'
import {
  addApiKey,
  addCreditCode,
  createAccount,
  deleteApiKey,
  revokeCreditCode,
  rotateApiKey,
  updateAccount,
  updateApiKey,
} from './rules/change-account.ts'
import { addCredit, lapseCredit, redeemCode } from './rules/credit.ts'
import { uncountedByHold, uncountedChange, uncountedKeys } from './rules/limits.ts'
import { type HoldEnded, openHold, type Terms } from './rules/open-hold.ts'
import {
  type DismissPurchaseInput,
  type DismissVerdict,
  dismissPurchase,
  isDismissed,
  isPosted,
  namePurchase,
  type PostPurchaseInput,
  type PurchaseVerdict,
  postPurchase,
  purchaseSubject,
  RECEIPT_AGAIN,
} from './rules/post-purchase.ts'
import { type RebookInput, type RebookVerdict, type Repeat, rebook } from './rules/rebook.ts'
import {
  abandonHolds,
  abandonInstance,
  correctRequest,
  noteGeneration,
  settleHold,
  settleStanding,
} from './rules/settle-hold.ts'
import {
  type NamedRows,
  nameAccount,
  nameOpenRequest,
  nameRequest,
  type RequestOwner,
  type UnitOfWork,
} from './work.ts'

/** The ledger's row for one kind of command. */
interface Command<Input, Verdict> {
  /** Names the rows that the command works on. By position: the rows, the input, and the owner of its request if known. */
  readonly rows: (named: NamedRows, input: Input, owner: RequestOwner | undefined) => void
  /** Applies the command to loaded rows. Throws if the command or a row is impossible. */
  readonly rule: (work: UnitOfWork, input: Input, terms: Terms) => Verdict
  /** The account whose rows the command locks; absent: none, several, or the store has to look. */
  readonly locks?: (input: Input, owner: RequestOwner | undefined) => string | null
  /**
   * Whether a lost command is run again, which changes nothing if its rows are there. Other commands are repeated by
   * the reconciler, or their request is booked again as a whole. `ofOperators`: only commands of operators are.
   */
  readonly isRunAgain: boolean | 'ofOperators'
  /**
   * Whether the store has the effect of the command, from this command or an earlier one; false also if its rows
   * are missing, which another gateway may still have to book again. Absent: unless the verdict is null.
   */
  readonly isDone?: (verdict: Verdict, input: Input) => boolean
  /** The input with which a command that was done is run again: its caller has the answer. Absent: the same input. */
  readonly kept?: (input: Input) => Input
  /** How a command whose row takes a number is run again; absent: with the same input. */
  readonly again?: Repeat<Input, Verdict>
  /** Whether the command waits a moment for a commit that other commands start. Default false. */
  readonly isIdle?: true
  /** The periods that must be added up before the command is applied; absent: none. */
  readonly uncounted?: (work: UnitOfWork, input: Input, nowMs: number) => readonly Uncounted[]
}

type Recorded<Input, Verdict> = Command<Input, Verdict> & ActionRecord<Input>

const command = <Input, Verdict>(row: Command<Input, Verdict>): Command<Input, Verdict> => row
const recorded = <Input, Verdict>(row: Recorded<Input, Verdict>): Recorded<Input, Verdict> => row

const ROWS = {
  openHold: command<OpenHoldInput, OpenHoldVerdict | HoldEnded>({
    rows(named, input) {
      named.accountIds.add(input.accountId)
      named.apiKeyIds.add(input.apiKeyId)
      named.openedIds.add(input.requestId)
    },
    rule: openHold,
    locks: accountIdOf,
    isRunAgain: false,
    isDone: () => false,
    uncounted: uncountedByHold,
  }),
  /** The verdict is null if no such hold was opened. */
  settle: command<SettleInput, Settled | null>({
    rows(named, { requestId }, owner) {
      nameRequest(named, requestId, owner)
      named.endedIds.add(requestId)
    },
    rule: (work, input, { nowMs }) => settleHold(work, input, nowMs),
    locks: (_, owner) => owner?.accountId ?? null,
    isRunAgain: false,
  }),
  rebook: command<RebookInput, RebookVerdict>({
    rows: (named, { opened: { input } }) => nameOpenRequest(named, input.requestId, input),
    rule: rebook,
    locks: ({ opened }) => opened.input.accountId,
    isRunAgain: false,
    isDone: ({ kind }) => kind === 'rebooked',
    uncounted: (work, { opened }, nowMs) => uncountedByHold(work, opened.input, nowMs),
  }),
  noteGeneration: command<Parameters<HoldLedger['noteGeneration']>[0], null>({
    rows: (named, { requestId }, owner) => nameOpenRequest(named, requestId, owner),
    rule(work, input) {
      noteGeneration(work, input)
      return null
    },
    locks: (_, owner) => owner?.accountId ?? null,
    isRunAgain: false,
    isIdle: true,
  }),
  /** Applies a correction to a provisional or unresolved request. */
  correct: recorded<CorrectInput, Corrected>({
    rows: (named, { requestId }) => nameRequest(named, requestId, undefined),
    rule: (work, input, { nowMs }) => correctRequest(work, input, nowMs),
    isRunAgain: 'ofOperators',
    // An open request must end again.
    isDone: (verdict) => verdict.kind !== 'unknownRequest' && verdict.state !== 'open',
    isIdle: true,
    ...CORRECTION,
  }),
  /** The verdict is that on loaded requests: the store adds those that no command has named. */
  settleStanding: command<SettleStandingInput, number>({
    rows: () => {},
    rule: (work, input, { nowMs }) => settleStanding(work, input, nowMs),
    isRunAgain: false,
    isIdle: true,
  }),
  /**
   * Adds credit to an account, or removes paid credit; a repeat of a reference changes nothing. Rejects with
   * `StoreRefused` for impossible credit, such as zero.
   */
  addCredit: recorded<AddCreditInput, CreditVerdict>({
    rows(named, input) {
      named.accountIds.add(input.accountId)
      named.credits.push(input)
    },
    rule: (work, input, { nowMs }) => addCredit(work, input, nowMs),
    locks: accountIdOf,
    isRunAgain: true,
    isDone: ({ kind }) => kind === 'added' || kind === 'exists',
    ...CREDIT_MOVE,
  }),
  /** Redeems a code for an account. A code can be redeemed once. */
  redeemCode: recorded<RedeemCodeInput, RedeemVerdict>({
    rows(named, input) {
      named.accountIds.add(input.accountId)
      named.looks.push({ of: 'creditCodes', by: 'code_hash', value: input.codeHash })
      named.codes.push(input)
    },
    rule: (work, input, { nowMs }) => redeemCode(work, input, nowMs),
    locks: accountIdOf,
    isRunAgain: true,
    isDone: ({ kind }) => kind === 'redeemed' || kind === 'exists',
    subject: (work, { accountId, codeHash }) => ({
      ...codeSubject(work.creditCodes.get(codeHash)),
      accountId,
    }),
  }),
  /**
   * Brings a purchase, and the credit of its account, to the totals that a look found. A look may be late, or made
   * twice. Rejects with `StoreRefused` for impossible totals.
   */
  postPurchase: recorded<PostPurchaseInput, PurchaseVerdict>({
    rows: namePurchase,
    rule: (work, input, { nowMs }) => postPurchase(work, input, nowMs),
    locks: accountIdOf,
    isRunAgain: true,
    isDone: isPosted,
    again: RECEIPT_AGAIN,
    uncounted: uncountedPurchases,
    subject: (work, { source }) => purchaseSubject(work.purchases.get(source), {}),
  }),
  /** Decides that a held purchase adds no credit. */
  dismissPurchase: recorded<DismissPurchaseInput, DismissVerdict>({
    rows: ({ looks }, { purchaseId: value }) =>
      void looks.push({ of: 'purchases', by: 'id', value }),
    rule: dismissPurchase,
    isRunAgain: true,
    isDone: isDismissed,
    subject: (work, { purchaseId, note }) =>
      purchaseSubject(
        work.purchases.find(({ id }) => id === purchaseId),
        { note },
      ),
  }),
  /** The input is an account. Posts the expiry of free credit that has expired and is not held; true: there was some. */
  lapseCredit: command<string, boolean>({
    rows: ({ accountIds }, accountId) => void accountIds.add(accountId),
    rule: (work, accountId, { nowMs }) => lapseCredit(work, accountId, nowMs),
    locks: (accountId) => accountId,
    isRunAgain: false,
    isIdle: true,
  }),
  /** The input is an instance, and the verdict how many of its holds were made unresolved. */
  abandonInstance: command<string, number>({
    rows: ({ instanceIds }, instanceId) => void instanceIds.add(instanceId),
    rule: (work, instanceId, { nowMs }) => abandonInstance(work, instanceId, nowMs),
    isRunAgain: false,
  }),
  /** The input is ids of requests, and the verdict how many of them were made unresolved. */
  abandonHolds: command<readonly string[], number>({
    rows(named, requestIds) {
      for (const requestId of requestIds) nameOpenRequest(named, requestId, undefined)
    },
    rule: (work, requestIds, { nowMs }) => abandonHolds(work, requestIds, nowMs),
    isRunAgain: false,
  }),
  /** Makes an account without credit; returns the account that already has its external ID, unchanged. */
  createAccount: recorded<CreateAccountInput, AccountRow>({
    rows: nameAccount,
    rule: (work, input, { nowMs }) => createAccount(work, input, nowMs),
    locks: ({ id }) => id,
    isRunAgain: true,
    isDone: (account, { id }) => account.id === id,
    subject: (_, { id, ownerId, ...fields }) =>
      accountSubject(id, { ...fieldsOf(fields), ...(ownerId == null ? {} : { owner: ownerId }) }),
  }),
  /** Changes the given fields of an account. Null if there is no such account. */
  updateAccount: recorded<UpdateAccountInput, UpdateAccountVerdict>({
    rows: nameAccount,
    rule: (work, input, { nowMs }) => updateAccount(work, input, nowMs),
    locks: ({ id }) => id,
    isRunAgain: true,
    isDone: (verdict) => verdict !== 'externalIdTaken',
    uncounted: uncountedChange('account'),
    ...ACCOUNT_CHANGE,
  }),
  /** Makes a key for an account; {@link createApiKey} makes its text. Null if there is no such account. */
  addApiKey: recorded<AddApiKeyInput, AddApiKeyVerdict>({
    rows(named, { accountId, id }) {
      named.accountIds.add(accountId)
      named.apiKeyIds.add(id)
    },
    rule: (work, input, { nowMs }) => addApiKey(work, input, nowMs),
    locks: accountIdOf,
    isRunAgain: true,
    isDone: (verdict) => typeof verdict === 'object',
    uncounted: uncountedKeys,
    kept: ({ keysMax: _, ...input }) => input,
    subject: (work, input) => keySubject(work, { id: input.id, detail: fieldsOf(input) }),
  }),
  /** Changes the given fields of a key. Null if there is no such key, or it was deleted. */
  updateApiKey: recorded<UpdateApiKeyInput, ApiKeyRow | null>({
    rows: ({ apiKeyIds }, { id }) => void apiKeyIds.add(id),
    rule: (work, input, { nowMs }) => updateApiKey(work, input, nowMs),
    isRunAgain: true,
    uncounted: uncountedChange('apiKey'),
    ...KEY_CHANGE,
  }),
  /** Gives a key a new text; {@link rotateApiKey} makes it. Null if there is no such key, or it was deleted. */
  rotateApiKey: recorded<RotateApiKeyInput, ApiKeyRow | null>({
    rows: ({ apiKeyIds }, { id }) => void apiKeyIds.add(id),
    rule: (work, input, { nowMs }) => rotateApiKey(work, input, nowMs),
    isRunAgain: true,
    subject: (work, { id, graceMs }) =>
      keySubject(work, { id, detail: { grace_seconds: Math.round(graceMs / 1_000) } }),
  }),
  /** Deletes a key: it authenticates no request and is in no list. False: it was deleted before; null: no such key. */
  deleteApiKey: recorded<string, boolean | null>({
    rows: ({ apiKeyIds }, apiKeyId) => void apiKeyIds.add(apiKeyId),
    rule: (work, apiKeyId, { nowMs }) => deleteApiKey(work, apiKeyId, nowMs),
    isRunAgain: true,
    subject: (work, id) => keySubject(work, { id, detail: {} }),
  }),
  /** Makes a code that is worth paid credit; {@link createCreditCode} makes its text. */
  addCreditCode: recorded<AddCreditCodeInput, CreditCodeRow>({
    rows: (named, { id: value }) => void named.looks.push({ of: 'creditCodes', by: 'id', value }),
    rule: (work, input, { nowMs }) => addCreditCode(work, input, nowMs),
    isRunAgain: true,
    subject: (work, { id }) => codeSubject(work.creditCodes.find((row) => row.id === id)),
  }),
  /**
   * Revokes a code by its id, unless it was redeemed or revoked before; returns the code after that. Null if
   * there is no such code.
   */
  revokeCreditCode: recorded<string, CreditCodeRow | null>({
    rows: (named, value) => void named.looks.push({ of: 'creditCodes', by: 'id', value }),
    rule: (work, creditCodeId, { nowMs }) => revokeCreditCode(work, creditCodeId, nowMs),
    isRunAgain: true,
    subject: (work, id) => codeSubject(work.creditCodes.find((row) => row.id === id)),
  }),
}

/** Closed: an engine applies commands of these kinds in order and knows no others. */
export type CommandKind = keyof typeof ROWS

/** The kinds of commands that an operator may give. */
export type RecordedKind = {
  [Kind in CommandKind]: (typeof ROWS)[Kind] extends { readonly subject: unknown } ? Kind : never
}[CommandKind]

/** The input of a command of a kind. */
type InputOf<Kind extends CommandKind> = Parameters<(typeof ROWS)[Kind]['rule']>[1]

/** A command of one of some kinds; by default, of any. */
export type LedgerCommand<Kind extends CommandKind = CommandKind> = {
  [Each in Kind]: {
    readonly kind: Each
    readonly input: InputOf<Each>
    /** The operator, who is recorded in the commit of the command; absent or null: no operator gave it. */
    readonly by?: OperatorAction | null
    /** The owner of its request, so that the store need not look; absent: the store looks. */
    readonly owner?: RequestOwner
  }
}[Kind]

/** The verdict on a command of some kinds; by default, of any. */
export type LedgerVerdict<Kind extends CommandKind = CommandKind> = ReturnType<
  (typeof ROWS)[Kind]['rule']
>

/** A command that an operator may give, as a function. Changes by an operator, `by`, are recorded in the same commit. */
export type RecordedCommand<Kind extends RecordedKind> = (
  input: InputOf<Kind>,
  by?: OperatorAction | null,
) => Promise<LedgerVerdict<Kind>>

/** The function of each command that an operator can give. */
export type RecordedCommands = { readonly [Kind in RecordedKind]: RecordedCommand<Kind> }

/** The whole ledger: holds, corrections, and the commands of admins. */
export type Ledger = HoldLedger &
  RecordedCommands & {
    /**
     * Ends the wait of provisional requests whose reported cost needs no look-up: they become final, or are looked up
     * after all. Other requests are unchanged. Returns how many have changed.
     */
    settleStanding(input: SettleStandingInput): Promise<number>
    /** Makes every open hold of a dead instance unresolved; returns how many. */
    abandonInstance(instanceId: string): Promise<number>
    /** Makes these holds unresolved, except those that are not open; returns how many. */
    abandonHolds(requestIds: readonly string[]): Promise<number>
  }

/** The ledger for callers that must name the operator who gives a command, or null for none. */
export type CommandedLedger = {
  readonly [Kind in RecordedKind]: (
    input: InputOf<Kind>,
    by: OperatorAction | null,
  ) => Promise<LedgerVerdict<Kind>>
}

/** A row for each kind of command. */
export type CommandTable = {
  readonly [Kind in CommandKind]: Command<InputOf<Kind>, LedgerVerdict<Kind>> &
    Partial<ActionRecord<InputOf<Kind>>>
}

/** The table of commands, typed for code that handles every kind in the same way. */
export const COMMANDS: CommandTable = ROWS

function accountIdOf({ accountId }: { readonly accountId: string }): string {
  return accountId
}
