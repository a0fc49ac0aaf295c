import type { CommandKind, LedgerCommand, LedgerVerdict } from '../engines/commands.ts'
import { addCredit } from './add-credit.ts'
import {
  addApiKey,
  addCreditCode,
  createAccount,
  deleteApiKey,
  revokeCreditCode,
  updateAccount,
  updateApiKey,
} from './administer.ts'
import type { Book } from './book.ts'
import { openHold, type Terms } from './open-hold.ts'
import { redeemCode } from './redeem-code.ts'
import {
  correctRequest,
  noteGeneration,
  settleHold,
  sweepHolds,
  sweepInstance,
} from './settle-hold.ts'

type Rules = {
  readonly [Kind in CommandKind]: (
    book: Book,
    command: LedgerCommand<Kind>,
    terms: Terms,
  ) => LedgerVerdict<Kind>
}

const RULES: Rules = {
  openHold: (book, { input }, terms) => openHold(book, input, terms),
  settle: (book, { input }, { nowMs }) => settleHold(book, input, nowMs),
  noteGeneration(book, command) {
    noteGeneration(book, command)
    return null
  },
  correct: (book, { input }, { nowMs }) => correctRequest(book, input, nowMs),
  addCredit: (book, { input }, { nowMs }) => addCredit(book, input, nowMs),
  redeemCode: (book, { input }, { nowMs }) => redeemCode(book, input, nowMs),
  sweepInstance: (book, { instanceId }, { nowMs }) => sweepInstance(book, instanceId, nowMs),
  sweepHolds: (book, { requestIds }, { nowMs }) => sweepHolds(book, requestIds, nowMs),
  createAccount: (book, { input }, { nowMs }) => createAccount(book, input, nowMs),
  updateAccount: (book, { input }) => updateAccount(book, input),
  addApiKey: (book, { input }, { nowMs }) => addApiKey(book, input, nowMs),
  updateApiKey: (book, { input }) => updateApiKey(book, input),
  deleteApiKey: (book, { apiKeyId }, { nowMs }) => deleteApiKey(book, apiKeyId, nowMs),
  addCreditCode: (book, { input }, { nowMs }) => addCreditCode(book, input, nowMs),
  revokeCreditCode: (book, { creditCodeId }, { nowMs }) =>
    revokeCreditCode(book, creditCodeId, nowMs),
}

/**
 * The rule book: what a command does to the books, whichever store they are in. The store has loaded
 * the rows that the command names; it saves what `book.changes()` says. Throws where the command or a
 * row is impossible, and then nothing of the book may be saved.
 */
export function applyCommand<Kind extends CommandKind>(
  book: Book,
  command: LedgerCommand<Kind>,
  terms: Terms,
): LedgerVerdict<Kind> {
  const rule: Rules[Kind] = RULES[command.kind]
  return rule(book, command, terms)
}
