import type { CommandKind, LedgerCommand, LedgerVerdict } from '../engines/commands.ts'
import { addCredit, redeemCode } from './credit.ts'
import {
  addApiKey,
  addCreditCode,
  createAccount,
  deleteApiKey,
  revokeCreditCode,
  updateAccount,
  updateApiKey,
} from './administer.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import { openHold, type Terms } from './open-hold.ts'
import {
  correctRequest,
  noteGeneration,
  settleHold,
  abandonHolds,
  abandonInstance,
} from './settle-hold.ts'

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
  noteGeneration(work, command) {
    noteGeneration(work, command)
    return null
  },
  correct: (work, { input }, { nowMs }) => correctRequest(work, input, nowMs),
  addCredit: (work, { input }, { nowMs }) => addCredit(work, input, nowMs),
  redeemCode: (work, { input }, { nowMs }) => redeemCode(work, input, nowMs),
  abandonInstance: (work, { instanceId }, { nowMs }) => abandonInstance(work, instanceId, nowMs),
  abandonHolds: (work, { requestIds }, { nowMs }) => abandonHolds(work, requestIds, nowMs),
  createAccount: (work, { input }, { nowMs }) => createAccount(work, input, nowMs),
  updateAccount: (work, { input }) => updateAccount(work, input),
  addApiKey: (work, { input }, { nowMs }) => addApiKey(work, input, nowMs),
  updateApiKey: (work, { input }) => updateApiKey(work, input),
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
  return rule(work, command, terms)
}
