import type { EndedRequest } from '../http/inference.ts'

/** Makes the spans of each request, once it has ended. */
export interface RequestTracer {
  /** Queues the spans of a request that has ended, if it is one of those that are kept. Never throws. */
  requestEnded(ended: EndedRequest): void
  /** Sends what is queued, within a few seconds, and stops. Never rejects. */
  close(): Promise<void>
}
