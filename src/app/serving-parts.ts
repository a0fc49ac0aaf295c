import type { Catalog } from '../catalog/catalog.ts'
import type { CatalogRefreshers } from '../catalog/catalog-refreshers.ts'
import type { EndedRequest } from '../http/inference.ts'
import type { Authenticator } from '../journey/gate/authenticator.ts'
import type { UnknownCallers } from '../journey/gate/unknown-callers.ts'
import type { JourneyParts } from '../journey/journey-parts.ts'
import type { Arrival } from '../vocabulary/call.ts'
import type { Watcher } from '../webhooks/watcher.ts'
import type { OpenUpstream } from './open-catalog.ts'
import type { Reconcilers } from './open-reconcilers.ts'
import type { ServedStore } from './open-served-store.ts'
import type { TelemetryParts } from './open-telemetry.ts'
import type { Verification } from './open-verification.ts'

/** The open parts that serve requests and operations. */
export interface ServingParts extends ServedStore {
  readonly telemetryParts: TelemetryParts
  readonly upstreams: ReadonlyMap<string, OpenUpstream>
  readonly catalog: Catalog
  readonly refreshers: CatalogRefreshers
  readonly verification: Verification
  readonly reconcilers: Reconcilers
  /** Notices the account and the key of each request that has ended. */
  readonly webhooks: Pick<Watcher, 'noticed'>
}

/** The parts of the HTTP server. */
export interface HttpParts extends ServingParts {
  readonly journeyParts: JourneyParts
  readonly authenticator: Authenticator
  readonly unknownCallers: UnknownCallers
  /** The address that a client is counted under. */
  readonly addressOf: (arrival: Arrival) => string
  /** Counts the requests that were refused. */
  readonly refusals: { readonly requestEnded: (ended: EndedRequest) => void }
}
