import { type MessagePort, parentPort } from 'node:worker_threads'
import { isUnavailable } from './sqlite-failure.ts'
import type {
  ThreadAttachment,
  ThreadDetached,
  ThreadFailure,
  ThreadReply,
  ThreadRequest,
} from './thread-messages.ts'

/** What answers the jobs of a store thread, one at a time, in the order they were sent. */
export interface ThreadDesk<Job, Answer> {
  answer(job: Job): Answer
}

/**
 * Runs a store thread's side: answers each job that the main thread sends, and those of the threads that
 * it attaches. The desk is opened by the first job and, where opening failed, again by the next, so that
 * a store that comes back is found.
 */
export function serveThread<Job, Answer>(openDesk: () => ThreadDesk<Job, Answer>): void {
  const main = parentPort
  if (main === null) throw new Error('a store thread is started by the main thread')
  let desk: ThreadDesk<Job, Answer> | null = null
  const answer = (port: MessagePort, { number, job }: ThreadRequest<Job>): void => {
    let reply: ThreadReply<Answer>
    try {
      desk ??= openDesk()
      reply = { number, kind: 'answer', answer: desk.answer(job) }
    } catch (error) {
      reply = { number, kind: 'failure', failure: failureOf(error) }
    }
    port.postMessage(reply)
  }
  main.on('message', (message: ThreadRequest<Job> | ThreadAttachment) => {
    if (!('attach' in message)) {
      answer(main, message)
      return
    }
    const { number, attach } = message
    attach.on('message', (request: ThreadRequest<Job>) => answer(attach, request))
    // Comes after the last message that its sender wrote, however that thread has ended.
    attach.on('close', () =>
      main.postMessage({ number, kind: 'detached' } satisfies ThreadDetached),
    )
  })
}

function failureOf(error: unknown): ThreadFailure {
  const message = error instanceof Error ? error.message : String(error)
  return { unavailable: isUnavailable(error), message }
}
