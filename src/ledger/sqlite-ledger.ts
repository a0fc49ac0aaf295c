import { GroupCommit } from '../store/group-commit.ts'
import type { SqliteConnectionInput } from '../store/sqlite-connection.ts'
import { StoreThread } from '../store/store-thread.ts'
import { StoreRefused, StoreUnavailable } from '../store/store-unavailable.ts'
import { type Clock, systemClock } from '../vocabulary/clock.ts'
import type { RequestFacts } from '../vocabulary/resolution.ts'
import { type LedgerCommand, type LedgerVerdict, rankOfCommand } from './commands.ts'
import {
  type AddCreditInput,
  type Corrected,
  type CorrectInput,
  type CreditVerdict,
  LEDGER_LIMITS_DEFAULT,
  type Ledger,
  type LedgerBooks,
  type LedgerLimits,
  type OpenHoldInput,
  type OpenHoldVerdict,
  type RedeemCodeInput,
  type RedeemVerdict,
  type Settled,
  type SettleInput,
} from './ledger.ts'
import type { WriterJob } from './sqlite-writer.ts'
import { UnsureHolds } from './unsure-holds.ts'

export interface SqliteLedgerInput {
  /** The store's file, whose tables are there: `openStore` has opened it. */
  readonly file: string
  /** Default the system's. */
  readonly clock?: Clock
  /** Default SPEC's. */
  readonly limits?: LedgerLimits
  /** The most commands that share a commit. Default 256. */
  readonly batchCommandsMax?: number
  /** How long a commit waits for another process's write. Default 5,000. */
  readonly busyTimeoutMs?: number
  /** How long until an unsure hold is asked about again. Default 250. */
  readonly unsureRetryMs?: number
}

const BATCH_COMMANDS_MAX_DEFAULT = 256
const UNSURE_RETRY_MS_DEFAULT = 250

const UNSURE_FACTS: RequestFacts = {
  httpStatus: 503,
  errorCode: 'service_unavailable',
  usage: null,
  generationId: null,
  firstByteAtMs: null,
}

/**
 * The ledger in a SQLite store. Commands share commits; a thread of its own applies and commits them.
 * A failure of the store fails the commands of that commit (`StoreUnavailable`), and the next commit
 * tries again.
 */
export class SqliteLedger implements Ledger, LedgerBooks {
  readonly #thread: StoreThread<WriterJob, readonly LedgerVerdict[]>
  readonly #commits: GroupCommit<LedgerCommand, LedgerVerdict>
  readonly #unsure: UnsureHolds

  constructor(input: SqliteLedgerInput) {
    const clock = input.clock ?? systemClock
    const limits = input.limits ?? LEDGER_LIMITS_DEFAULT
    const connection: SqliteConnectionInput = {
      file: input.file,
      ...(input.busyTimeoutMs === undefined ? {} : { busyTimeoutMs: input.busyTimeoutMs }),
    }
    this.#thread = new StoreThread({
      entry: new URL('./sqlite-writer.ts', import.meta.url),
      startWith: connection,
    })
    this.#commits = new GroupCommit({
      commit: (commands) =>
        this.#thread.call({ commands, terms: { nowMs: clock.nowMs(), limits } }),
      rank: rankOfCommand,
      batchCommandsMax: input.batchCommandsMax ?? BATCH_COMMANDS_MAX_DEFAULT,
    })
    this.#unsure = new UnsureHolds({
      retryMs: input.unsureRetryMs ?? UNSURE_RETRY_MS_DEFAULT,
      release: (requestId) => this.#releaseUnsure(requestId),
    })
  }

  /**
   * As the interface says. Where the commit's answer is lost, the hold is released, if it is there, as
   * soon as the store answers again: nothing may be forwarded on it. A repeat of a hold that has ended
   * rejects with `StoreRefused`.
   */
  async openHold(input: OpenHoldInput): Promise<OpenHoldVerdict> {
    const verdict = await this.#openOrRelease(input)
    if (verdict.of !== 'openHold') throw unexpected(verdict)
    if (verdict.verdict.kind !== 'ended') return verdict.verdict
    throw new StoreRefused(`the hold of ${input.requestId} was ${verdict.verdict.state} before`)
  }

  async settle(input: SettleInput): Promise<Settled> {
    const verdict = await this.#commits.submit({ kind: 'settle', input })
    if (verdict.of !== 'settle') throw unexpected(verdict)
    if (verdict.settled !== null) return verdict.settled
    throw new StoreRefused(`no hold of ${input.requestId} was opened`)
  }

  noteGeneration(input: { readonly requestId: string; readonly generationId: string }): void {
    // Only a crash needs it: where the store is away, the settle carries the same id.
    this.#commits.submit({ kind: 'noteGeneration', ...input }).catch(() => {})
  }

  async correct(input: CorrectInput): Promise<Corrected> {
    const verdict = await this.#commits.submit({ kind: 'correct', input })
    if (verdict.of !== 'correct') throw unexpected(verdict)
    return verdict.corrected
  }

  /** As the interface says. Rejects with `StoreRefused` for credit that can't be, such as of zero. */
  async addCredit(input: AddCreditInput): Promise<CreditVerdict> {
    const verdict = await this.#commits.submit({ kind: 'addCredit', input })
    if (verdict.of !== 'addCredit') throw unexpected(verdict)
    return verdict.verdict
  }

  async redeemCode(input: RedeemCodeInput): Promise<RedeemVerdict> {
    const verdict = await this.#commits.submit({ kind: 'redeemCode', input })
    if (verdict.of !== 'redeemCode') throw unexpected(verdict)
    return verdict.verdict
  }

  async sweepInstance(instanceId: string): Promise<number> {
    const verdict = await this.#commits.submit({ kind: 'sweepInstance', instanceId })
    if (verdict.of !== 'sweepInstance') throw unexpected(verdict)
    return verdict.swept
  }

  /** Resolves once no hold is unsure: each was released or was never there. */
  sure(): Promise<void> {
    return this.#unsure.settled()
  }

  /** Takes no more commands, commits those taken, and closes the writer's connection. */
  async close(): Promise<void> {
    this.#unsure.close()
    await this.#commits.close()
    await this.#thread.close()
  }

  async #openOrRelease(input: OpenHoldInput): Promise<LedgerVerdict> {
    try {
      return await this.#commits.submit({ kind: 'openHold', input })
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#unsure.add(input.requestId)
      throw error
    }
  }

  async #releaseUnsure(requestId: string): Promise<void> {
    try {
      await this.#commits.submit({
        kind: 'settle',
        input: { requestId, resolution: { kind: 'released' }, facts: UNSURE_FACTS },
      })
    } catch (error) {
      // A refusal is an answer too: asking again would not change it.
      if (!(error instanceof StoreRefused)) throw error
    }
  }
}

function unexpected(verdict: LedgerVerdict): Error {
  return new TypeError(`the ledger answered another command: ${verdict.of}`)
}
