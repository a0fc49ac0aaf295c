import { StoreRefused, StoreUnavailable } from '../store-unavailable.ts'
import type { ThreadReply, ThreadRequest } from './thread-messages.ts'

interface Waiting<Answer> {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

/** Where a thread's jobs are sent to. */
export interface JobPort<Job> {
  postMessage(request: ThreadRequest<Job>): void
}

/** The jobs that were sent to a store thread and are not answered yet. */
export class ThreadCalls<Job, Answer> {
  readonly #waiting = new Map<number, Waiting<Answer>>()
  #number = 0

  /** Rejects with `StoreUnavailable` or, where only this job failed, `StoreRefused`. */
  send(job: Job, to: JobPort<Job>): Promise<Answer> {
    const request: ThreadRequest<Job> = { number: this.#number++, job }
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.number, { resolve, reject })
      to.postMessage(request)
    })
  }

  /** Gives an answer to who waits for it. */
  answered(reply: ThreadReply<Answer>): void {
    const waiting = this.#waiting.get(reply.number)
    if (waiting === undefined) return
    this.#waiting.delete(reply.number)
    if (reply.kind === 'answer') waiting.resolve(reply.answer)
    else if (reply.failure.unavailable) waiting.reject(new StoreUnavailable(reply.failure.message))
    else waiting.reject(new StoreRefused(reply.failure.message))
  }

  /** Fails all that wait: the thread has ended. */
  fail(message: string): void {
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting) reject(new StoreUnavailable(message))
  }
}
