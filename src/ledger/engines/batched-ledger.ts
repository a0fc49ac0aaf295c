import { setTimeout as delay } from 'node:timers/promises'
import { type CommitPatience, GroupCommit } from '../../store/group-commit.ts'
import {
  CommandImpossible,
  isAway,
  NotSent,
  StoreRefused,
  StoreUnavailable,
} from '../../store/store-failure.ts'
import type { RequestFacts } from '../../vocabulary/outcome.ts'
import { accountOfCommand, isIdle, recordedCommands } from '../apply-command.ts'
import type { CommandKind, LedgerCommand, LedgerVerdict, RecordedCommands } from '../commands.ts'
import type {
  HoldLedger,
  OpenHoldInput,
  OpenHoldVerdict,
  Settled,
  SettleInput,
  SettleStandingInput,
} from '../ledger.ts'
import type { RequestOwner } from '../work.ts'
import { type UnsureHold, UnsureHolds } from './unsure-holds.ts'

/** The tuning of a ledger, on any engine. */
export interface BatchSettings {
  /** The most commands that share a commit. Default 256. */
  readonly batchCommandsMax?: number
  /** The longest that a correction or a note waits for a commit that happens anyway. Default 20. */
  readonly idleDelayMs?: number
  /** Resolves after this many milliseconds. Default: a timer. */
  readonly delay?: (delayMs: number) => Promise<unknown>
  /** How long until the store is asked again about an unsure hold. Default 250. */
  readonly unsureRetryMs?: number
  /** Called with the result of each commit. Must not throw. */
  readonly onCommit?: (report: CommitReport) => void
}

/** The result of a commit. */
export interface CommittedBatch {
  /** The verdict on each command, in the order of the commands. */
  readonly verdicts: readonly LedgerVerdict[]
  /** Whether rows were written. A commit without any succeeds even if the store takes no writes. */
  readonly hasWritten: boolean
}

/** The part of a ledger that differs by the kind of store: it commits batches of commands. */
export interface LedgerEngine {
  /**
   * Commits all commands, in this order, or none. Rejects with `StoreUnavailable` if the store failed (then
   * the commit may or may not have happened), with `NotSent` if nothing was sent, with `RowsLocked` if some of their
   * rows stayed locked, and with any other `NotDone` or error if a command failed.
   */
  commit(commands: readonly LedgerCommand[], patience: CommitPatience): Promise<CommittedBatch>
  /** Resolves the commits whose results have arrived. Left out: only the event loop delivers them. */
  takeVerdicts?(): void
  /** Closes the engine after the last `commit`. */
  close(): Promise<void>
}

const IDLE_DELAY_MS_DEFAULT = 20

// With many requests in flight, commits are a few milliseconds apart, so that more commands share each. Separate
// commits took a tenth of the CPU of 1,000 streams at 20 events a second.
const BUSY_HOLDS_MIN = 64
const BUSY_APART_MS = 5

const BATCH_COMMANDS_MAX_DEFAULT = 256
const UNSURE_RETRY_MS_DEFAULT = 250

const UNSURE_FACTS: RequestFacts = {
  httpStatus: 503,
  errorCode: 'service_unavailable',
  usage: null,
  generationId: null,
  firstByteAtMs: null,
}

/** The ledger in any kind of store, which gathers commands into shared commits. */
export type BatchedLedger = Batches & RecordedCommands

/** Makes a ledger that commits its batches with this engine. */
export function batchedLedger(
  input: BatchSettings & { readonly engine: LedgerEngine },
): BatchedLedger {
  const batches = new Batches(input)
  return Object.assign(
    batches,
    recordedCommands((given) => batches.submit(given)),
  )
}

/**
 * The commands of holds, and how any command gets its commit. Commands that arrive during a commit, or too soon after
 * one while many requests are in flight, share the next commit. If the store fails, the commands of that
 * commit fail (`StoreUnavailable`), and the next commit tries again.
 */
class Batches implements HoldLedger {
  readonly #engine: LedgerEngine
  readonly #commits: GroupCommit<LedgerCommand, LedgerVerdict>
  readonly #unsure: UnsureHolds
  /** Holds that were opened here and are not settled or abandoned yet. */
  readonly #open = new Set<string>()
  /** The owners of the holds that were opened here, until their settle is durable or they are abandoned. */
  readonly #owners = new Map<string, RequestOwner>()

  constructor(input: BatchSettings & { readonly engine: LedgerEngine }) {
    const { engine, onCommit = () => {} } = input
    this.#engine = engine
    this.#commits = new GroupCommit({
      commit: timedCommit((commands, patience) => engine.commit(commands, patience), onCommit),
      rank: rankOfCommand,
      isAlone: mayAddUp,
      isAwaited: ({ kind }) => kind === 'openHold',
      ownerOf: accountOfCommand,
      batchCommandsMax: input.batchCommandsMax ?? BATCH_COMMANDS_MAX_DEFAULT,
      idleDelayMs: input.idleDelayMs ?? IDLE_DELAY_MS_DEFAULT,
      apartMs: () => (this.#open.size < BUSY_HOLDS_MIN ? 0 : BUSY_APART_MS),
      delay: input.delay ?? delay,
      elapsedMs: () => performance.now(),
    })
    this.#unsure = new UnsureHolds({
      retryMs: input.unsureRetryMs ?? UNSURE_RETRY_MS_DEFAULT,
      release: (hold) => this.#release(hold),
    })
  }

  /**
   * Opens a hold as {@link HoldLedger} says. If it is unknown whether the commit happened, the hold is released as soon
   * as the store is back: nothing may be forwarded on it. A hold that has ended before its opening was answered rejects with
   * `NotSent`.
   */
  async openHold(input: OpenHoldInput): Promise<OpenHoldVerdict> {
    const verdict = await this.#openOrRelease(input)
    if (verdict.kind === 'opened') this.#opened(input)
    if (verdict.kind !== 'ended') return verdict
    // Another gateway took this one for dead, as after the process stood still, and released the hold while it was unknown
    // whether it had been opened.
    throw new NotSent(
      `the hold of ${input.requestId} was ${verdict.state} before it was known to be open`,
    )
  }

  /** Resolves the commands of a commit whose result has arrived, before the event loop delivers it. */
  takeVerdicts(): void {
    this.#engine.takeVerdicts?.()
  }

  async settle(input: SettleInput): Promise<Settled> {
    const { requestId } = input
    this.#open.delete(requestId)
    const settled = await this.submit({ kind: 'settle', input, ...this.#ownerOf(requestId) })
    this.#owners.delete(requestId)
    if (settled !== null) return settled
    throw new CommandImpossible(`no hold of ${requestId} was opened`)
  }

  async abandon(requestId: string): Promise<void> {
    await this.abandonHolds([requestId])
  }

  noteGeneration(input: { readonly requestId: string; readonly generationId: string }): void {
    // Needed only after a crash: if the store is down, the settle names the same id.
    const owner = this.#ownerOf(input.requestId)
    this.submit({ kind: 'noteGeneration', input, ...owner }).catch(() => {})
  }

  settleStanding(input: SettleStandingInput): Promise<number> {
    return this.submit({ kind: 'settleStanding', input })
  }

  /** Repeats the command until no hold is left: an engine abandons a limited number of holds in a commit. */
  async abandonInstance(instanceId: string): Promise<number> {
    let abandoned = 0
    for (;;) {
      const more = await this.submit({ kind: 'abandonInstance', input: instanceId })
      if (more === 0) return abandoned
      abandoned += more
    }
  }

  abandonHolds(requestIds: readonly string[]): Promise<number> {
    for (const requestId of requestIds) {
      this.#open.delete(requestId)
      this.#owners.delete(requestId)
    }
    return this.submit({ kind: 'abandonHolds', input: requestIds })
  }

  /** Commits a command, and resolves with the verdict on it. Rejects as {@link LedgerEngine} says. */
  async submit<Kind extends CommandKind>(given: LedgerCommand<Kind>): Promise<LedgerVerdict<Kind>> {
    // TypeScript does not see that a command of one generic kind is one of the union.
    const command = given as LedgerCommand
    const verdict = isIdle(given.kind)
      ? this.#commits.submitIdly(command)
      : this.#commits.submit(command)
    // A commit answers each command at its position, with the verdict of its rule.
    return (await verdict) as LedgerVerdict<Kind>
  }

  /** Releases a hold if the store has it, however long the store takes. Nothing may run on it. */
  releaseUnsure({ requestId, accountId, apiKeyId }: UnsureHold): void {
    this.#open.delete(requestId)
    this.#unsure.add({ requestId, accountId, apiKeyId })
  }

  /** Whether the release of a hold, if the store has it, is still pending. */
  isUnsure(requestId: string): boolean {
    return this.#unsure.has(requestId)
  }

  /** Resolves once no hold is unsure: each was released or never existed. */
  sure(): Promise<void> {
    return this.#unsure.settled()
  }

  /** Takes no more commands, commits those taken, and closes the engine. */
  async close(): Promise<void> {
    this.#unsure.close()
    await this.#commits.close()
    await this.#engine.close()
  }

  async #openOrRelease(input: OpenHoldInput): Promise<LedgerVerdict<'openHold'>> {
    try {
      return await this.submit({ kind: 'openHold', input })
    } catch (error) {
      const isUnsure = error instanceof StoreUnavailable && !(error instanceof NotSent)
      if (isUnsure) this.releaseUnsure(input)
      throw error
    }
  }

  #opened({ requestId, accountId, apiKeyId }: OpenHoldInput): void {
    this.#open.add(requestId)
    this.#owners.set(requestId, { accountId, apiKeyId })
  }

  #ownerOf(requestId: string): { readonly owner?: RequestOwner } {
    const owner = this.#owners.get(requestId)
    return owner === undefined ? {} : { owner }
  }

  async #release({ requestId, ...owner }: UnsureHold): Promise<void> {
    try {
      await this.submit({
        kind: 'settle',
        input: { requestId, resolution: { kind: 'released' }, facts: UNSURE_FACTS },
        owner,
      })
      this.#owners.delete(requestId)
    } catch (error) {
      // Trying again would not change a refusal by the store.
      if (!(error instanceof StoreRefused)) throw error
    }
  }
}

/**
 * Lower ranks are applied first within a batch. Holds open last, so that settles and credit of the same
 * batch make room for them.
 */
function rankOfCommand({ kind }: LedgerCommand): number {
  return kind === 'openHold' ? 1 : 0
}

/** Whether a command may add up the requests of a period, which takes long for a payer with many requests. */
function mayAddUp(given: LedgerCommand): boolean {
  const isChange = given.kind === 'updateAccount' || given.kind === 'updateApiKey'
  return isChange && given.input.allowance != null
}

/** The facts about one commit that metrics and readiness are made from. */
export interface CommitReport {
  readonly commands: number
  readonly durationMs: number
  /**
   * `unwritten`: it succeeded without anything to write, which does not show that the store takes writes. `refused`:
   * the store works, but a command of the batch failed, met rows that stayed locked or needed a right that is missing.
   */
  readonly outcome: 'committed' | 'unwritten' | 'refused' | 'unavailable'
  /** The error of the store if it was unavailable; else null. */
  readonly failure: StoreUnavailable | null
}

/** Reports the result of each commit to `onCommit`, which must not throw, and returns the verdicts. */
export function timedCommit(
  commit: LedgerEngine['commit'],
  onCommit: (report: CommitReport) => void,
): (
  commands: readonly LedgerCommand[],
  patience: CommitPatience,
) => Promise<readonly LedgerVerdict[]> {
  return async (commands, patience) => {
    const startedAtMs = performance.now()
    const tell = (outcome: CommitReport['outcome'], failure: StoreUnavailable | null): void => {
      const durationMs = performance.now() - startedAtMs
      onCommit({ commands: commands.length, durationMs, outcome, failure })
    }
    try {
      const { verdicts, hasWritten } = await commit(commands, patience)
      tell(hasWritten ? 'committed' : 'unwritten', null)
      return verdicts
    } catch (error) {
      if (isAway(error)) tell('unavailable', error)
      else tell('refused', null)
      throw error
    }
  }
}
