import type { MessagePort } from 'node:worker_threads'
import { AttachedThread } from '../../store/threads/attached-thread.ts'
import { type Clock, systemClock } from '../../vocabulary/clock.ts'
import { LEDGER_LIMITS_DEFAULT, type LedgerLimits } from '../ledger.ts'
import { BatchedLedger, type BatchSettings } from './batched-ledger.ts'
import type { LedgerVerdict } from './commands.ts'
import type { WriterJob } from './sqlite-writer.ts'

export interface AttachedLedgerInput extends BatchSettings {
  /** Default the system's. */
  readonly clock?: Clock
  /** Default SPEC's. */
  readonly limits?: LedgerLimits
}

/**
 * The ledger of a thread beside others on a SQLite store: all of them write by the one writer thread of
 * a `SqliteLedger`, so that what is exact for one of them is exact for all.
 */
export class AttachedLedger extends BatchedLedger {
  readonly #thread: AttachedThread<WriterJob, readonly LedgerVerdict[]>

  constructor(input: AttachedLedgerInput) {
    const clock = input.clock ?? systemClock
    const limits = input.limits ?? LEDGER_LIMITS_DEFAULT
    const thread = new AttachedThread<WriterJob, readonly LedgerVerdict[]>()
    super({
      ...input,
      commit: (commands) => thread.call({ commands, terms: { nowMs: clock.nowMs(), limits } }),
      closeStore: async () => thread.close(),
    })
    this.#thread = thread
  }

  /** Writes by this port from now on: of an `Attachment`. */
  attach(port: MessagePort): void {
    this.#thread.attach(port)
  }
}
