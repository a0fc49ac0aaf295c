import type { MessagePort } from 'node:worker_threads'
import { StoreUnavailable } from '../store-unavailable.ts'
import { ThreadCalls } from './thread-calls.ts'
import type { ThreadReply } from './thread-messages.ts'

/**
 * A store thread of another thread's, over the port of an `Attachment`. Where the store thread dies,
 * what it was asked fails (`StoreUnavailable`), and so does all else until it is attached again.
 */
export class AttachedThread<Job, Answer> {
  readonly #calls = new ThreadCalls<Job, Answer>()
  #port: MessagePort | null = null

  /** Takes a port in the place of the one before. */
  attach(port: MessagePort): void {
    this.#port = port
    port.on('message', (reply: ThreadReply<Answer>) => this.#calls.answered(reply))
    port.on('close', () => {
      if (this.#port !== port) return
      this.#port = null
      this.#calls.fail('the store thread ended')
    })
  }

  /** Rejects with `StoreUnavailable` or, where only this job failed, `StoreRefused`. */
  call(job: Job): Promise<Answer> {
    if (this.#port === null) return Promise.reject(new StoreUnavailable('the store is away'))
    return this.#calls.send(job, this.#port)
  }

  /** Sends no more. Jobs that wait are failed: whoever closes has drained first. */
  close(): void {
    const port = this.#port
    this.#port = null
    port?.close()
    this.#calls.fail('the store was closed')
  }
}
