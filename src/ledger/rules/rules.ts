import {
  ACCOUNTS,
  type AccountRow,
  API_KEYS,
  type ApiKeyRow,
  CREDIT_CODES,
  type CreditCodeRow,
} from '../../store/schema.ts'
import { EMPTY_WINDOW } from '../../vocabulary/request-window.ts'
import type { CommandKind, LedgerCommand, LedgerVerdict } from '../engines/commands.ts'
import type {
  AddApiKeyInput,
  AddCreditCodeInput,
  CreateAccountInput,
  OwnLimits,
  UpdateAccountInput,
  UpdateAccountVerdict,
  UpdateApiKeyInput,
} from '../ledger.ts'
import { operatorActionRow } from '../operator-actions.ts'
import { subjectOf } from './action-subject.ts'
import { firstPeriod, periodUnder } from './allowance.ts'
import { addCredit, redeemCode } from './credit.ts'
import { openHold, type Terms } from './open-hold.ts'
import { dismissPurchase, postPurchase } from './post-purchase.ts'
import { rebook } from './rebook.ts'
import {
  abandonHolds,
  abandonInstance,
  correctRequest,
  noteGeneration,
  settleHold,
  settleStanding,
} from './settle-hold.ts'
import type { UnitOfWork } from './unit-of-work.ts'

type Rules = {
  readonly [Kind in CommandKind]: (
    work: UnitOfWork,
    command: LedgerCommand<Kind>,
    terms: Terms,
  ) => LedgerVerdict<Kind>
}

const RULES: Rules = {
  openHold: (work, { input }, terms) => openHold(work, input, terms),
  settle: (work, { input }, { nowMs }) => settleHold(work, input, nowMs),
  rebook: (work, { input }, terms) => rebook(work, input, terms),
  noteGeneration(work, command) {
    noteGeneration(work, command)
    return null
  },
  correct: (work, { input }, { nowMs }) => correctRequest(work, input, nowMs),
  settleStanding: (work, { input }, { nowMs }) => settleStanding(work, input, nowMs),
  addCredit: (work, { input }, { nowMs }) => addCredit(work, input, nowMs),
  redeemCode: (work, { input }, { nowMs }) => redeemCode(work, input, nowMs),
  postPurchase: (work, { input }, { nowMs }) => postPurchase(work, input, nowMs),
  dismissPurchase: (work, { input }) => dismissPurchase(work, input),
  abandonInstance: (work, { instanceId }, { nowMs }) => abandonInstance(work, instanceId, nowMs),
  abandonHolds: (work, { requestIds }, { nowMs }) => abandonHolds(work, requestIds, nowMs),
  createAccount: (work, { input }, { nowMs }) => createAccount(work, input, nowMs),
  updateAccount: (work, { input }, { nowMs }) => updateAccount(work, input, nowMs),
  addApiKey: (work, { input }, { nowMs }) => addApiKey(work, input, nowMs),
  updateApiKey: (work, { input }, { nowMs }) => updateApiKey(work, input, nowMs),
  deleteApiKey: (work, { apiKeyId }, { nowMs }) => deleteApiKey(work, apiKeyId, nowMs),
  addCreditCode: (work, { input }, { nowMs }) => addCreditCode(work, input, nowMs),
  revokeCreditCode: (work, { creditCodeId }, { nowMs }) =>
    revokeCreditCode(work, creditCodeId, nowMs),
}

/**
 * Applies a command to the unit of work, whichever store its rows are in. The store has loaded
 * the rows that the command names; it saves what `work.changes()` says. Throws where the command or a
 * row is impossible, and then nothing of the unit of work may be saved.
 */
export function applyCommand<Kind extends CommandKind>(
  work: UnitOfWork,
  command: LedgerCommand<Kind>,
  terms: Terms,
): LedgerVerdict<Kind> {
  const rule: Rules[Kind] = RULES[command.kind]
  const writesBefore = work.writes
  const verdict = rule(work, command, terms)
  // A command of some kind is a command.
  if (work.writes > writesBefore) recordOperator(work, command as LedgerCommand, terms)
  return verdict
}

/** What an operator changes is recorded beside the change; a command that changes nothing leaves no record. */
function recordOperator(work: UnitOfWork, command: LedgerCommand, { nowMs }: Terms): void {
  if (!('by' in command) || command.by == null) return
  work.addOperatorAction(operatorActionRow(command.by, { ...subjectOf(work, command), nowMs }))
}

/** Makes an account without credit, and its owner a member; another account that has its external id is left as it is. */
function createAccount(
  work: UnitOfWork,
  { ownerId = null, ...input }: CreateAccountInput,
  nowMs: number,
): AccountRow {
  const earlier = work.account(input.id) ?? work.accountOfExternalId(input.externalId)
  if (earlier !== undefined) return earlier
  const period = firstPeriod(input.allowance, nowMs)
  const account = work.writeAccount({ ...ACCOUNTS.start, ...input, period, createdAtMs: nowMs })
  if (ownerId !== null) {
    work.addMember({ accountId: input.id, userId: ownerId, role: 'owner', createdAtMs: nowMs })
  }
  return account
}

/** Changes the given fields of an account, unless another one has its new external id. Null where there is no such account. */
function updateAccount(
  work: UnitOfWork,
  change: UpdateAccountInput,
  nowMs: number,
): UpdateAccountVerdict {
  const account = work.account(change.id)
  if (account === undefined) return null
  const owner = work.accountOfExternalId(change.externalId)
  if (owner !== undefined && owner.id !== account.id) return 'externalIdTaken'
  return work.writeAccount({
    ...account,
    ...change,
    ...suspensionAfter(account, { change, nowMs }),
    ...countsUnder(work, account, { change, nowMs }),
  })
}

/** Since when an account is disabled, and the note for its members, which ends with it. */
function suspensionAfter(
  { disabled, disabledAtMs, disabledNote }: AccountRow,
  { change, nowMs }: { readonly change: UpdateAccountInput; readonly nowMs: number },
): Pick<AccountRow, 'disabledAtMs' | 'disabledNote'> {
  if (!(change.disabled ?? disabled)) return { disabledAtMs: null, disabledNote: null }
  const { disabledNote: note = disabledNote } = change
  return { disabledAtMs: disabled ? disabledAtMs : nowMs, disabledNote: note }
}

/** What counts against limits once they are changed. A window of tokens ends with its limit. */
function countsUnder<Row extends AccountRow | ApiKeyRow>(
  work: UnitOfWork,
  row: Row,
  {
    change: { allowance, tokensPerMinuteMax },
    nowMs,
  }: { readonly change: Partial<OwnLimits>; readonly nowMs: number },
): Partial<Pick<Row, 'period' | 'tokenWindow'>> {
  return {
    ...(allowance === undefined
      ? {}
      : { period: periodUnder(work, { row, to: allowance, nowMs }) }),
    ...(tokensPerMinuteMax === null ? { tokenWindow: EMPTY_WINDOW } : {}),
  }
}

/** Makes a key. Null where there is no such account. */
function addApiKey(work: UnitOfWork, input: AddApiKeyInput, nowMs: number): ApiKeyRow | null {
  if (work.account(input.accountId) === undefined) return null
  const earlier = work.apiKey(input.id)
  if (earlier !== undefined) return earlier
  const period = firstPeriod(input.allowance, nowMs)
  return work.writeApiKey({ ...API_KEYS.start, ...input, period, createdAtMs: nowMs })
}

/** Changes the given fields of a key. Null where there is no such key, or it was deleted. */
function updateApiKey(
  work: UnitOfWork,
  change: UpdateApiKeyInput,
  nowMs: number,
): ApiKeyRow | null {
  const apiKey = work.apiKey(change.id)
  if (apiKey === undefined || apiKey.deletedAtMs !== null) return null
  return work.writeApiKey({ ...apiKey, ...change, ...countsUnder(work, apiKey, { change, nowMs }) })
}

/** Deletes a key. False where there is no such key, or it was deleted before. */
function deleteApiKey(work: UnitOfWork, apiKeyId: string, nowMs: number): boolean {
  const apiKey = work.apiKey(apiKeyId)
  if (apiKey === undefined || apiKey.deletedAtMs !== null) return false
  work.writeApiKey({ ...apiKey, deletedAtMs: nowMs })
  return true
}

/** Makes a code. */
function addCreditCode(work: UnitOfWork, input: AddCreditCodeInput, nowMs: number): CreditCodeRow {
  const earlier = work.creditCodeOfId(input.id)
  if (earlier !== undefined) return earlier
  return work.writeCreditCode({ ...CREDIT_CODES.start, ...input, createdAtMs: nowMs })
}

/** Makes a code worth nothing, unless it was redeemed or revoked. Null where there is no such code. */
function revokeCreditCode(
  work: UnitOfWork,
  creditCodeId: string,
  nowMs: number,
): CreditCodeRow | null {
  const code = work.creditCodeOfId(creditCodeId)
  if (code === undefined) return null
  if (code.redeemedAtMs !== null || code.revokedAtMs !== null) return code
  return work.writeCreditCode({ ...code, revokedAtMs: nowMs })
}
