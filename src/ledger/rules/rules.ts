import { assertNever } from '../../vocabulary/assert-never.ts'
import type { LedgerCommand, LedgerVerdict } from '../engines/commands.ts'
import { addCredit } from './add-credit.ts'
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

/**
 * The rule book: what a command does to the books, whichever store they are in. The store has loaded
 * the rows that the command names; it saves what `book.changes()` says. Throws where the command or a
 * row is impossible, and then nothing of the book may be saved.
 */
export function applyCommand(book: Book, command: LedgerCommand, terms: Terms): LedgerVerdict {
  const { nowMs } = terms
  switch (command.kind) {
    case 'openHold':
      return { of: 'openHold', verdict: openHold(book, command.input, terms) }
    case 'settle':
      return { of: 'settle', settled: settleHold(book, command.input, nowMs) }
    case 'noteGeneration':
      noteGeneration(book, command)
      return { of: 'noteGeneration' }
    case 'correct':
      return { of: 'correct', corrected: correctRequest(book, command.input, nowMs) }
    case 'addCredit':
      return { of: 'addCredit', verdict: addCredit(book, command.input, nowMs) }
    case 'redeemCode':
      return { of: 'redeemCode', verdict: redeemCode(book, command.input, nowMs) }
    case 'sweepInstance':
      return { of: 'sweepInstance', swept: sweepInstance(book, command.instanceId, nowMs) }
    case 'sweepHolds':
      return { of: 'sweepHolds', swept: sweepHolds(book, command.requestIds, nowMs) }
    default:
      return assertNever(command)
  }
}
