import type { EndedRequest } from '../http/inference.ts'
import { CLIENT_LEFT } from '../journey/client-answer.ts'
import { RefusalCounter } from '../usage/refusals.ts'
import type { ServedStore } from './open-served-store.ts'
import { running, type Wiring, warning } from './wiring.ts'

/** Counts requests of known API keys that are refused before their holds open. */
export interface Refusals {
  /** A request has ended. */
  requestEnded(ended: EndedRequest): void
  /** Adds the counts to the store now. Rejects if the store fails. */
  write(): Promise<void>
}

/** Opens the counts of refused requests. They are written to the store every few seconds and when they are closed. */
export function openRefusals(
  { log, closing }: Wiring,
  { store, storeClock: clock }: ServedStore,
): Refusals {
  const counter = new RefusalCounter({
    db: store.db,
    clock,
    onUncounted: (requests) =>
      log.warn({ requests }, 'requests of too many API keys were refused: some are not counted'),
    onFailure: warning(log, 'refused requests could not be counted in the store'),
  })
  running({ closing }, counter)
  return {
    requestEnded({ problem, record: { accountId, apiKeyId, holdMicros } }) {
      // A client that has left was not answered.
      if (problem === null || holdMicros !== null || problem.httpStatus === CLIENT_LEFT) return
      // Without a known key, the request is of no account.
      if (accountId === null || apiKeyId === null) return
      counter.count({ accountId, apiKeyId, code: problem.code })
    },
    write: () => counter.write(),
  }
}
