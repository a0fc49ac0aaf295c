import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { StoreUnavailable } from '../store-unavailable.ts'
import { ThreadCalls } from './thread-calls.ts'
import type {
  ThreadAttachment,
  ThreadClosing,
  ThreadDetached,
  ThreadReply,
} from './thread-messages.ts'

export interface StoreThreadInput {
  /** The file that the thread runs; it calls `serveThread`. */
  readonly entry: URL
  /** What the thread reads as its `workerData`. */
  readonly startWith: unknown
  /** How long it may take to close what it has open, before it is ended all the same. Default a minute. */
  readonly closeTimeoutMs?: number
}

const CLOSE_TIMEOUT_MS_DEFAULT = 60_000

/** A way for another thread to send jobs of its own to a store thread. */
export interface Attachment {
  /** To be given to that thread, which makes an `AttachedThread` of it. */
  readonly port: MessagePort
  /** Resolves once no job that was sent by it can be done any more: it or the store thread is gone. */
  readonly detached: Promise<void>
}

/**
 * A worker thread that owns one connection to the store. A thread that dies fails what it was asked
 * (`StoreUnavailable`), and the next job starts another.
 */
export class StoreThread<Job, Answer> {
  readonly #entry: URL
  readonly #startWith: unknown
  readonly #closeTimeoutMs: number
  readonly #calls = new ThreadCalls<Job, Answer>()
  readonly #attached = new Map<number, () => void>()
  #worker: Worker | null = null
  #attachments = 0
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

  /** Lets another thread send jobs too. Throws `StoreUnavailable` once it is closed. */
  attach(): Attachment {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
    this.#worker ??= this.#start()
    const { port1, port2 } = new MessageChannel()
    const attachment: ThreadAttachment = { number: this.#attachments++, attach: port1 }
    const { promise: detached, resolve } = Promise.withResolvers<void>()
    this.#attached.set(attachment.number, resolve)
    this.#worker.postMessage(attachment, [port1])
    return { port: port2, detached }
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
    worker.on('message', (reply: ThreadReply<Answer> | ThreadDetached) => {
      if (reply.kind === 'detached') this.#detach(reply.number)
      else this.#calls.answered(reply)
    })
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

  #detach(number: number): void {
    this.#attached.get(number)?.()
    this.#attached.delete(number)
  }

  #failWaiting(message: string): void {
    this.#calls.fail(message)
    for (const number of this.#attached.keys()) this.#detach(number)
  }
}
