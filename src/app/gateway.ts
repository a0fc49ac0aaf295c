import { randomFillSync } from 'node:crypto'
import type { Logger } from 'pino'
import type { CatalogRefreshers } from '../catalog/catalog-refreshers.ts'
import type { WireFormat } from '../formats/format.ts'
import { FORMATS } from '../formats/formats.ts'
import type { BatchedLedger } from '../ledger/engines/batched-ledger.ts'
import type { ForgottenHolds } from '../ledger/instances/forgotten-holds.ts'
import { OPERATIONS, type OperationSource } from '../operations/operations.ts'
import { type Passwords, scryptPasswords } from '../people/passwords.ts'
import type { Store } from '../store/store.ts'
import { DIALECTS } from '../upstreams/dialects.ts'
import type { ConfiguredUpstreams } from '../upstreams/upstream-settings.ts'
import type { RefusalCounter } from '../usage/refusals.ts'
import { IdHours } from '../usage/usage-roller.ts'
import { type Clock, systemClock } from '../vocabulary/clock.ts'
import { createIdSource, type IdSource } from '../vocabulary/ids.ts'
import type { Config } from './config.ts'
import { openCatalog, openUpstreams } from './open-catalog.ts'
import { openReconcilers, type Reconcilers } from './open-reconcilers.ts'
import { openServedStore } from './open-served-store.ts'
import { openServing } from './open-serving.ts'
import { openTelemetry } from './open-telemetry.ts'
import { openUpkeep, openWebhooks } from './open-upkeep.ts'
import { openVerification } from './open-verification.ts'
import { openReplicationWatch } from './replication-watch.ts'
import { openWhole, type Wiring } from './wiring.ts'

interface StartGatewayInput {
  readonly config: Config
  /** Default {@link FORMATS}. */
  readonly formats?: readonly WireFormat[]
  /** Default {@link OPERATIONS}. */
  readonly operations?: readonly OperationSource[]
  /** Default {@link DIALECTS}. */
  readonly dialects?: typeof DIALECTS
  readonly configured: ConfiguredUpstreams
  readonly log: Logger
  /** Default the system's. */
  readonly clock?: Clock
  /** Default {@link scryptPasswords}. */
  readonly passwords?: Passwords
}

/** A serving gateway. */
export interface Gateway {
  /** Its address for clients: `http://127.0.0.1:8787`. */
  readonly address: string
  /** The address of metrics on a separate port; null: they have none. */
  readonly metricsAddress: string | null
  readonly store: Store
  readonly ledger: BatchedLedger
  readonly ids: IdSource
  readonly refresher: CatalogRefreshers
  readonly forgottenHolds: Pick<ForgottenHolds, 'look'>
  readonly refusals: Pick<RefusalCounter, 'write'>
  /** Resolves when no request is in flight and no settle is running. */
  settled(): Promise<void>
  /** Takes no new requests, lets those in flight end within the drain timeout, and closes everything. */
  close(): Promise<void>
}

/**
 * Wires the whole gateway by hand and starts it: each part's opening is followed by its closing, and
 * they close in reverse. If a part throws on opening, the open parts are closed, and it throws the same.
 */
export function startGateway(input: StartGatewayInput): Promise<Gateway> {
  return openWhole((closing) => open(input, closing))
}

async function open(input: StartGatewayInput, closing: AsyncDisposableStack): Promise<Gateway> {
  const { config, formats = FORMATS, operations = OPERATIONS, dialects = DIALECTS } = input
  const { configured, log, clock = systemClock, passwords = scryptPasswords } = input
  const idHours = new IdHours(clock)
  const ids = createIdSource({ clock: idHours, fillRandom: (bytes) => randomFillSync(bytes) })
  const started = {
    config,
    formats,
    operations,
    dialects,
    configured,
    log,
    clock,
    ids,
    passwords,
    closing,
  }
  const telemetryParts = await openTelemetry(started)
  const { telemetry, metricsAddress } = telemetryParts
  const wiring: Wiring = { ...started, telemetry }
  // Null until it is open: it begins with all that was left before.
  let reconcilers: Reconcilers | null = null
  let refreshers: CatalogRefreshers | null = null
  const served = await openServedStore(wiring, {
    onAbandoned: () => reconcilers?.scanNow(),
    onWentBack: () => void refreshers?.refreshNow(),
  })
  // Usage is added up by the times in the IDs of requests, which the machines of several gateways would not agree on.
  idHours.follow(served.storeClock)
  const upstreams = await openUpstreams(wiring)
  const verification = await openVerification(wiring, {
    ...served,
    upstreams,
    onRecalled: () => reconcilers?.scanNow(),
  })
  const opened = await openCatalog(wiring, {
    ...served,
    upstreams,
    onRefreshed: (upstream) => verification.refreshed(upstream),
  })
  const { catalog } = opened
  refreshers = opened.refreshers
  openUpkeep(wiring, { ...served, idHours })
  openReplicationWatch(wiring, { store: served.store })
  const webhooks = openWebhooks(wiring, served)
  reconcilers = openReconcilers(wiring, { ...served, upstreams, verification })
  const serving = await openServing(wiring, {
    ...served,
    telemetryParts,
    upstreams,
    catalog,
    refreshers,
    reconcilers,
    verification,
    webhooks,
  })
  const { store, ledger } = served
  return {
    ...serving,
    metricsAddress,
    store,
    ledger,
    ids,
    refresher: refreshers,
    close: () => closing.disposeAsync(),
  }
}
