import type { ReadinessCheck } from '../http/health.ts'
import type { MetricsSnapshot } from '../telemetry/metrics.ts'
import type { Config } from './config.ts'
import type { UpstreamAddress } from './wiring.ts'

/** The first message to a worker process. */
export interface WorkerStart {
  readonly kind: 'start'
  /** Of this worker: with the port that all workers share, and its own part of the buffer memory. */
  readonly config: Config
  readonly upstream: UpstreamAddress
}

/** What the parent sends a worker process. All but the start comes after the worker has said that it serves. */
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

/** What a worker process sends its parent. */
export type FromWorker =
  | { readonly kind: 'serving'; readonly address: string }
  /** It could not start, and ends. */
  | { readonly kind: 'failed'; readonly message: string }
  /** Its own checks that fail. */
  | { readonly kind: 'seen'; readonly faults: readonly ReadinessCheck[] }
  | { readonly kind: 'metrics'; readonly snapshot: MetricsSnapshot }
  /** Answered by `page`. */
  | { readonly kind: 'pageWanted' }
