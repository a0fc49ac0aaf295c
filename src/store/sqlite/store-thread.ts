import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { assertNever } from '../../vocabulary/assert-never.ts'
import { messageOf } from '../../vocabulary/message-of.ts'
import {
  CommandImpossible,
  isRefusedBySqlite,
  isUnavailable,
  NotSent,
  ReadRefused,
  type StoreFault,
  StoreRefused,
  StoreUnavailable,
  storeFaultOf,
} from '../store-failure.ts'
import { type JobHost, serveHost, startProcess, startThread } from './job-host.ts'

/** A message to a store thread: a job, or the request to close. The number of a job returns in its reply. */
type ThreadRequest<Job> =
  | { readonly number: number; readonly job: Job }
  | { readonly closing: true }

/**
 * The failed part: the store as a whole, after or before anything of the job was done, this one job at the store, or the
 * job itself.
 */
type JobFailure = 'unavailable' | 'notSent' | 'refused' | 'impossible'

/** The reply to a job. Errors don't cross threads as they are. */
type ThreadReply<Result> =
  | { readonly number: number; readonly kind: 'done'; readonly result: Result }
  | {
      readonly number: number
      readonly kind: 'failed'
      readonly message: string
      readonly failure: JobFailure
      readonly fault: StoreFault | null
    }

interface StoreThreadInput {
  /** The file that the thread runs; it calls {@link serveThread}. */
  readonly entry: URL
  /** The value that the thread opens its job runner with. */
  readonly startWith: unknown
  /**
   * How long a job may take. The thread is then a process of its own, which is killed. Jobs must come one after the
   * other. Default: no limit.
   */
  readonly jobTimeoutMs?: number | undefined
  /** How long the thread may take to close its connection before it is terminated. Default a minute. */
  readonly closeTimeoutMs?: number
}

const CLOSE_TIMEOUT_MS_DEFAULT = 60_000

/**
 * A worker thread that owns one connection to the store, or a process where jobs have a time limit. When a thread
 * dies, the jobs that it was given fail with `StoreUnavailable`, and the next job starts another thread.
 */
export class StoreThread<Job, Result> {
  readonly #input: StoreThreadInput
  readonly #waiting = new Map<
    number,
    {
      readonly resolve: (result: Result) => void
      readonly reject: (error: Error) => void
      readonly stopTimer: () => void
    }
  >()
  #jobs = 0
  #host: JobHost | null = null
  #closed = false
  #onExit: () => void = () => {}

  constructor(input: StoreThreadInput) {
    this.#input = input
  }

  /**
   * Rejects with `StoreUnavailable` (`NotSent` if the runner threw that) or, where only this job failed,
   * `StoreRefused`; with `ReadRefused` where the job took too long.
   */
  call(job: Job): Promise<Result> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    this.#host ??= this.#start()
    const host = this.#host
    const request: ThreadRequest<Job> = { number: this.#jobs++, job }
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.number, { resolve, reject, stopTimer: this.#startTimer(host) })
      host.post(request)
    })
  }

  /** Settles the jobs whose replies have arrived, before the event loop delivers them. */
  takeReplies(): void {
    this.#host?.takeMessages()
  }

  /**
   * Ends the thread after its jobs are done and its connection is closed. A thread that takes longer than
   * `closeTimeoutMs` is terminated, and its jobs fail.
   */
  async close(): Promise<void> {
    this.#closed = true
    const host = this.#host
    if (host === null) return
    const ended = Promise.withResolvers<void>()
    this.#onExit = ended.resolve
    const { closeTimeoutMs = CLOSE_TIMEOUT_MS_DEFAULT } = this.#input
    const timer = setTimeout(() => host.kill(), closeTimeoutMs)
    host.post({ closing: true } satisfies ThreadRequest<Job>)
    await ended.promise
    clearTimeout(timer)
  }

  #start(): JobHost {
    const { entry, startWith, jobTimeoutMs } = this.#input
    const start = jobTimeoutMs === undefined ? startThread : startProcess
    const host = start({
      entry,
      startWith,
      // Both sides are this program's.
      onMessage: (reply) => this.#settle(reply as ThreadReply<Result>),
      onExit: (cause) => {
        if (this.#host !== host) return
        const failure =
          cause === null ? 'the store thread ended' : `the store thread failed: ${cause}`
        this.#lose(new StoreUnavailable(failure))
      },
    })
    return host
  }

  /** Fails the jobs of a thread that has ended. */
  #lose(failure: Error): void {
    this.#host = null
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject, stopTimer } of waiting) {
      stopTimer()
      reject(failure)
    }
    this.#onExit()
  }

  #startTimer(host: JobHost): () => void {
    const { jobTimeoutMs } = this.#input
    if (jobTimeoutMs === undefined) return () => {}
    const timer = setTimeout(() => {
      host.kill()
      this.#lose(new ReadRefused('tooLong'))
    }, jobTimeoutMs)
    return () => clearTimeout(timer)
  }

  #settle(reply: ThreadReply<Result>): void {
    const waiting = this.#waiting.get(reply.number)
    if (waiting === undefined) return
    this.#waiting.delete(reply.number)
    waiting.stopTimer()
    if (reply.kind === 'done') waiting.resolve(reply.result)
    else waiting.reject(errorOf(reply))
  }
}

function errorOf({
  failure,
  message,
  fault,
}: Extract<ThreadReply<unknown>, { readonly kind: 'failed' }>): Error {
  switch (failure) {
    case 'unavailable':
      return new StoreUnavailable(message, { fault })
    case 'notSent':
      return new NotSent(message, { fault })
    case 'refused':
      return new StoreRefused(message)
    case 'impossible':
      return new CommandImpossible(message)
    default:
      return assertNever(failure)
  }
}

function failureOf(error: unknown): JobFailure {
  if (error instanceof NotSent) return 'notSent'
  if (error instanceof StoreUnavailable || isUnavailable(error)) return 'unavailable'
  return isRefusedBySqlite(error) ? 'refused' : 'impossible'
}

/** Runs the jobs of a store thread, one at a time, in the order in which they were sent. */
export interface JobRunner<Job, Result> {
  run(job: Job): Result
  /** Called after the last job, before the thread ends. */
  close(): void
}

/**
 * The thread's side of {@link StoreThread}. The first job opens the runner with the thread's `startWith`; after a
 * failure to open it, the next job tries again, so that the thread recovers when the store comes back.
 */
export function serveThread<Job, Result>(
  openRunner: (startWith: unknown) => JobRunner<Job, Result>,
): void {
  serveHost((startWith, line) => {
    let runner: JobRunner<Job, Result> | null = null
    const replyTo = (number: number, job: Job): ThreadReply<Result> => {
      try {
        runner ??= openRunner(startWith)
        return { number, kind: 'done', result: runner.run(job) }
      } catch (error) {
        const failed = { failure: failureOf(error), fault: storeFaultOf(error) }
        return { number, kind: 'failed', message: messageOf(error), ...failed }
      }
    }
    line.onMessage((message) => {
      // Both sides are this program's.
      const request = message as ThreadRequest<Job>
      if ('job' in request) {
        line.post(replyTo(request.number, request.job))
        return
      }
      try {
        runner?.close()
      } finally {
        line.close()
      }
    })
  })
}

type Collect = (how: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void

/** Collects all garbage of this thread and gives the free memory back to the system: some ten milliseconds. */
export function collectGarbage(): void {
  // Contexts that any thread makes from now on have it. It stays set: another thread may be about to make one.
  setFlagsFromString('--expose-gc')
  const collect: Collect = runInNewContext('gc')
  // The usual kind of collection keeps the pages that it empties.
  collect({ type: 'major', flavor: 'last-resort' })
}
