import { FairQueue } from '../vocabulary/fair-queue.ts'
import { Problem } from '../vocabulary/problem.ts'

const WAITING_MAX = 256
// One key leaves most of the queue to others, even if its own limit of requests in flight is higher.
const WAITING_OF_KEY_MAX = 64
const RETRY_AFTER_SECONDS = 1

/** The calls that an upstream has at once, and those that wait for a place. API keys take turns. */
export function openInFlight({
  inFlightMax,
  queueTimeoutMs,
}: {
  /** The most calls that may run at once. */
  readonly inFlightMax: number
  /** How long a call waits for a place. */
  readonly queueTimeoutMs: number
}): FairQueue {
  return new FairQueue({
    placesMax: inFlightMax,
    lanes: [{ waitingMax: WAITING_MAX, waitingOfOwnerMax: WAITING_OF_KEY_MAX }],
    waitTimeoutMs: queueTimeoutMs,
    refusal: () =>
      new Problem('service_unavailable', {
        message: 'This model has too many requests at once. Try again in a moment.',
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      }),
  })
}
