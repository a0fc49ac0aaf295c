import { StoreUnavailable } from './store-failure.ts'

interface GroupCommitInput<Command, Answer> {
  /**
   * Commits all of a batch or none, and resolves with the results in the same order. Rejects with
   * `StoreUnavailable` if the store failed, and with any other error if a command failed.
   */
  readonly commit: (commands: readonly Command[]) => Promise<readonly Answer[]>
  /** Commands of a lower rank are applied first within a batch; equal ranks keep their order. */
  readonly rank: (command: Command) => number
  /** Whether a command shares no commit: one that may take long or fail for its own size. */
  readonly isAlone: (command: Command) => boolean
  /** Whether a command that waits is refused as soon as the store fails: a client waits for it, and it was never sent. */
  readonly failsWithStore: (command: Command) => boolean
  readonly batchCommandsMax: number
  /** The longest that an idle command waits for a commit. */
  readonly idleDelayMs: number
  /** The least time from the start of this commit to the next one; 0: the next may begin as soon as this ends. */
  readonly apartMs: () => number
  /** Resolves after so long. */
  readonly delay: (delayMs: number) => Promise<unknown>
}

interface Queued<Command, Answer> {
  readonly command: Command
  readonly rank: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Shares commits: commands that arrive during a commit form the next one. A batch that fails because of a
 * command is replayed one command at a time, so that the others succeed.
 */
export class GroupCommit<Command, Answer> {
  readonly #input: GroupCommitInput<Command, Answer>
  #queue: Queued<Command, Answer>[] = []
  #running: Promise<void> | null = null
  /** Ends when the next commit may begin. */
  #pause: Promise<unknown> | null = null
  #idleTimer: NodeJS.Timeout | undefined
  #closed = false

  constructor(input: GroupCommitInput<Command, Answer>) {
    this.#input = input
  }

  /** Resolves once the command is durable. After `close`: rejects with `StoreUnavailable`. */
  submit(command: Command): Promise<Answer> {
    const answer = this.#enqueue(command)
    this.#start()
    return answer
  }

  /**
   * As `submit`, for a command that no client waits for: it rides on the next commit, and starts a commit
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
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    return new Promise((resolve, reject) => {
      this.#queue.push({ command, rank: this.#input.rank(command), resolve, reject })
    })
  }

  #start(): void {
    clearTimeout(this.#idleTimer)
    this.#idleTimer = undefined
    if (this.#queue.length > 0) this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    // One turn of the microtask queue: commands of the same event share a commit.
    await null
    while (this.#queue.length > 0) {
      if (this.#pause !== null) await this.#pause
      this.#pause = this.#beginPause()
      const batch = this.#takeBatch()
      await this.#commit(batch.sort((a, b) => a.rank - b.rank))
    }
    this.#running = null
  }

  /** Those that came first: one that shares no commit, or all up to the next such one. */
  #takeBatch(): Queued<Command, Answer>[] {
    const { batchCommandsMax, isAlone } = this.#input
    const first = this.#queue.slice(0, batchCommandsMax)
    const alone = first.findIndex(({ command }) => isAlone(command))
    const batch = alone < 0 ? first : first.slice(0, Math.max(1, alone))
    this.#queue = this.#queue.slice(batch.length)
    return batch
  }

  // Each would otherwise wait for the failing store once more, one commit after the other.
  #failWaiting(error: StoreUnavailable): void {
    const waiting = this.#queue
    this.#queue = waiting.filter(({ command }) => !this.#input.failsWithStore(command))
    for (const { command, reject } of waiting)
      if (this.#input.failsWithStore(command)) reject(error)
  }

  #beginPause(): Promise<unknown> | null {
    const apartMs = this.#input.apartMs()
    return apartMs === 0 ? null : this.#input.delay(apartMs)
  }

  async #commit(batch: readonly Queued<Command, Answer>[]): Promise<void> {
    try {
      const answers = await this.#input.commit(batch.map(({ command }) => command))
      for (const [place, answer] of answers.entries()) batch[place]?.resolve(answer)
    } catch (error) {
      if (error instanceof StoreUnavailable || batch.length === 1) {
        for (const { reject } of batch) reject(error)
        if (error instanceof StoreUnavailable) this.#failWaiting(error)
        return
      }
      for (const queued of batch) await this.#commit([queued])
    }
  }
}
