import type { AddressInfo } from 'node:net'
import type { ReadinessCheck } from '../http/health.ts'
import { createInference } from '../http/inference.ts'
import { createHttpServer } from '../http/server.ts'
import { Maintenance } from '../journey/gate/maintenance.ts'
import { Passes } from '../store/passes.ts'
import { type Config, pageUrlOf } from './config.ts'
import { failureLogger, requestLogger } from './log.ts'
import { openManagement } from './open-management.ts'
import type { HttpParts } from './serving-parts.ts'
import { running, VERSION, type Wiring, warning } from './wiring.ts'

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
    management: await openManagement(wiring, { ...http, pageUrl, maintenance, checks }),
    onFailure: failureLogger(log),
  })
  const { HOST: host, PORT: listenedPort } = config
  await server.listen({ host, port: listenedPort, backlog: BACKLOG, ...sharingOf(config) })
  // Without a listener, it would end the process with its requests in flight.
  server.server.on('error', warning(log, 'a connection could not be accepted'))
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
  const maintenance = new Maintenance({ db: store.db, clock })
  await maintenance.read()
  const readings = new Passes({
    intervalMs: config.TOLLGATE_MAINTENANCE_POLL_MS,
    pass: () => maintenance.read(),
    onFailure: warning(log, 'the maintenance switch could not be read from the store'),
  })
  running({ closing }, readings)
  if (maintenance.isOn)
    log.warn('maintenance is on: inference requests are refused until it is turned off')
  return maintenance
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
