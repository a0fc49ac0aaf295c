import { parentPort, Worker } from 'node:worker_threads'
import { assertNever } from '../../vocabulary/assert-never.ts'
import {
  CommandImpossible,
  isRefusedBySqlite,
  isUnavailable,
  StoreRefused,
  StoreUnavailable,
} from '../store-failure.ts'

/** A message to a store thread: a job, or the request to close. The number of a job returns in its reply. */
type ThreadRequest<Job> =
  | { readonly number: number; readonly job: Job }
  | { readonly closing: true }

/** What failed: the store as a whole, this one job at the store, or the job itself. */
type JobFailure = 'unavailable' | 'refused' | 'impossible'

/** The reply to a job. Errors don't cross threads as they are. */
type ThreadReply<Result> =
  | { readonly number: number; readonly kind: 'done'; readonly result: Result }
  | {
      readonly number: number
      readonly kind: 'failed'
      readonly message: string
      readonly failure: JobFailure
    }

interface StoreThreadInput {
  /** The file that the thread runs; it calls {@link serveThread}. */
  readonly entry: URL
  /** What the thread reads as its `workerData`. */
  readonly startWith: unknown
  /** How long the thread may take to close its connection before it is terminated. Default a minute. */
  readonly closeTimeoutMs?: number
}

const CLOSE_TIMEOUT_MS_DEFAULT = 60_000

/**
 * A worker thread that owns one connection to the store. When a thread dies, the jobs that it was given
 * fail with `StoreUnavailable`, and the next job starts another thread.
 */
export class StoreThread<Job, Result> {
  readonly #input: StoreThreadInput
  readonly #waiting = new Map<number, PromiseWithResolvers<Result>>()
  #jobs = 0
  #worker: Worker | null = null
  #closed = false

  constructor(input: StoreThreadInput) {
    this.#input = input
  }

  /** Rejects with `StoreUnavailable` or, where only this job failed, `StoreRefused`. */
  call(job: Job): Promise<Result> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    this.#worker ??= this.#start()
    const worker = this.#worker
    const request: ThreadRequest<Job> = { number: this.#jobs++, job }
    const waiting = Promise.withResolvers<Result>()
    this.#waiting.set(request.number, waiting)
    worker.postMessage(request)
    return waiting.promise
  }

  /**
   * Ends the thread after its jobs are done and its connection is closed. A thread that takes longer than
   * `closeTimeoutMs` is terminated, and its jobs fail.
   */
  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    if (worker === null) return
    const ended = Promise.withResolvers<void>()
    worker.once('exit', () => ended.resolve())
    const { closeTimeoutMs = CLOSE_TIMEOUT_MS_DEFAULT } = this.#input
    const timer = setTimeout(() => void worker.terminate(), closeTimeoutMs)
    worker.postMessage({ closing: true } satisfies ThreadRequest<Job>)
    await ended.promise
    clearTimeout(timer)
  }

  #start(): Worker {
    const worker = new Worker(this.#input.entry, {
      workerData: this.#input.startWith,
      execArgv: [],
      // The objects of a job are garbage when it is done: a larger young generation would only stay resident.
      resourceLimits: { maxYoungGenerationSizeMb: 12 },
    })
    let cause = 'the store thread ended'
    worker.on('message', (reply: ThreadReply<Result>) => this.#settle(reply))
    worker.on('error', (error: Error) => {
      cause = `the store thread failed: ${error.message}`
    })
    worker.on('exit', () => {
      if (this.#worker !== worker) return
      this.#worker = null
      const waiting = [...this.#waiting.values()]
      this.#waiting.clear()
      for (const { reject } of waiting) reject(new StoreUnavailable(cause))
    })
    return worker
  }

  #settle(reply: ThreadReply<Result>): void {
    const waiting = this.#waiting.get(reply.number)
    if (waiting === undefined) return
    this.#waiting.delete(reply.number)
    if (reply.kind === 'done') waiting.resolve(reply.result)
    else waiting.reject(errorOf(reply.failure, reply.message))
  }
}

/** By position: what failed, and how. */
function errorOf(failure: JobFailure, message: string): Error {
  switch (failure) {
    case 'unavailable':
      return new StoreUnavailable(message)
    case 'refused':
      return new StoreRefused(message)
    case 'impossible':
      return new CommandImpossible(message)
    default:
      return assertNever(failure)
  }
}

function failureOf(error: unknown): JobFailure {
  if (isUnavailable(error)) return 'unavailable'
  return isRefusedBySqlite(error) ? 'refused' : 'impossible'
}

/** Runs the jobs of a store thread, one at a time, in the order in which they were sent. */
export interface JobRunner<Job, Result> {
  run(job: Job): Result
  /** Called after the last job, before the thread ends. */
  close(): void
}

/**
 * The thread's side of {@link StoreThread}. The first job opens the runner; after a failure to open it, the
 * next job tries again, so that the thread recovers when the store comes back.
 */
export function serveThread<Job, Result>(openRunner: () => JobRunner<Job, Result>): void {
  const main = parentPort
  if (main === null) throw new Error('a store thread is started by the main thread')
  let runner: JobRunner<Job, Result> | null = null
  const replyTo = (number: number, job: Job): ThreadReply<Result> => {
    try {
      runner ??= openRunner()
      return { number, kind: 'done', result: runner.run(job) }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return { number, kind: 'failed', message, failure: failureOf(error) }
    }
  }
  main.on('message', (request: ThreadRequest<Job>) => {
    if ('job' in request) {
      main.postMessage(replyTo(request.number, request.job))
      return
    }
    // A thread without a port ends by itself.
    main.close()
    runner?.close()
  })
}
