import { setImmediate as turn } from 'node:timers/promises'
import { isAway, NotSent, RowsLocked, StoreUnavailable } from './store-failure.ts'

interface GroupCommitInput<Command, Answer> {
  /**
   * Commits all of a batch or none, and resolves with the results in the same order. Rejects with `RowsLocked` if rows of
   * it stayed locked, with a `StoreUnavailable` that is not `NotDone` if the store failed, and with any other error if a
   * command failed.
   */
  readonly commit: (
    commands: readonly Command[],
    patience: CommitPatience,
  ) => Promise<readonly Answer[]>
  /** Commands of a lower rank are applied first within a batch; equal ranks keep their order. */
  readonly rank: (command: Command) => number
  /** Whether a command shares no commit: one that may take long or fail for its own size. */
  readonly isAlone: (command: Command) => boolean
  /** Whether a client waits for a command, and is refused where the store fails or takes too long. */
  readonly isAwaited: (command: Command) => boolean
  /** The owner whose rows a command locks; null: it is not known. */
  readonly ownerOf: (command: Command) => string | null
  readonly batchCommandsMax: number
  /** The longest that an idle command waits for a commit. */
  readonly idleDelayMs: number
  /**
   * The least time from the start of this commit to the next one, which a command that a client waits for does not wait for.
   * 0: the next may begin as soon as this ends.
   */
  readonly apartMs: () => number
  /** Resolves after so long. */
  readonly delay: (delayMs: number) => Promise<unknown>
  /** A clock that never steps, in milliseconds. */
  readonly elapsedMs: () => number
}

/** How long a commit waits for rows that another transaction has: as long as the store lets it, or hardly at all. */
export type CommitPatience = 'usual' | 'little'

interface Queued<Command, Answer> {
  readonly command: Command
  readonly rank: number
  readonly owner: string | null
  readonly sinceMs: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** The longest that a client waits for a commit to begin. */
const UNSENT_MS_MAX = 5_000

/**
 * The longest that a client waits for a commit to end: then its answer is that the store is away, even if the commit
 * still succeeds.
 */
const AWAITED_MS_MAX = 7_500

const LOOK_MS = 250

/** How long a commit waits for further commands while they keep coming. A request that is alone waits one turn. */
const GATHER_MS_MAX = 2

/** How long a batch whose rows are locked is run again by its owners. */
const APART_MS_MAX = 2_000

const WAIT_FIRST_MS = 1_000
// Requests are served within six seconds of the rows being free.
const WAIT_MS_MAX = 4_000

/** The owner has had no command for so long. */
const FORGOTTEN_AFTER_MS = 60_000

/**
 * Owners whose rows another transaction has locked: each is left alone for a second, then for twice as long each time, and
 * is suspected until a commit of its own has worked.
 */
class LockedOwners {
  readonly #elapsedMs: () => number
  /** Until `untilMs`, nothing of an owner is sent. */
  readonly #owners = new Map<string, { untilMs: number; waitMs: number }>()

  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs
  }

  get hasAny(): boolean {
    return this.#owners.size > 0
  }

  /** Whether the rows of this owner were locked the last time. */
  has(owner: string | null): boolean {
    return owner !== null && this.#owners.has(owner)
  }

  /** Whether no command of this owner may be sent now. */
  isSetAside(owner: string | null): boolean {
    if (owner === null || this.#owners.size === 0) return false
    const aside = this.#owners.get(owner)
    return aside !== undefined && this.#elapsedMs() < aside.untilMs
  }

  /** Sets aside an owner whose rows were locked. */
  setAside(owner: string | null): void {
    if (owner === null) return
    const nowMs = this.#elapsedMs()
    for (const [other, { untilMs }] of this.#owners) {
      if (untilMs + FORGOTTEN_AFTER_MS < nowMs) this.#owners.delete(other)
    }
    const before = this.#owners.get(owner)
    const waitMs = before === undefined ? WAIT_FIRST_MS : Math.min(before.waitMs * 2, WAIT_MS_MAX)
    this.#owners.set(owner, { untilMs: nowMs + waitMs, waitMs })
  }

  /** A commit with its rows has worked. */
  worked(owner: string | null): void {
    if (owner !== null) this.#owners.delete(owner)
  }
}

/**
 * Shares commits: commands that arrive during a commit form the next one. A batch that fails because of a
 * command is replayed one command at a time, and one whose rows are locked one owner at a time, so that the others succeed.
 */
export class GroupCommit<Command, Answer> {
  readonly #input: GroupCommitInput<Command, Answer>
  readonly #locked: LockedOwners
  #queue: Queued<Command, Answer>[] = []
  #sent: readonly Queued<Command, Answer>[] = []
  #running: Promise<void> | null = null
  /** Ends when the next commit may begin. */
  #pause: Promise<unknown> | null = null
  /** Ends the wait for the pause; null: nothing waits for it. */
  #endWait: (() => void) | null = null
  #idleTimer: NodeJS.Timeout | undefined
  #lookTimer: NodeJS.Timeout | null = null
  #closed = false

  constructor(input: GroupCommitInput<Command, Answer>) {
    this.#input = input
    this.#locked = new LockedOwners(input.elapsedMs)
  }

  /** Resolves once the command is durable. After `close`: rejects with `StoreUnavailable`. */
  submit(command: Command): Promise<Answer> {
    const answer = this.#enqueue(command)
    this.#start()
    return answer
  }

  /**
   * Like `submit`, for a command that no client waits for: it rides on the next commit, and starts a commit
   * itself only if none starts for `idleDelayMs`.
   */
  submitIdly(command: Command): Promise<Answer> {
    const answer = this.#enqueue(command)
    if (this.#running === null && !this.#closed) {
      this.#idleTimer ??= setTimeout(() => this.#start(), this.#input.idleDelayMs)
    }
    return answer
  }

  /** Takes no more commands, and resolves after those taken are committed. */
  async close(): Promise<void> {
    this.#closed = true
    this.#start()
    await this.#running
  }

  #enqueue(command: Command): Promise<Answer> {
    if (this.#closed) return Promise.reject(new NotSent('the store is closed'))
    const { ownerOf, rank, isAwaited, elapsedMs } = this.#input
    const owner = ownerOf(command)
    if (this.#locked.isSetAside(owner)) return Promise.reject(lockedRows())
    return new Promise((resolve, reject) => {
      const sinceMs = elapsedMs()
      this.#queue.push({ command, rank: rank(command), owner, sinceMs, resolve, reject })
      if (this.#endWait !== null && isAwaited(command)) this.#endWait()
    })
  }

  #start(): void {
    clearTimeout(this.#idleTimer)
    this.#idleTimer = undefined
    if (this.#queue.length > 0) this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      if (this.#pause !== null) await this.#waitFor(this.#pause)
      await this.#gather()
      this.#pause = this.#beginPause()
      const batch = this.#takeBatch()
      this.#sent = batch
      this.#lookTimer ??= this.#lookLater()
      await this.#commit(batch.sort((a, b) => a.rank - b.rank))
      this.#sent = []
    }
    this.#running = null
  }

  /** Waits for as long as each turn of the event loop brings more commands: they share the commit. */
  async #gather(): Promise<void> {
    const { elapsedMs } = this.#input
    const untilMs = elapsedMs() + GATHER_MS_MAX
    for (let known = 0; known < this.#queue.length && elapsedMs() < untilMs; ) {
      known = this.#queue.length
      await turn()
    }
  }

  /** Waits for the pause between commits, as long as no client waits for a command of the next one. */
  async #waitFor(pause: Promise<unknown>): Promise<void> {
    if (this.#queue.some(({ command }) => this.#input.isAwaited(command))) return
    const hurried = Promise.withResolvers<void>()
    this.#endWait = hurried.resolve
    await Promise.race([pause, hurried.promise])
    this.#endWait = null
  }

  /**
   * The first commands in the queue: one that shares no commit, or all up to the next such one. Commands of owners
   * whose rows were locked are left out, unless one of these came first.
   */
  #takeBatch(): Queued<Command, Answer>[] {
    const { batchCommandsMax, isAlone } = this.#input
    const suspect = this.#queue[0]?.owner ?? null
    if (this.#locked.hasAny && this.#locked.has(suspect)) {
      return this.#take((queued) => queued.owner === suspect && !isAlone(queued.command))
    }
    const first = this.#queue.slice(0, batchCommandsMax)
    const alone = first.findIndex(({ command }) => isAlone(command))
    const batch = alone < 0 ? first : first.slice(0, Math.max(1, alone))
    if (this.#locked.hasAny) {
      const taken = new Set(batch)
      return this.#take((queued) => taken.has(queued) && !this.#locked.has(queued.owner))
    }
    this.#queue = this.#queue.slice(batch.length)
    return batch
  }

  /** Takes the first of the queue, and those of its front that are wanted. */
  #take(isWanted: (queued: Queued<Command, Answer>) => boolean): Queued<Command, Answer>[] {
    const [first, ...others] = this.#queue.slice(0, this.#input.batchCommandsMax)
    const batch = [...(first === undefined ? [] : [first]), ...others.filter(isWanted)]
    const taken = new Set(batch)
    this.#queue = this.#queue.filter((queued) => !taken.has(queued))
    return batch
  }

  // Each would otherwise wait for the failing store once more, one commit after the other.
  #failWaiting(error: StoreUnavailable): void {
    const { isAwaited } = this.#input
    const failed = this.#queue.filter(({ command }) => isAwaited(command))
    if (failed.length === 0) return
    this.#queue = this.#queue.filter(({ command }) => !isAwaited(command))
    for (const { reject } of failed) reject(new NotSent(error.message, { cause: error }))
  }

  // One timer for all waits, since nearly all of them are short.
  #lookLater(): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#lookTimer = this.#running === null ? null : this.#lookLater()
      this.#refuseLate()
    }, LOOK_MS)
    timer.unref()
    return timer
  }

  /**
   * Answers the clients that have waited for too long. A command that was sent may be committed: its sender asks again
   * by its id.
   */
  #refuseLate(): void {
    const { isAwaited, elapsedMs } = this.#input
    const nowMs = elapsedMs()
    const isLate = ({ command, sinceMs }: Queued<Command, Answer>, waitMs: number): boolean =>
      nowMs - sinceMs >= waitMs && isAwaited(command)
    for (const queued of this.#sent) {
      if (isLate(queued, AWAITED_MS_MAX)) {
        queued.reject(new StoreUnavailable('the store has not committed in time'))
      }
    }
    const [oldest] = this.#queue
    if (oldest === undefined || nowMs - oldest.sinceMs < UNSENT_MS_MAX) return
    const late = new Set(this.#queue.filter((queued) => isLate(queued, UNSENT_MS_MAX)))
    this.#queue = this.#queue.filter((queued) => !late.has(queued))
    for (const { reject } of late) reject(new NotSent('the store is busy with earlier commits'))
  }

  #beginPause(): Promise<unknown> | null {
    const apartMs = this.#input.apartMs()
    return apartMs === 0 ? null : this.#input.delay(apartMs)
  }

  async #commit(batch: readonly Queued<Command, Answer>[]): Promise<void> {
    const isSuspect = this.#locked.hasAny && this.#locked.has(batch[0]?.owner ?? null)
    try {
      await this.#answer(batch, isSuspect ? 'little' : 'usual')
    } catch (error) {
      if (error instanceof RowsLocked) await this.#commitApart(batch)
      else if (isAway(error)) this.#fail(batch, error)
      else await this.#commitEach(batch, error)
    }
  }

  async #answer(
    batch: readonly Queued<Command, Answer>[],
    patience: CommitPatience,
  ): Promise<void> {
    const answers = await this.#input.commit(
      batch.map(({ command }) => command),
      patience,
    )
    for (const [place, answer] of answers.entries()) batch[place]?.resolve(answer)
    if (this.#locked.hasAny) for (const { owner } of batch) this.#locked.worked(owner)
  }

  #fail(batch: readonly Queued<Command, Answer>[], error: StoreUnavailable): void {
    for (const { reject } of batch) reject(error)
    this.#failWaiting(error)
  }

  async #commitEach(batch: readonly Queued<Command, Answer>[], error: unknown): Promise<void> {
    if (batch.length > 1) for (const queued of batch) await this.#commit([queued])
    else batch[0]?.reject(error)
  }

  /**
   * Runs a batch one owner at a time, and each command whose owner is not known by itself. Those whose rows are locked are set aside,
   * so that they hold up no other batch.
   */
  async #commitApart(batch: readonly Queued<Command, Answer>[]): Promise<void> {
    const { elapsedMs } = this.#input
    const untilMs = elapsedMs() + APART_MS_MAX
    const apart = [...Map.groupBy(batch, (queued) => queued.owner ?? queued).values()]
    for (const [place, commands] of apart.entries()) {
      try {
        if (elapsedMs() > untilMs) throw lockedRows()
        // A command that is alone has already waited.
        if (apart.length > 1) await this.#answer(commands, 'little')
        else this.#setAside(commands)
      } catch (error) {
        if (error instanceof RowsLocked) this.#setAside(commands)
        else if (isAway(error)) {
          this.#fail(apart.slice(place).flat(), error)
          return
        } else await this.#commitEach(commands, error)
      }
    }
  }

  #setAside(commands: readonly Queued<Command, Answer>[]): void {
    this.#locked.setAside(commands[0]?.owner ?? null)
    for (const { reject } of commands) reject(lockedRows())
  }
}

function lockedRows(): RowsLocked {
  return new RowsLocked('another session of the database has locked the rows of this account')
}
