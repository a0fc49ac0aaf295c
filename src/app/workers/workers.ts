import { type MessagePort, Worker } from 'node:worker_threads'
import { type Answers, Line, type LineMessage } from './line.ts'
import type { AskedOfMain, AskedOfWorker } from './messages.ts'

/** What a worker is started with, and what becomes of what it leaves. */
export interface PreparedWorker {
  /** As its `workerData`. */
  readonly startWith: unknown
  readonly transfer: readonly MessagePort[]
  /** `serving` is answered here. */
  readonly answers: Omit<Answers<AskedOfMain>, 'serving'>
  /** Given the line to the thread once it has started. */
  readonly meet: (line: WorkerLine) => void
  /** Clears up after the thread once it is gone, whichever way it went. Must not reject. */
  readonly clearUp: () => Promise<void>
}

/** A worker that has ended though nobody asked it to. */
export interface EndedWorker {
  readonly number: number
  readonly cause: unknown
  /** How long until another takes its place. */
  readonly retryMs: number
}

export interface WorkersInput {
  /** The file that each thread runs. */
  readonly entry: URL
  readonly count: number
  /** Called for each thread, with the worker's number from 1 on. */
  readonly prepare: (number: number) => PreparedWorker
  /** Told of each worker that serves. */
  readonly onServing: (number: number, address: string) => void
  /** Told of each worker that ended though nobody asked it to; another takes its place. */
  readonly onEnded: (ended: EndedWorker) => void
  /** How often is looked whether each worker's event loop turns. Default 1,000. */
  readonly lookEveryMs?: number
}

/** The main thread's side of a line to a worker. */
export type WorkerLine = Line<AskedOfWorker, AskedOfMain>

interface Running {
  readonly number: number
  readonly thread: Worker
  readonly line: WorkerLine
  /** Null until it serves. */
  servingSinceMs: number | null
  /** Why it ends, where it does. */
  cause: unknown
  /** How often it was looked for since it last answered. */
  looksUnanswered: number
}

const RETRY_FIRST_MS = 100
const RETRY_MOST_MS = 30_000
// Who has served for so long and then ends did not end of what it began with.
const STEADY_AFTER_MS = 60_000
// A worker that is busy for longer hears of it all the same, later.
const ANSWER_WAIT_MS = 5_000
const LOOK_EVERY_MS = 1_000
// Counted in looks and not in time: where the whole process was asleep, this thread was too.
const LOOKS_UNANSWERED_MAX = 30

/** The worker threads of this process, each of which is replaced when it ends, and ended when it stands still. */
export class Workers {
  readonly #input: WorkersInput
  readonly #running = new Map<number, Running>()
  readonly #clearingUp = new Set<Promise<void>>()
  readonly #retries = new Map<number, NodeJS.Timeout>()
  readonly #endsInARow = new Map<number, number>()
  readonly #looking: NodeJS.Timeout
  #stopping = false

  constructor(input: WorkersInput) {
    this.#input = input
    this.#looking = setInterval(() => this.#look(), input.lookEveryMs ?? LOOK_EVERY_MS)
    this.#looking.unref()
  }

  /** Resolves when all serve. Rejects with what one of them could not start for; to be stopped then too. */
  async start(): Promise<void> {
    // The first takes the port, which is not known before where any will do.
    await this.#start(1)
    const others = Array.from({ length: this.#input.count - 1 }, (_, place) => place + 2)
    await Promise.all(others.map((number) => this.#start(number)))
  }

  /** Whether every worker serves. */
  get allServe(): boolean {
    const running = [...this.#running.values()]
    return (
      running.length === this.#input.count &&
      running.every(({ servingSinceMs }) => servingSinceMs !== null)
    )
  }

  /**
   * By position: the kind of question, and what it is about. Asks all workers, and resolves with the
   * answers of those that answer within seconds, by their numbers. Never rejects.
   */
  async askAll<Kind extends keyof AskedOfWorker>(
    kind: Kind,
    asked: AskedOfWorker[Kind]['asked'],
  ): Promise<Map<number, AskedOfWorker[Kind]['answer']>> {
    const answers = new Map<number, AskedOfWorker[Kind]['answer']>()
    const asking = [...this.#running.values()].map(async ({ number, line }) => {
      const answer = await line.ask(kind, asked)
      answers.set(number, answer)
    })
    let timer: NodeJS.Timeout | undefined
    const outOfTime = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ANSWER_WAIT_MS)
    })
    await Promise.race([Promise.allSettled(asking), outOfTime])
    clearTimeout(timer)
    return answers
  }

  /** As {@link askAll}, however long the answers take. A worker that ends meanwhile gives none. */
  async waitForAll<Kind extends keyof AskedOfWorker>(
    kind: Kind,
    asked: AskedOfWorker[Kind]['asked'],
  ): Promise<AskedOfWorker[Kind]['answer'][]> {
    const running = [...this.#running.values()]
    const asking = await Promise.allSettled(running.map(({ line }) => line.ask(kind, asked)))
    return asking.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  }

  /** Lets all workers stop, and resolves when they are gone and cleared up after. Replaces none any more. */
  async stop(): Promise<void> {
    this.#stopping = true
    for (const timer of this.#retries.values()) clearTimeout(timer)
    const stopping = [...this.#running.values()].map(async ({ thread, line, servingSinceMs }) => {
      // Who ends while it stops is gone, which is what is wanted.
      if (servingSinceMs !== null) await line.ask('stop', null).catch(() => {})
      await thread.terminate()
    })
    await Promise.all(stopping)
    clearInterval(this.#looking)
    await Promise.all(this.#clearingUp)
  }

  /** Ends each worker whose event loop has not turned for long: its clients would wait for ever. */
  #look(): void {
    for (const running of this.#running.values()) {
      if (running.servingSinceMs === null) continue
      if (running.looksUnanswered === LOOKS_UNANSWERED_MAX) {
        running.cause = standsStill(running.number)
        void running.thread.terminate()
      }
      running.looksUnanswered += 1
      const answered = (): void => {
        running.looksUnanswered = 0
      }
      running.line.ask('alive', null).then(answered, () => {})
    }
  }

  /** Resolves when it serves; rejects where it ends before. */
  #start(number: number): Promise<void> {
    const { entry, prepare, onServing } = this.#input
    const { startWith, transfer, answers, meet, clearUp } = prepare(number)
    const thread = new Worker(entry, {
      workerData: startWith,
      transferList: [...transfer],
      execArgv: [],
    })
    const served = Promise.withResolvers<void>()
    const line: WorkerLine = new Line<AskedOfWorker, AskedOfMain>({
      post: (message, ports) => thread.postMessage(message, ports),
      answers: {
        ...answers,
        serving: (address) => {
          running.servingSinceMs = performance.now()
          onServing(number, address)
          served.resolve()
          return undefined
        },
      },
    })
    const running: Running = {
      number,
      thread,
      line,
      servingSinceMs: null,
      cause: new Error(`worker ${number} ended`),
      looksUnanswered: 0,
    }
    this.#running.set(number, running)
    thread.on('message', (message: LineMessage<AskedOfWorker, AskedOfMain>) =>
      line.received(message),
    )
    thread.on('error', (error) => {
      running.cause = error
    })
    thread.on('exit', () => {
      this.#running.delete(number)
      line.hangUp()
      served.reject(running.cause)
      const clearing = clearUp().finally(() => this.#clearingUp.delete(clearing))
      this.#clearingUp.add(clearing)
      if (running.servingSinceMs !== null) this.#replace(running, running.cause)
    })
    meet(line)
    return served.promise
  }

  #replace({ number, servingSinceMs }: Pick<Running, 'number' | 'servingSinceMs'>, cause: unknown) {
    if (this.#stopping) return
    const isSteady = servingSinceMs !== null && performance.now() - servingSinceMs > STEADY_AFTER_MS
    const before = isSteady ? 0 : (this.#endsInARow.get(number) ?? 0)
    this.#endsInARow.set(number, before + 1)
    const retryMs = Math.min(RETRY_FIRST_MS * 2 ** before, RETRY_MOST_MS)
    this.#input.onEnded({ number, cause, retryMs })
    const retry = (): void => {
      this.#retries.delete(number)
      this.#start(number).catch((again: unknown) =>
        this.#replace({ number, servingSinceMs: null }, again),
      )
    }
    this.#retries.set(number, setTimeout(retry, retryMs))
  }
}

function standsStill(number: number): Error {
  const error = new Error(`worker ${number} stands still`)
  return Object.assign(error, { code: 'WORKER_STANDS_STILL' })
}
