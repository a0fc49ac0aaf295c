import { parentPort } from 'node:worker_threads'
import { isUnavailable } from '../sqlite/sqlite-failure.ts'
import type { ThreadClosing, ThreadFailure, ThreadReply, ThreadRequest } from './thread-messages.ts'

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
