import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { ReadinessCheck } from '../http/health.ts'
import type { MetricsSnapshot } from '../telemetry/metrics.ts'
import { SumMetrics } from '../telemetry/sum-metrics.ts'
import type { ConfiguredUpstreams } from '../upstreams/upstream-settings.ts'
import type { Config } from './config.ts'
import { WorkerFailure } from './start-failure.ts'

interface WorkerProcessesInput {
  /** The file that each process runs. */
  readonly entry: URL
  readonly count: number
  readonly startWith: Omit<WorkerStart, 'kind'>
  readonly log: Logger
  /** Takes whole lines of the workers' logs. */
  readonly writeLog: (lines: string) => void
  /** Time between two checks of each worker. Default 1,000. */
  readonly lookEveryMs?: number
}

interface Worker {
  /** From 1 on; the process that replaces it has the same number. */
  readonly number: number
  readonly child: ChildProcess
  readonly gone: Promise<void>
  /** Null until it serves. */
  servingSinceMs: number | null
  /** Why it could not start or was killed; null: neither is known. */
  failure: string | null
  /** Its own readiness checks that failed at the latest look. */
  faults: readonly ReadinessCheck[]
  /** Checks that it has not answered yet. */
  looksUnanswered: number
  /** Its metrics as of its latest answer. */
  metrics: MetricsSnapshot
  /** Resolved by its next answer; null: it has not been asked. */
  metricsAsked: PromiseWithResolvers<void> | null
}

const RETRY_MS_MIN = 100
const RETRY_MS_MAX = 30_000
// A worker that ran this long did not end because of its start-up input: its back-off starts again.
const STEADY_AFTER_MS = 60_000
const METRICS_WAIT_MS = 5_000
const LOOK_EVERY_MS = 1_000
// Counted in checks and not in time: while the whole machine sleeps, the parent does not check either.
const LOOKS_UNANSWERED_MAX = 30

const MISSING: ReadinessCheck = {
  name: 'serving',
  fault: 'A worker of this server does not serve yet: it is starting, or replaces one that ended.',
}

/** The worker processes of a server. One that ends is replaced; one whose event loop stands still is killed first. */
export class WorkerProcesses {
  readonly #input: WorkerProcessesInput
  /** By number, those that have not ended. */
  readonly #workers = new Map<number, Worker>()
  readonly #retries = new Map<number, NodeJS.Timeout>()
  readonly #endsInARow = new Map<number, number>()
  readonly #metrics = new SumMetrics()
  #looking: NodeJS.Timeout | undefined
  readonly #killAll = (): void => {
    for (const { child } of this.#workers.values()) child.kill('SIGKILL')
  }
  readonly #unclean: string[] = []
  #rendering: Promise<string> | null = null
  #stopping = false

  constructor(input: WorkerProcessesInput) {
    this.#input = input
  }

  /**
   * Resolves when all serve, with where clients reach any of them. Rejects with `WorkerFailure` where one
   * can't serve; to be stopped then too.
   */
  async start(): Promise<string> {
    const { count, lookEveryMs = LOOK_EVERY_MS } = this.#input
    this.#looking = setInterval(() => this.#lookAtEach(), lookEveryMs)
    // No worker outlives this process, however it ends.
    process.once('exit', this.#killAll)
    const numbers = Array.from({ length: count }, (_, place) => place + 1)
    const [address = ''] = await Promise.all(numbers.map((number) => this.#start(number)))
    return address
  }

  /** One page of the metrics of all workers, without what a worker counted that does not answer in time. */
  metricsPage(): Promise<string> {
    // Concurrent calls share one round of messages to the workers.
    this.#rendering ??= this.#render().finally(() => {
      this.#rendering = null
    })
    return this.#rendering
  }

  /**
   * Has all workers stop, and resolves when their requests have ended and they are gone. Rejects with
   * `WorkerFailure` where one ended otherwise.
   */
  async stop(): Promise<void> {
    this.#stopping = true
    for (const timer of this.#retries.values()) clearTimeout(timer)
    const workers = [...this.#workers.values()]
    for (const worker of workers) {
      // A worker that does not serve yet has no requests in flight.
      if (worker.servingSinceMs === null) worker.child.kill('SIGKILL')
      else send(worker, { kind: 'stop' })
    }
    await Promise.all(workers.map(({ gone }) => gone))
    clearInterval(this.#looking)
    process.off('exit', this.#killAll)
    if (this.#unclean.length > 0) throw new WorkerFailure(this.#unclean.join('; '))
  }

  /**
   * Resolves when it serves, with its address. Rejects with `WorkerFailure` where it ends before, and with
   * another error where the system can't make a process.
   */
  async #start(number: number): Promise<string> {
    const { entry, startWith, log } = this.#input
    const child = fork(entry, {
      // Metrics have figures that are no JSON, such as NaN.
      serialization: 'advanced',
      // In a session of its own: a terminal then sends Ctrl-C to this process alone, which stops its workers.
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
    const served = Promise.withResolvers<string>()
    const gone = Promise.withResolvers<void>()
    const worker: Worker = {
      number,
      child,
      gone: gone.promise,
      servingSinceMs: null,
      failure: null,
      faults: [],
      looksUnanswered: 0,
      metrics: [],
      metricsAsked: null,
    }
    this.#workers.set(number, worker)
    child.on('message', (message: FromWorker) => {
      this.#received(worker, message)
      if (message.kind === 'serving') served.resolve(message.address)
    })
    const ended = (how: WorkerExit): void => {
      const why = worker.failure ?? `it ended ${how.words}`
      served.reject(new WorkerFailure(`worker ${number} could not start: ${why}`))
      this.#ended(worker, how)
      gone.resolve()
    }
    // Comes after the last line of its log.
    child.once('close', (code, signal) =>
      ended({ words: signal === null ? `with ${code}` : `by ${signal}`, isClean: code === 0 }),
    )
    child.on('error', ({ message }) => {
      if (child.pid === undefined) ended({ words: `at once: ${message}`, isClean: false })
      else log.warn({ worker: number, cause: message }, 'a message to a worker could not be sent')
    })
    relayLines(child, this.#input.writeLog)
    send(worker, { kind: 'start', ...startWith })
    return served.promise
  }

  #received(worker: Worker, message: FromWorker): void {
    switch (message.kind) {
      case 'serving':
        worker.servingSinceMs = performance.now()
        this.#input.log.info(
          { worker: worker.number, workerPid: worker.child.pid },
          'worker serves',
        )
        this.#tellFaults()
        return
      case 'failed':
        worker.failure = message.message
        return
      case 'seen':
        worker.looksUnanswered = 0
        worker.faults = message.faults
        return
      case 'metrics':
        worker.metrics = message.snapshot
        worker.metricsAsked?.resolve()
        return
      case 'pageWanted':
        void this.#answerPage(worker)
        return
    }
  }

  #ended(worker: Worker, { words, isClean }: WorkerExit): void {
    const { number, failure, metrics, servingSinceMs } = worker
    if (this.#workers.get(number) !== worker) return
    this.#workers.delete(number)
    this.#metrics.workerEnded(metrics)
    worker.metricsAsked?.resolve()
    if (this.#stopping) {
      if (servingSinceMs !== null && !isClean) {
        this.#unclean.push(`worker ${number} ended ${words} while it stopped`)
      }
      return
    }
    // A first start that fails is the failure of the whole server.
    const isFirstStart = servingSinceMs === null && !this.#endsInARow.has(number)
    if (!isFirstStart) this.#replace(worker, failure ?? `it ended ${words}`)
  }

  /** By position: the worker that has ended, and why. */
  #replace(worker: Worker, cause: string): void {
    if (this.#stopping) return
    const { number, child, servingSinceMs } = worker
    const isSteady = servingSinceMs !== null && performance.now() - servingSinceMs > STEADY_AFTER_MS
    const before = isSteady ? 0 : (this.#endsInARow.get(number) ?? 0)
    this.#endsInARow.set(number, before + 1)
    const retryMs = Math.min(RETRY_MS_MIN * 2 ** before, RETRY_MS_MAX)
    this.#input.log.error(
      { worker: number, workerPid: child.pid, cause, retryMs },
      'worker ended and will be replaced',
    )
    this.#tellFaults()
    const retry = (): void => {
      this.#retries.delete(number)
      this.#start(number).catch((again: unknown) => {
        // Where it ended before it served, its end has had it replaced.
        if (again instanceof WorkerFailure) return
        this.#replace({ ...worker, servingSinceMs: null }, String(again))
      })
    }
    this.#retries.set(number, setTimeout(retry, retryMs))
  }

  /** Kills each worker whose event loop has stood still for long: its clients would wait for ever. */
  #lookAtEach(): void {
    for (const worker of this.#serving()) {
      if (worker.looksUnanswered === LOOKS_UNANSWERED_MAX) {
        worker.failure = 'its event loop stood still'
        worker.child.kill('SIGKILL')
      }
      worker.looksUnanswered += 1
    }
    this.#tellFaults()
  }

  /** Sends each worker the failing checks of the others, so that any of them can answer for all. */
  #tellFaults(): void {
    const serving = this.#serving()
    const missing = serving.length === this.#input.count ? [] : [MISSING]
    for (const worker of serving) {
      const others = serving.filter((other) => other !== worker)
      const faults = [...missing, ...others.flatMap((other) => other.faults)]
      send(worker, { kind: 'look', faults })
    }
  }

  #serving(): Worker[] {
    return [...this.#workers.values()].filter(({ servingSinceMs }) => servingSinceMs !== null)
  }

  async #render(): Promise<string> {
    const asked = this.#serving().map((worker) => {
      const answered = Promise.withResolvers<void>()
      worker.metricsAsked = answered
      send(worker, { kind: 'metrics' })
      return answered.promise
    })
    const waiting = new AbortController()
    const outOfTime = delay(METRICS_WAIT_MS, null, { signal: waiting.signal }).catch(() => {})
    await Promise.race([Promise.all(asked), outOfTime])
    waiting.abort()
    return this.#metrics.page([...this.#workers.values()].map(({ metrics }) => metrics))
  }

  /** Never rejects. */
  async #answerPage(worker: Worker): Promise<void> {
    try {
      send(worker, { kind: 'page', page: await this.metricsPage() })
    } catch (cause) {
      this.#input.log.error(
        { cause: String(cause) },
        'the metrics of the workers could not be summed',
      )
      send(worker, { kind: 'page', page: '' })
    }
  }
}

/** How a process ended. */
interface WorkerExit {
  /** Such as `with 1` or `by SIGKILL`. */
  readonly words: string
  readonly isClean: boolean
}

/** By position: a worker, and the message. A worker that has ended gets nothing. */
function send({ child }: Worker, message: ToWorker): void {
  // A process that could not be made has no such method, against its type: its `error` event says why.
  child.send?.(message, () => {})
}

/** By position: a process, and what takes the whole lines of its standard output. */
function relayLines({ stdout }: ChildProcess, write: (lines: string) => void): void {
  let rest = ''
  stdout?.setEncoding('utf8')
  stdout?.on('data', (text: string) => {
    const lines = rest + text
    const end = lines.lastIndexOf('\n') + 1
    rest = lines.slice(end)
    if (end > 0) write(lines.slice(0, end))
  })
}

/** The first message to a worker process. */
export interface WorkerStart {
  readonly kind: 'start'
  /** Of this worker: with the port that all workers share, and its own part of the buffer memory. */
  readonly config: Config
  readonly configured: ConfiguredUpstreams
}

/** Messages to a worker process. All but `start` are sent after the worker has sent `serving`. */
export type ToWorker =
  | WorkerStart
  /** Ends the worker once its requests have ended. */
  | { readonly kind: 'stop' }
  /** Once a second, and when another worker ends: the checks that fail elsewhere. Answered by `seen`. */
  | { readonly kind: 'look'; readonly faults: readonly ReadinessCheck[] }
  /** Answered by `metrics`. */
  | { readonly kind: 'metrics' }
  /** The page that the worker asked for: the metrics of all workers. */
  | { readonly kind: 'page'; readonly page: string }

/** Messages from a worker process. */
export type FromWorker =
  | { readonly kind: 'serving'; readonly address: string }
  /** It could not start, and ends. */
  | { readonly kind: 'failed'; readonly message: string }
  /** Its own checks that fail. */
  | { readonly kind: 'seen'; readonly faults: readonly ReadinessCheck[] }
  | { readonly kind: 'metrics'; readonly snapshot: MetricsSnapshot }
  /** Answered by `page`. */
  | { readonly kind: 'pageWanted' }
