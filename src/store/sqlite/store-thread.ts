import { parentPort, Worker } from 'node:worker_threads'
import { isUnavailable, StoreRefused, StoreUnavailable } from '../store-failure.ts'

interface StoreThreadInput {
  /** The file that the thread runs; it calls `serveThread`. */
  readonly entry: URL
  /** What the thread reads as its `workerData`. */
  readonly startWith: unknown
  /** How long it may take to close what it has open, before it is ended all the same. Default a minute. */
  readonly closeTimeoutMs?: number
}

const CLOSE_TIMEOUT_MS_DEFAULT = 60_000

/**
 * A worker thread that owns one connection to the store. A thread that dies fails what it was asked
 * (`StoreUnavailable`), and the next job starts another.
 */
export class StoreThread<Job, Answer> {
  readonly #entry: URL
  readonly #startWith: unknown
  readonly #closeTimeoutMs: number
  readonly #calls = new ThreadCalls<Job, Answer>()
  #worker: Worker | null = null
  #closed = false

  constructor({ entry, startWith, closeTimeoutMs }: StoreThreadInput) {
    this.#entry = entry
    this.#startWith = startWith
    this.#closeTimeoutMs = closeTimeoutMs ?? CLOSE_TIMEOUT_MS_DEFAULT
  }

  /** Rejects with `StoreUnavailable` or, where only this job failed, `StoreRefused`. */
  call(job: Job): Promise<Answer> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    this.#worker ??= this.#start()
    return this.#calls.send(job, this.#worker)
  }

  /**
   * Ends the thread once it has done what it was asked and has closed its connection, so that nothing of
   * it is left open. One that does not come to that in time is ended as it is, and fails what it was asked.
   */
  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    if (worker === null) return
    const ended = Promise.withResolvers<void>()
    worker.once('exit', () => ended.resolve())
    const timer = setTimeout(() => void worker.terminate(), this.#closeTimeoutMs)
    worker.postMessage({ closing: true } satisfies ThreadClosing)
    await ended.promise
    clearTimeout(timer)
  }

  #start(): Worker {
    const worker = new Worker(this.#entry, {
      workerData: this.#startWith,
      execArgv: [],
      // What a thread makes for a job is dead after it: more room for it is only resident memory.
      resourceLimits: { maxYoungGenerationSizeMb: 12 },
    })
    let cause = 'the store thread ended'
    worker.on('message', (reply: ThreadReply<Answer>) => this.#calls.answered(reply))
    worker.on('error', (error: Error) => {
      cause = `the store thread failed: ${error.message}`
    })
    worker.on('exit', () => {
      if (this.#worker !== worker) return
      this.#worker = null
      this.#calls.fail(cause)
    })
    return worker
  }
}

interface Waiting<Answer> {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

/** The jobs that were sent to a store thread and are not answered yet. */
class ThreadCalls<Job, Answer> {
  readonly #waiting = new Map<number, Waiting<Answer>>()
  #number = 0

  /** Rejects with `StoreUnavailable` or, where only this job failed, `StoreRefused`. */
  send(job: Job, to: Worker): Promise<Answer> {
    const request: ThreadRequest<Job> = { number: this.#number++, job }
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.number, { resolve, reject })
      to.postMessage(request)
    })
  }

  /** Settles the job that a reply is for. */
  answered(reply: ThreadReply<Answer>): void {
    const waiting = this.#waiting.get(reply.number)
    if (waiting === undefined) return
    this.#waiting.delete(reply.number)
    if (reply.kind === 'answer') waiting.resolve(reply.answer)
    else if (reply.failure.unavailable) waiting.reject(new StoreUnavailable(reply.failure.message))
    else waiting.reject(new StoreRefused(reply.failure.message))
  }

  /** Fails every job that is waiting: the thread has ended. */
  fail(message: string): void {
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting) reject(new StoreUnavailable(message))
  }
}

/** What goes to a store thread: a job, numbered so that its answer finds its caller. */
export interface ThreadRequest<Job> {
  readonly number: number
  readonly job: Job
}

/** Ends a store thread: it closes what it has open and sends nothing more. */
export interface ThreadClosing {
  readonly closing: true
}

/** What comes back from a store thread. */
export type ThreadReply<Answer> =
  | { readonly number: number; readonly kind: 'answer'; readonly answer: Answer }
  | { readonly number: number; readonly kind: 'failure'; readonly failure: ThreadFailure }

/** An error as it crosses threads: `unavailable` where the store as a whole failed. */
export interface ThreadFailure {
  readonly unavailable: boolean
  readonly message: string
}

/** What answers the jobs of a store thread, one at a time, in the order they were sent. */
export interface ThreadDesk<Job, Answer> {
  answer(job: Job): Answer
  /** Comes after its last job, where the thread is told to end. */
  close(): void
}

/**
 * Runs a store thread's side: answers each job that the main thread sends. The desk is opened by the
 * first job and, where opening failed, again by the next, so that a store that comes back is found. The
 * thread ends once it was told to and its desk is closed.
 */
export function serveThread<Job, Answer>(openDesk: () => ThreadDesk<Job, Answer>): void {
  const main = parentPort
  if (main === null) throw new Error('a store thread is started by the main thread')
  let desk: ThreadDesk<Job, Answer> | null = null
  const answer = ({ number, job }: ThreadRequest<Job>): void => {
    let reply: ThreadReply<Answer>
    try {
      desk ??= openDesk()
      reply = { number, kind: 'answer', answer: desk.answer(job) }
    } catch (error) {
      reply = { number, kind: 'failure', failure: failureOf(error) }
    }
    main.postMessage(reply)
  }
  const end = (): void => {
    // A thread without a port ends by itself.
    main.close()
    desk?.close()
  }
  main.on('message', (message: ThreadRequest<Job> | ThreadClosing) => {
    if ('closing' in message) end()
    else answer(message)
  })
}

function failureOf(error: unknown): ThreadFailure {
  const message = error instanceof Error ? error.message : String(error)
  return { unavailable: isUnavailable(error), message }
}
