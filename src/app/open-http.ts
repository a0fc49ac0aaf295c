import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Catalog } from '../catalog/catalog.ts'
import type { CatalogRefreshers } from '../catalog/catalog-refreshers.ts'
import {
  type AnsweredCall,
  adminAccess,
  anyoneAccess,
  CALL_LIMITS,
  keyAccess,
} from '../http/access.ts'
import type { ReadinessCheck } from '../http/health.ts'
import { createInference, type EndedRequest } from '../http/inference.ts'
import { createHttpServer, type ManagementInput } from '../http/server.ts'
import type { Authenticator } from '../journey/gate/authenticator.ts'
import { Gate } from '../journey/gate/gate.ts'
import { Maintenance } from '../journey/gate/maintenance.ts'
import type { UnknownCallers } from '../journey/gate/unknown-callers.ts'
import type { JourneyParts } from '../journey/journey-parts.ts'
import { MailServer } from '../mail/mail-server.ts'
import { Outbox } from '../mail/outbox.ts'
import type { OperationParts } from '../operations/operation.ts'
import { makeOperations } from '../operations/operations.ts'
import type { Arrival } from '../vocabulary/call.ts'
import type { Watcher } from '../webhooks/watcher.ts'
import { type Config, keyLimitsOf, pageUrlOf } from './config.ts'
import { faultOf, requestLogger } from './log.ts'
import { openKnownTokens, openTakenAccess } from './open-access.ts'
import type { OpenUpstream } from './open-catalog.ts'
import { BUILT_FOLDER, openPage } from './open-page.ts'
import type { Reconcilers } from './open-reconcilers.ts'
import { openSale } from './open-sale.ts'
import type { ServedStore } from './open-served-store.ts'
import type { TelemetryParts } from './open-telemetry.ts'
import type { Verification } from './open-verification.ts'
import { mailSettingsOf } from './settings/mail-settings.ts'
import { VERSION, type Wiring, warning } from './wiring.ts'

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
interface HttpParts extends ServingParts {
  readonly journeyParts: JourneyParts
  readonly authenticator: Authenticator
  readonly unknownCallers: UnknownCallers
  /** The address that a client is counted under. */
  readonly addressOf: (arrival: Arrival) => string
  /** Counts the requests that were refused. */
  readonly refusals: { readonly requestEnded: (ended: EndedRequest) => void }
}

/** Listens. It closes once every inference answer has been given, or the drain timeout is over. */
export async function openHttp(wiring: Wiring, http: HttpParts) {
  const { config, formats, configured, log, ids, telemetry, closing } = wiring
  const {
    journeyParts: parts,
    catalog,
    refreshers,
    authenticator,
    upstreams,
    telemetryParts,
  } = http
  const maintenance = await openMaintenance(wiring, http)
  const logRequest = requestLogger(log)
  // With PORT=0 the system chooses one when the server listens.
  let { PORT: port } = config
  const pageUrl = () => pageUrlOf({ ...config, PORT: port })
  const inference = createInference({
    parts,
    ids,
    bodyTimeoutMs: config.TOLLGATE_BODY_READ_TIMEOUT_MS,
    isInMaintenance: () => maintenance.isOn,
    onEnded: (ended) => {
      logRequest(ended)
      telemetry.requestEnded(ended)
      http.refusals.requestEnded(ended)
      const { accountId, apiKeyId } = ended.record
      if (accountId !== null && apiKeyId !== null) http.webhooks.noticed({ accountId, apiKeyId })
    },
  })
  const checks = (): readonly ReadinessCheck[] =>
    telemetryParts.readiness.checks({
      isDraining: () => inference.isDraining,
      isAlive: http.isAlive,
      pricesRefreshedAtMs() {
        // A gateway that is not ready gets no requests, which would have it catch up.
        refreshers.catchUp()
        return catalog.refreshedAtMs
      },
    })
  const server = createHttpServer({
    formats,
    publicNames: parts.publicNames,
    ids,
    inference,
    threadShare: parts.threadShare,
    catalog,
    async callerOf(arrival) {
      const { authorization, 'x-api-key': apiKey } = arrival.headers
      if (authorization === undefined && apiKey === undefined) return null
      // The list is no secret: with a key that is not good, all of it is answered.
      return authenticator.authenticate(arrival).catch(() => null)
    },
    root: {
      version: VERSION,
      mode: configured.mode,
    },
    readiness: checks,
    metrics: telemetryParts.metricsRoute,
    management: await managementOf(wiring, { ...http, pageUrl, maintenance, checks }),
    onFailure: (requestId, problem) =>
      log.error({ requestId, cause: faultOf(problem.cause) }, 'request failed'),
  })
  const { HOST: host, PORT: listenedPort } = config
  await server.listen({ host, port: listenedPort, backlog: BACKLOG, ...sharingOf(config) })
  closing.defer(() => server.close())
  const bound = server.server.address()
  if (bound !== null && typeof bound !== 'string') port = bound.port
  closing.defer(() =>
    inference.drain({
      timeoutMs: config.TOLLGATE_DRAIN_TIMEOUT_MS,
      cutOff: () => {
        for (const { upstream } of upstreams.values()) void upstream.destroy()
      },
    }),
  )
  return { address: addressOf(bound, config.HOST), inference, checks }
}

async function openMaintenance(
  { config, log, clock, closing }: Wiring,
  { store }: HttpParts,
): Promise<Maintenance> {
  const maintenance = await Maintenance.open({
    db: store.db,
    clock,
    pollMs: config.TOLLGATE_MAINTENANCE_POLL_MS,
    onFailure: warning(log, 'the maintenance switch could not be read from the store'),
  })
  closing.defer(() => maintenance.stop())
  if (maintenance.isOn)
    log.warn('maintenance is on: inference requests are refused until it is turned off')
  return maintenance
}

async function managementOf(
  wiring: Wiring,
  {
    pageUrl,
    maintenance,
    checks,
    ...http
  }: HttpParts & {
    readonly pageUrl: () => string
    readonly maintenance: Maintenance
    readonly checks: () => readonly ReadinessCheck[]
  },
): Promise<ManagementInput> {
  const { config, operations, log, clock, ids } = wiring
  const { store, ledger, storeClock, authenticator, unknownCallers, refreshers } = http
  const { ADMIN_API_TOKEN: adminToken } = config
  const calls = new Gate({ clock, settings: CALL_LIMITS })
  const byKey = keyAccess(calls, (arrival) => authenticator.authenticate(arrival))
  const outbox = openOutbox(wiring)
  const postLetter: Outbox['post'] | null =
    outbox && ((letter, untilMs) => outbox.post(letter, untilMs))
  const sold = await openSale(wiring, { ...http, pageUrl })
  const onAnswered = (call: AnsweredCall): void => log.info(call, 'admin')
  const takenAccess = openTakenAccess(wiring, http)
  const knownTokens = adminToken === null ? null : openKnownTokens(wiring, { ...http, takenAccess })
  return {
    sections: makeOperations(operations, {
      store,
      ledger,
      sale: sold?.sale ?? null,
      seller: { name: config.TOLLGATE_SELLER_NAME, taxId: config.TOLLGATE_SELLER_TAX_ID },
      ids,
      // What they write and compare is in this clock's time, as are the ledger's rows, the IDs of requests, by which usage
      // is added up, and the events of webhooks.
      clock: storeClock,
      keyTag: config.TOLLGATE_KEY_TAG,
      keyLimits: keyLimitsOf(config),
      get pageUrl() {
        return pageUrl()
      },
      serviceName: config.TOLLGATE_NAME,
      postLetter,
      webhookNetworks: config.TOLLGATE_WEBHOOK_NETWORKS,
      maintenance,
      refreshCatalog: () => refreshers.refreshNow(),
      upstreams: async () => upstreamFacts(wiring, http),
      server: servingFacts(wiring, {
        ...http,
        // Not of /readyz, which anyone can read: the answer of a mail server can name an address.
        checks: () => [...checks(), ...mailChecks(outbox)],
      }),
      onCallersChanged: async (changed) => authenticator.forget(changed),
      onAdminTokensChanged: async (revokedIds) => {
        takenAccess?.rememberRevoked(revokedIds)
        // A reading that fails is made again each second.
        await knownTokens?.reread().catch(() => {})
      },
    }),
    access:
      adminToken === null || knownTokens === null
        ? [anyoneAccess, byKey]
        : [
            anyoneAccess,
            byKey,
            adminAccess({ adminToken, knownTokens, ids, unknownCallers, onAnswered }),
          ],
    onAccessTaken: async () => takenAccess?.catchUp(),
    bodyTimeoutMs: config.TOLLGATE_BODY_READ_TIMEOUT_MS,
    document: {
      version: VERSION,
      costHeader: config.TOLLGATE_COST_HEADER,
      fontsFolder: join(BUILT_FOLDER, 'assets'),
    },
    page: openPage(wiring, { ...http, pageUrl, sellsCredit: sold !== null, postLetter }),
    playPage: sold?.playPage ?? null,
    webhook: sold?.webhook ?? null,
  }
}

/** The state of this process's upstreams; none for the simulator, which replaces them. */
function upstreamFacts(
  { configured }: Wiring,
  { verification, telemetryParts }: ServingParts,
): Awaited<ReturnType<OperationParts['upstreams']>> {
  if (configured.mode === 'simulator') return []
  return configured.upstreams.map(({ name, dialect, inFlightMax }) => ({
    name,
    dialect,
    inFlightMax,
    isAccountRefused: telemetryParts.readiness.isAccountRefused(name),
    left: verification.creditLeft(name),
  }))
}

/** The facts that operations read from the process that serves them. */
function servingFacts(
  { configured, log }: Wiring,
  {
    checks,
    catalog,
    refreshers,
    verification,
    reconcilers,
  }: ServingParts & Pick<NonNullable<OperationParts['server']>, 'checks'>,
): OperationParts['server'] {
  return {
    version: VERSION,
    mode: configured.mode,
    checks,
    catalog: () => ({
      models: catalog.modelIds.size,
      refreshedAtMs: catalog.refreshedAtMs,
      doubtedIds: refreshers.doubtedIds,
    }),
    modelsAt: (feeBasisPoints) => catalog.chargedAt(feeBasisPoints),
    catalogRows: () => catalog.rows().map((row) => ({ ...row, isStale: catalog.isStale(row) })),
    notOffered: () => refreshers.notOffered,
    verification: () => verification.report(),
    scheduleOf: (request, upstream) => reconcilers.scheduleOf(request, upstream),
    onReportFailure: warning(log, 'an audit could not be reported to webhooks'),
  }
}

/** Sends letters later; null: no email is sent. */
function openOutbox({ config, log, clock, closing }: Wiring): Outbox | null {
  const settings = mailSettingsOf(config)
  if (settings === null) return null
  if (config.TOLLGATE_PUBLIC_URL === null) {
    log.warn('links in emails work only on this machine: set TOLLGATE_PUBLIC_URL')
  }
  const outbox = new Outbox({
    server: new MailServer(settings),
    clock,
    onEnd(end) {
      if (end.kind === 'taken') log.debug(end, 'email')
      else log.warn(end, 'an email could not be sent')
    },
  })
  closing.defer(() => outbox.stop())
  return outbox
}

/** The check of the mail server; none where no email is sent. It only warns: requests are served without email. */
function mailChecks(
  outbox: Outbox | null,
): ReturnType<NonNullable<OperationParts['server']>['checks']> {
  if (outbox === null) return []
  const { failure } = outbox
  if (failure === null) return [{ name: 'email', fault: null }]
  const warning = `The last email could not be sent: ${failure}. Check SMTP_URL with "tollgate mail test".`
  return [{ name: 'email', fault: null, warning }]
}

// Connections that wait to be accepted, as many as Linux allows by default: beyond Node's 511, those that come while the
// thread is busy would be dropped, and their clients would try again after one second, three, seven.
const BACKLOG = 4_096

/** Several processes may listen on one port: the system gives each connection to one of them. */
function sharingOf({ TOLLGATE_REUSE_PORT: isOn }: Config): { readonly reusePort?: true } {
  return isOn === 'on' ? { reusePort: true } : {}
}

function addressOf(bound: AddressInfo | string | null, host: string): string {
  if (bound === null || typeof bound === 'string') return `http://${host}`
  const shown = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
  return `http://${shown}:${bound.port}`
}
