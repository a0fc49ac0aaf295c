import { join } from 'node:path'
import {
  type AnsweredCall,
  adminAccess,
  anyoneAccess,
  CALL_LIMITS,
  keyAccess,
} from '../http/access.ts'
import type { ReadinessCheck } from '../http/health.ts'
import type { ManagementInput } from '../http/server.ts'
import { Gate } from '../journey/gate/gate.ts'
import type { Maintenance } from '../journey/gate/maintenance.ts'
import { MailServer } from '../mail/mail-server.ts'
import { Outbox } from '../mail/outbox.ts'
import type { OperationParts } from '../operations/operation-parts.ts'
import { makeOperations } from '../operations/operations.ts'
import { KnownTokens } from '../people/known-tokens.ts'
import { TakenAccess } from '../people/taken-access.ts'
import { takenKey, takenResult, takenWords } from '../people/taken-kinds.ts'
import { Passes } from '../store/passes.ts'
import { keyLimitsOf } from './config.ts'
import { BUILT_FOLDER, openPage } from './open-page.ts'
import { openSale } from './open-sale.ts'
import type { ServedStore } from './open-served-store.ts'
import type { HttpParts, ServingParts } from './serving-parts.ts'
import { mailSettingsOf } from './settings/mail-settings.ts'
import { running, VERSION, type Wiring, warning } from './wiring.ts'

/** Opens everything that callers use beside inference: operations, the page, and the sale of credit. */
export async function openManagement(
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

const READ_MS = 1_000

/** Takes access again whose removal the database loses; null: the store is on SQLite, which loses no commit. */
function openTakenAccess(
  { log, ids, closing }: Wiring,
  { store, storeClock: clock }: ServedStore,
): TakenAccess | null {
  if (store.location.kind !== 'postgres') return null
  const takenAccess = new TakenAccess({
    db: store.db,
    ids,
    clock,
    onTakenAgain: (row) =>
      log.warn(takenKey(row), `the database had lost ${takenWords(row)}: ${takenResult(row)}`),
    onLast: (row) =>
      log.warn(
        takenKey(row),
        `the database had lost ${takenWords(row)}, who is the last ${row.tableName === 'users' ? 'operator' : 'owner'} and stays one`,
      ),
    onFailure: (row, cause) =>
      log.warn(
        { ...takenKey(row), cause: String(cause) },
        `the database has lost ${takenWords(row)}, which could not be repeated yet`,
      ),
  })
  const readings = new Passes({
    intervalMs: READ_MS,
    pass: () => takenAccess.catchUp(),
    onFailure: warning(log, 'the removals of access could not be read'),
  })
  running({ closing }, readings)
  return takenAccess
}

/** Knows the admin tokens that callers send, and reads again and again which of them were revoked. */
function openKnownTokens(
  { log, closing }: Wiring,
  {
    store,
    storeClock: clock,
    takenAccess,
  }: ServedStore & { readonly takenAccess: TakenAccess | null },
): KnownTokens {
  const onFailure = warning(log, 'admin tokens could not be read, or not noted as used')
  const knownTokens = new KnownTokens({
    db: store.db,
    clock,
    hasRevoked: (adminTokenId) => takenAccess?.hasRevoked(adminTokenId) ?? false,
    // Its own passes try again what fails here.
    onGone: async () => takenAccess?.catchUp().catch(() => {}),
    onFailure,
  })
  const readings = new Passes({
    intervalMs: READ_MS,
    pass: () => knownTokens.readChanges(),
    onFailure,
  })
  running({ closing }, readings)
  return knownTokens
}
