import { Worker } from 'node:worker_threads'
import { StoreRefused, StoreUnavailable } from './store-unavailable.ts'
import type { ThreadReply, ThreadRequest } from './thread-messages.ts'

export interface StoreThreadInput {
  /** The file that the thread runs; it calls `serveThread`. */
  readonly entry: URL
  /** What the thread reads as its `workerData`. */
  readonly startWith: unknown
}

interface Waiting<Answer> {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

/**
 * A worker thread that owns one connection to the store. A thread that dies fails what it was asked
 * (`StoreUnavailable`), and the next job starts another.
 */
export class StoreThread<Job, Answer> {
  readonly #entry: URL
  readonly #startWith: unknown
  readonly #waiting = new Map<number, Waiting<Answer>>()
  #worker: Worker | null = null
  #number = 0
  #closed = false

  constructor({ entry, startWith }: StoreThreadInput) {
    this.#entry = entry
    this.#startWith = startWith
  }

  /** Rejects with `StoreUnavailable` or, where only this job failed, `StoreRefused`. */
  call(job: Job): Promise<Answer> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    this.#worker ??= this.#start()
    const worker = this.#worker
    const request: ThreadRequest<Job> = { number: this.#number++, job }
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.number, { resolve, reject })
      worker.postMessage(request)
    })
  }

  /** Ends the thread. Jobs that wait are failed: whoever closes has drained first. */
  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    this.#worker = null
    if (worker !== null) await worker.terminate()
    this.#failWaiting('the store was closed')
  }

  #start(): Worker {
    const worker = new Worker(this.#entry, { workerData: this.#startWith, execArgv: [] })
    let cause = 'the store thread ended'
    worker.on('message', (reply: ThreadReply<Answer>) => this.#onReply(reply))
    worker.on('error', (error: Error) => {
      cause = `the store thread failed: ${error.message}`
    })
    worker.on('exit', () => {
      if (this.#worker !== worker) return
      this.#worker = null
      this.#failWaiting(cause)
    })
    return worker
  }

  #onReply(reply: ThreadReply<Answer>): void {
    const waiting = this.#waiting.get(reply.number)
    if (waiting === undefined) return
    this.#waiting.delete(reply.number)
    if (reply.kind === 'answer') waiting.resolve(reply.answer)
    else if (reply.failure.unavailable) waiting.reject(new StoreUnavailable(reply.failure.message))
    else waiting.reject(new StoreRefused(reply.failure.message))
  }

  #failWaiting(message: string): void {
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting) reject(new StoreUnavailable(message))
  }
}
