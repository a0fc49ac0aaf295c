import type { MessagePort } from 'node:worker_threads'
import type { CatalogRow } from '../catalog/row.ts'
import type { ReadinessCheck } from '../http/health.ts'
import type { Config } from './config.ts'
import type { UpstreamAddress } from './wiring.ts'

/** What a worker thread begins with. */
export interface WorkerStart {
  /** From 1 on; whoever takes its place has it too. */
  readonly number: number
  /** Whose holds its holds are: no other thread ever has it. */
  readonly instanceId: string
  /** Its `PORT` is the one that all workers listen on; 0 for the first of them. */
  readonly config: Config
  readonly upstream: UpstreamAddress
  /** To the thread that writes a SQLite store; null on PostgreSQL, where each worker has a connection. */
  readonly ledgerPort: MessagePort | null
  /** What each worker has of the memory for bodies, by number; the main thread has the first. */
  readonly bufferCells: BigInt64Array
  readonly catalogRows: readonly CatalogRow[]
  /** What is wrong with other threads. */
  readonly faults: readonly ReadinessCheck[]
}
