import { Worker } from 'node:worker_threads'
import { StoreRefused, StoreUnavailable } from '../store-unavailable.ts'
import type { ThreadClosing, ThreadReply, ThreadRequest } from './thread-messages.ts'

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
