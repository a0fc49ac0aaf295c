import type { CommitPatience } from '../../store/group-commit.ts'
import {
  type PostgresWriterInput,
  PostgresWriters,
} from '../../store/postgres/postgres-connection.ts'
import {
  isCancelled,
  isLostRace,
  isRowLocked,
  keepsConnection,
  postgresFailure,
} from '../../store/postgres/postgres-failure.ts'
import { endConnection } from '../../store/postgres/postgres-servers.ts'
import {
  CommandImpossible,
  NotDone,
  NotSent,
  RowsLocked,
  StoreRefused,
  StoreUnavailable,
  storeFaultOf,
} from '../../store/store-failure.ts'
import { messageOf } from '../../vocabulary/message-of.ts'
import { applyCommand, uncountedBy, verdictOn } from '../apply-command.ts'
import type { LedgerCommand, LedgerVerdict } from '../commands.ts'
import type { Uncounted } from '../counts.ts'
import type { LedgerLimits } from '../ledger.ts'
import { UnitOfWork } from '../work.ts'
import type { CommittedBatch, LedgerEngine } from './batched-ledger.ts'
import { CommitMemory } from './commit-memory.ts'
import { load, Repeated, save, settleUnread, type UnreadStanding } from './postgres-rows.ts'
import { STATEMENTS } from './postgres-statements.ts'
import { PostgresWriter, type Reply, StatementFailed } from './postgres-writer.ts'
import { dropLostActors, findLost, type Rebooking, type StoreGap } from './went-back.ts'

interface PostgresEngineInput extends PostgresWriterInput {
  readonly limits: LedgerLimits
  /** Null: the database's own time. */
  readonly nowMs: (() => number) | null
  /** How long to wait for the server before the connection counts as lost. Default 5,000. */
  readonly answerTimeoutMs?: number
  /** How commits that the database has lost are booked again. Absent: commits are not kept. */
  readonly wentBack?: WentBackInput | undefined
}

/** The gateway's part when its database goes back. */
export interface WentBackInput {
  /** The instance whose marks show which of its commits are in the store. */
  readonly instanceId: string
  /** Called once the lost commits are booked again, or could not be for a minute. Must not throw. */
  readonly onWentBack: (gap: StoreGap) => void
}

/** The commands of one transaction, and how they run. */
interface Transaction {
  readonly commands: readonly LedgerCommand[]
  readonly patience: CommitPatience
  /** Whether a command may be a repeat of one that has opened its hold. */
  readonly mayRepeat: boolean
  /** When a command happens; absent or null: now. */
  readonly timeOf?: (command: LedgerCommand) => number | null
}

const ANSWER_TIMEOUT_MS_DEFAULT = 5_000

const REBOOKED_AT_ONCE = 256
/** The wait before a lost connection is opened again, or a refused command is booked again. */
const LOOK_AGAIN_MS = 1_000
const REBOOK_MS_MAX = 60_000

// A deadlock lets one of its transactions continue, so this many in a row are not chance.
const TRIES_MAX = 20

/** The ledger in a PostgreSQL database, on its own connection, which is opened again after it is lost. */
export class PostgresEngine implements LedgerEngine {
  readonly #input: PostgresEngineInput
  readonly #writers: PostgresWriters
  readonly #memory: CommitMemory | null
  #writer: PostgresWriter | null = null
  /** The connection that is being opened. There is one at a time, for a commit or for a check of lost commits. */
  #connecting: Promise<PostgresWriter> | null = null
  #isCommitting = false
  #lookTimer: NodeJS.Timeout | null = null
  #isClosed = false
  #rebooking: Rebooking | null = null
  #rebookingSinceMs = 0

  constructor(input: PostgresEngineInput) {
    this.#input = input
    this.#memory = input.wentBack === undefined ? null : new CommitMemory(() => performance.now())
    this.#writers = new PostgresWriters(input)
  }

  /**
   * Applies commands in order and commits them, all or none. If the database ends the transaction in favour of
   * another, it runs again. Rejects as {@link LedgerEngine} says; after `StoreRefused` the store is unchanged.
   */
  async commit(
    commands: readonly LedgerCommand[],
    patience: CommitPatience,
  ): Promise<CommittedBatch> {
    const writer = await this.#connect()
    this.#isCommitting = true
    try {
      return await this.#commitOn(writer, { commands, patience })
    } finally {
      this.#isCommitting = false
    }
  }

  async #commitOn(
    writer: PostgresWriter,
    how: Omit<Transaction, 'mayRepeat'>,
  ): Promise<CommittedBatch> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#transact(writer, { ...how, mayRepeat: tries > 1 })
      } catch (error) {
        if (!(error instanceof StatementFailed) || keepsConnection(error.cause)) {
          await writer.rollBack()
        } else writer.drop()
        if (isRunAgain(error) && writer.isOpen && tries < TRIES_MAX) continue
        throw failureOf(error, writer)
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#lookTimer !== null) clearTimeout(this.#lookTimer)
    await this.#connecting?.catch(() => {})
    const writer = this.#writer
    this.#writer = null
    if (writer?.isOpen === true) await endConnection(writer.client)
  }

  async #connect(): Promise<PostgresWriter> {
    if (this.#writer?.isOpen === true && this.#rebooking === null) return this.#writer
    this.#connecting ??= this.#connectAgain().finally(() => {
      this.#connecting = null
    })
    return this.#connecting
  }

  async #connectAgain(): Promise<PostgresWriter> {
    let writer = this.#writer
    if (writer?.isOpen !== true) {
      const { answerTimeoutMs = ANSWER_TIMEOUT_MS_DEFAULT } = this.#input
      writer = new PostgresWriter({ ...(await this.#writers.open()), answerTimeoutMs })
      writer.client.once('end', () => this.#lookLater())
      await this.#compare(writer)
      this.#writer = writer
    }
    if (this.#rebooking !== null) await this.#bookAgain(writer, this.#rebooking)
    return writer
  }

  /** Connects again soon. Otherwise a gateway without requests would notice lost commits only at its next request. */
  #lookLater(): void {
    if (this.#memory === null || this.#isClosed || this.#lookTimer !== null) return
    this.#lookTimer = setTimeout(() => {
      this.#lookTimer = null
      this.#rebooking?.tryAgain()
      // A connection has one transaction at a time. The next commit books again before its own.
      if (this.#isCommitting) this.#lookLater()
      else this.#connect().catch(() => this.#lookLater())
    }, LOOK_AGAIN_MS)
    this.#lookTimer.unref()
  }

  /** Checks whether a newly connected server has the commits that were confirmed to this gateway. */
  async #compare(writer: PostgresWriter): Promise<void> {
    const { wentBack } = this.#input
    const memory = this.#memory
    if (memory === null || wentBack === undefined) return
    const lost = await aheadOfCommits(writer, findLost(writer, { memory, ...wentBack }))
    if (lost === null) return
    if (this.#rebooking === null) this.#rebookingSinceMs = performance.now()
    else lost.bookFirst(this.#rebooking)
    this.#rebooking = lost
  }

  /** Runs the lost commands again, before anything else. A command that the store refuses is tried for a minute. */
  async #bookAgain(writer: PostgresWriter, rebooking: Rebooking): Promise<void> {
    await aheadOfCommits(writer, dropLostActors(writer, rebooking))
    for (;;) {
      const commands = rebooking.next(REBOOKED_AT_ONCE)
      if (commands.length === 0) break
      await this.#runAgain(writer, { rebooking, commands })
    }
    const sinceMs = performance.now() - this.#rebookingSinceMs
    if (rebooking.gap().lost > 0 && sinceMs < REBOOK_MS_MAX) {
      this.#lookLater()
      return
    }
    this.#rebooking = null
    this.#input.wentBack?.onWentBack(rebooking.gap())
  }

  async #runAgain(
    writer: PostgresWriter,
    {
      rebooking,
      commands,
    }: { readonly rebooking: Rebooking; readonly commands: readonly LedgerCommand[] },
  ): Promise<void> {
    try {
      const timeOf = (command: LedgerCommand) => rebooking.timeOf(command)
      // A command that runs by itself has met locked rows, which would delay all others.
      const patience = commands.length === 1 ? 'little' : 'usual'
      const { verdicts } = await this.#commitOn(writer, { commands, patience, timeOf })
      rebooking.ran(commands, verdicts)
    } catch (error) {
      const isRefusal = error instanceof StoreRefused || error instanceof NotDone
      if (!isRefusal) throw new NotSent(messageOf(error), { cause: error })
      const [only, ...others] = commands
      if (only !== undefined && others.length === 0) rebooking.refused(only)
      else
        for (const command of commands)
          await this.#runAgain(writer, { rebooking, commands: [command] })
    }
  }

  /** Two round trips: everything is read and locked in the first, saved and committed in the second. */
  async #transact(
    writer: PostgresWriter,
    { commands, timeOf, ...how }: Transaction,
  ): Promise<CommittedBatch> {
    const work = new UnitOfWork()
    const { limits, nowMs: ownNowMs } = this.#input
    const asksTime = ownNowMs === null
    const databaseMs = await load(writer, { work, commands, asksTime, ...how })
    const nowMs = databaseMs ?? ownNowMs?.() ?? 0
    const verdicts: LedgerVerdict[] = []
    const standing: (UnreadStanding & { readonly place: number })[] = []
    for (const [place, command] of commands.entries()) {
      const atMs = timeOf?.(command) ?? nowMs
      const uncounted = uncountedBy(work, command, atMs)
      if (uncounted.length > 0) await loadCounts(writer, { work, uncounted })
      verdicts.push(applyCommand(work, command, { nowMs: atMs, limits }))
      if (command.kind !== 'settleStanding') continue
      const requestIds = command.input.requestIds.filter(
        (id) => work.requests.get(id) === undefined,
      )
      standing.push({ requestIds, to: command.input.to, nowMs: atMs, place })
    }
    if (!how.mayRepeat) await refuseRepeats(writer, { commands, verdicts })
    const changes = work.changes()
    const mark = this.#memory?.markOf({ commands, verdicts }) ?? null
    const replies = await writer.commit(() => [
      ...settleUnread(writer, standing),
      ...save(writer, changes),
      ...this.#sendMark(writer, mark),
    ])
    let unreadRows = 0
    for (const [number, { place }] of standing.entries()) {
      const rows = replies[number]?.rowCount ?? 0
      unreadRows += rows
      verdicts[place] = Number(verdicts[place]) + rows
    }
    this.#memory?.keep({ commands, verdicts, nowMs, mark })
    return { verdicts, hasWritten: work.writes + unreadRows > 0 || mark !== null }
  }

  /** By position: the connection, and the number of this commit; null: it needs none. */
  #sendMark(writer: PostgresWriter, mark: number | null): Promise<Reply>[] {
    const { wentBack } = this.#input
    if (mark === null || wentBack === undefined) return []
    return [writer.run(STATEMENTS.mark_commit, [wentBack.instanceId, mark])]
  }
}

/** The answer to a question before a commit. If there is none, the connection is dropped, and nothing was sent. */
async function aheadOfCommits<Answer>(
  writer: PostgresWriter,
  answer: Promise<Answer>,
): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    writer.drop()
    const failure = failureOf(error, writer)
    throw new NotSent(failure.message, { cause: error, fault: storeFaultOf(failure) })
  }
}

/**
 * Requests that a batch opens are not read first: if one exists, its insert fails. A refused request makes no insert;
 * it may be refused because of the credit that it already holds.
 */
async function refuseRepeats(
  writer: PostgresWriter,
  {
    commands,
    verdicts,
  }: { readonly commands: readonly LedgerCommand[]; readonly verdicts: readonly LedgerVerdict[] },
): Promise<void> {
  const refused: string[] = []
  for (const [place, command] of commands.entries()) {
    if (command.kind !== 'openHold') continue
    const isRefused = verdictOn('openHold', command, verdicts[place])?.kind === 'refused'
    if (isRefused) refused.push(command.input.requestId)
  }
  if (refused.length === 0) return
  const [found] = await writer.replies(() => [writer.run(STATEMENTS.read_witnesses, [refused])])
  if (found.rows.length > 0) throw new Repeated()
}

async function loadCounts(
  writer: PostgresWriter,
  { work, uncounted }: { readonly work: UnitOfWork; readonly uncounted: readonly Uncounted[] },
): Promise<void> {
  const changes = work.changes()
  await writer.replies(() => save(writer, changes))
  work.saved()
  for (const each of uncounted) {
    const [reply] = await writer
      .replies(() => [writer.run(each.count, each.count.values(each.id, each.span))])
      .catch(refuseCancelled)
    work.loadCounted(each, each.count.read(reply.rows[0]))
  }
}

/** Whether the database ended the transaction in favour of another one, so that it must run again. */
function isRunAgain(error: unknown): boolean {
  return error instanceof Repeated || (error instanceof StatementFailed && isLostRace(error.cause))
}

function failureOf(
  error: unknown,
  { serverName }: PostgresWriter,
): StoreRefused | StoreUnavailable {
  if (error instanceof StoreRefused) return error
  if (!(error instanceof StatementFailed)) {
    return new CommandImpossible(`a command is impossible: ${messageOf(error)}`, { cause: error })
  }
  const { cause } = error
  if (isRowLocked(cause)) return new RowsLocked('a row stayed locked', { cause: error })
  if (isLostRace(cause)) return new StoreUnavailable('the rows stayed locked', { cause: error })
  return postgresFailure(cause, serverName)
}

/** Refuses only the command whose count took too long: the store works. */
function refuseCancelled(error: unknown): never {
  if (!(error instanceof StatementFailed && isCancelled(error.cause))) throw error
  throw new StoreRefused('adding up the requests of a period took too long', { cause: error.cause })
}
