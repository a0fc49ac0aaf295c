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
  RowsLocked,
  StoreRefused,
  StoreUnavailable,
} from '../../store/store-failure.ts'
import type { LedgerLimits } from '../ledger.ts'
import { type Uncounted, uncountedBy } from '../rules/allowance.ts'
import { applyCommand } from '../rules/rules.ts'
import { UnitOfWork } from '../rules/unit-of-work.ts'
import type { LedgerEngine } from './batched-ledger.ts'
import type { LedgerCommand, LedgerVerdict } from './commands.ts'
import { periodCountValues, readPeriodCount } from './period-count.ts'
import { load } from './postgres-load.ts'
import { save } from './postgres-save.ts'
import { READ_ACCOUNT_PERIOD, READ_API_KEY_PERIOD, READ_REQUESTS } from './postgres-statements.ts'
import { PostgresWriter, StatementFailed } from './postgres-writer.ts'

interface PostgresEngineInput extends PostgresWriterInput {
  readonly limits: LedgerLimits
  /** Null: the database's own time. */
  readonly nowMs: (() => number) | null
  /** How long to wait for the server before the connection counts as lost. Default 5,000. */
  readonly answerTimeoutMs?: number
}

const ANSWER_TIMEOUT_MS_DEFAULT = 5_000

// A deadlock lets one of its transactions continue, so this many in a row are not chance.
const TRIES_MAX = 20

/** The ledger in a PostgreSQL database, on a connection of its own, which is opened again after it is lost. */
export class PostgresEngine implements LedgerEngine {
  readonly #input: PostgresEngineInput
  readonly #writers: PostgresWriters
  #writer: PostgresWriter | null = null

  constructor(input: PostgresEngineInput) {
    this.#input = input
    this.#writers = new PostgresWriters(input)
  }

  /**
   * Applies commands in order and commits them, all or none. A transaction that the database ends in favour
   * of another is run again. Rejects as {@link LedgerEngine} says; after `StoreRefused` the store is unchanged.
   */
  async commit(
    commands: readonly LedgerCommand[],
    patience: CommitPatience,
  ): Promise<LedgerVerdict[]> {
    for (let tries = 1; ; tries++) {
      const writer = await this.#connect()
      try {
        return await this.#transact(writer, { commands, patience, mayRepeat: tries > 1 })
      } catch (error) {
        if (!(error instanceof StatementFailed) || keepsConnection(error.cause)) {
          await writer.rollBack()
        } else writer.drop()
        if (isRunAgain(error) && tries < TRIES_MAX) continue
        throw failureOf(error, writer)
      }
    }
  }

  async close(): Promise<void> {
    const writer = this.#writer
    this.#writer = null
    if (writer?.isOpen === true) await endConnection(writer.client)
  }

  async #connect(): Promise<PostgresWriter> {
    if (this.#writer?.isOpen === true) return this.#writer
    const { answerTimeoutMs = ANSWER_TIMEOUT_MS_DEFAULT } = this.#input
    const writer = new PostgresWriter({ ...(await this.#writers.open()), answerTimeoutMs })
    this.#writer = writer
    return writer
  }

  /** Two round trips: everything is read and locked in the first, saved and committed in the second. */
  async #transact(
    writer: PostgresWriter,
    {
      commands,
      ...how
    }: {
      readonly commands: readonly LedgerCommand[]
      readonly patience: CommitPatience
      readonly mayRepeat: boolean
    },
  ): Promise<LedgerVerdict[]> {
    const work = new UnitOfWork()
    const { limits, nowMs: ownNowMs } = this.#input
    const asksTime = ownNowMs === null
    const databaseMs = await load(writer, { work, commands, asksTime, ...how })
    const nowMs = databaseMs ?? ownNowMs?.() ?? 0
    const verdicts: LedgerVerdict[] = []
    for (const command of commands) {
      const uncounted = uncountedBy(work, command, nowMs)
      if (uncounted.length > 0) await loadPeriodCounts(writer, { work, uncounted })
      verdicts.push(applyCommand(work, command, { nowMs, limits }))
    }
    if (!how.mayRepeat) await refuseRepeats(writer, { commands, verdicts })
    const changes = work.changes()
    await writer.commit(() => save(writer, changes))
    return verdicts
  }
}

/** A command was given before: its batch is run again, with its request read. */
class Repeated extends Error {}

/**
 * Requests that are to be opened are not looked for, and one that is there makes its insert fail. One that is refused makes
 * no insert: it may be refused for the very credit that it holds.
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
    const verdict = verdicts[place]
    const isRefused = typeof verdict === 'object' && verdict !== null && 'facts' in verdict
    if (isRefused) refused.push(command.input.requestId)
  }
  if (refused.length === 0) return
  const [found] = await writer.replies(() => [writer.run(READ_REQUESTS, [refused])])
  if (found.rows.length > 0) throw new Repeated()
}

async function loadPeriodCounts(
  writer: PostgresWriter,
  { work, uncounted }: { readonly work: UnitOfWork; readonly uncounted: readonly Uncounted[] },
): Promise<void> {
  const changes = work.changes()
  await writer.replies(() => save(writer, changes))
  work.saved()
  for (const { owner, id, span } of uncounted) {
    const statement = owner === 'account' ? READ_ACCOUNT_PERIOD : READ_API_KEY_PERIOD
    const [reply] = await writer
      .replies(() => [writer.run(statement, periodCountValues(id, span))])
      .catch(refuseCancelled)
    work.loadPeriodCount(id, readPeriodCount(reply.rows[0]))
  }
}

/** Whether the database ended the transaction in favour of another one, so that it is run again. */
function isRunAgain(error: unknown): boolean {
  return error instanceof Repeated || (error instanceof StatementFailed && isLostRace(error.cause))
}

function failureOf(
  error: unknown,
  { serverName }: PostgresWriter,
): StoreRefused | StoreUnavailable {
  if (error instanceof StoreRefused) return error
  if (!(error instanceof StatementFailed)) {
    const message = error instanceof Error ? error.message : String(error)
    return new CommandImpossible(`a command can not be: ${message}`, { cause: error })
  }
  const { cause } = error
  if (isRowLocked(cause)) return new RowsLocked('a row stayed locked', { cause: error })
  if (isLostRace(cause)) return new StoreUnavailable('the rows stayed locked', { cause: error })
  return postgresFailure(cause, serverName)
}

/** A count that took too long is the fault of its command alone: the store works. */
function refuseCancelled(error: unknown): never {
  if (!(error instanceof StatementFailed && isCancelled(error.cause))) throw error
  throw new StoreRefused('adding up the requests of a period took too long', { cause: error.cause })
}
