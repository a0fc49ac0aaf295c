import { z } from 'zod'
import type { RefreshOfAll } from '../../catalog/catalog-refreshers.ts'
import type { Maintenance } from '../../journey/gate/maintenance.ts'
import { auditEntrySums } from '../../ledger/activity/entry-sums.ts'
import { type Audit, type AuditCheck, auditStore } from '../../ledger/audit/audit.ts'
import { type OperatorAction, recordAction } from '../../ledger/operator-actions.ts'
import { auditUsage } from '../../usage/audit-usage.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { endConditions, raiseConditions } from '../../webhooks/conditions.ts'
import { idField, moneyField, timeAnswer, timeField } from '../fields.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { staffPaths } from '../paths.ts'

/** The checks of an audit in addition to the ledger. */
export const AUDIT_CHECKS: readonly AuditCheck[] = [auditUsage, auditEntrySums]

/** The audit, refreshing the catalog, and maintenance. */
export function upkeepOperations(parts: OperationParts) {
  return [...audits(parts), refreshCatalog(parts), showMaintenance(parts), turnMaintenance(parts)]
}

function audits({ store, ids, clock, server }: OperationParts) {
  // An audit reads the whole store, so calls that come meanwhile share its result.
  let underWay: Promise<Audit> | null = null
  let rows = 0
  const audit = operation({
    name: 'audit',
    method: 'GET',
    scope: 'read',
    paths: staffPaths('audit'),
    summary: 'Recompute every balance, hold, charge and roll-up from the entries and requests.',
    answers: { 200: auditShape },
    async run({ onProgress }) {
      underWay ??= auditStore(store, {
        checks: AUDIT_CHECKS,
        onRows(done) {
          rows = done
          onProgress(done)
        },
      }).finally(() => {
        underWay = null
        rows = 0
      })
      const found = await underWay
      // A command may audit a backup, which must not change. If the report fails, the audit is answered nevertheless.
      if (server !== null) {
        const parts = { db: store.db, ids, nowMs: clock.nowMs() }
        await reportAudit(parts, found).catch(server.onReportFailure)
      }
      return auditAnswer(found)
    },
  })
  const progress = operation({
    name: 'getAuditProgress',
    method: 'GET',
    paths: { operator: '/app/api/operator/audit/progress' },
    summary: 'The progress of the audit that this process is running.',
    answers: { 200: auditProgressShape },
    async run() {
      return { object: 'audit_progress', running: underWay !== null, rows }
    },
  })
  return [audit, progress]
}

/** Sends an audit with differences to webhooks, and no further one until an audit has none. */
async function reportAudit(
  parts: Parameters<typeof raiseConditions>[0],
  { ok, differences }: Audit,
): Promise<void> {
  const event = 'audit.difference'
  const subjectId = 'store'
  if (ok) await endConditions(parts.db, { event, subjectIds: [subjectId] })
  else {
    const fields = { differences: differences.length, audited_at: timeAnswer(parts.nowMs) }
    const raised = [{ subjectId, sinceMs: parts.nowMs, fields }]
    await raiseConditions(parts, { event, raised })
  }
}

/** The progress of an audit. */
const auditProgressShape = z.object({
  object: z.literal('audit_progress'),
  running: z.boolean().describe('Whether an audit is running.'),
  rows: z.int().describe('The rows read so far.'),
})

function refreshCatalog(parts: OperationParts) {
  return operation({
    name: 'refreshCatalog',
    method: 'POST',
    scope: 'everything',
    paths: staffPaths('catalog/refresh'),
    summary:
      'Fetch models and prices now. The models of an upstream whose list cannot be read are unchanged.',
    isHarmless: true,
    answers: { 200: catalogRefreshShape },
    problems: ['upstream_error'],
    async run({ by, onProgress }) {
      const outcome = await recordedRefresh(parts, by, onProgress)
      if (outcome.kind === 'failed') {
        throw new Problem('upstream_error', {
          message: `The catalog could not be refreshed and is unchanged. ${inWords(outcome.failed)}`,
          cause: outcome.cause,
        })
      }
      return catalogRefreshAnswer(outcome)
    },
  })
}

/**
 * A refresh calls the provider, so it can't be in a transaction. The operator's call is recorded before it, and the
 * result after it.
 */
async function recordedRefresh(
  { store: { db }, ids, clock, refreshCatalog }: OperationParts,
  by: OperatorAction | null,
  onProgress: (done: number) => void,
): Promise<RefreshOfAll> {
  await recordAction(db, { by, detail: { outcome: 'asked' }, nowMs: clock.nowMs() })
  const outcome = await refreshCatalog(onProgress)
  const detail =
    outcome.kind === 'refreshed'
      ? {
          outcome: 'refreshed',
          models: outcome.models,
          doubted: outcome.doubts.length,
          failed: outcome.failed.length,
        }
      : { outcome: 'failed' }
  const after = by === null ? null : { ...by, id: ids.next('act') }
  await recordAction(db, { by: after, detail, nowMs: clock.nowMs() })
  return outcome
}

function inWords(failed: RefreshOfAll['failed']): string {
  return failed.map(({ upstream, why }) => `${upstream}: ${why}.`).join(' ')
}

const figure = z.union([z.string(), z.number()]).nullable()

/** The result of an audit. */
export const auditShape = z
  .object({
    object: z.literal('audit'),
    ok: z.boolean().describe('Whether every figure is exact.'),
    checked: z
      .object({
        accounts: z.int(),
        keys: z.int(),
        requests: z.int(),
        entries: z.int(),
        codes: z.int(),
        purchases: z.int(),
      })
      .describe('The number of rows that were recomputed.'),
    newest_request: z
      .object({ id: idField('req'), opened_at: timeField })
      .nullable()
      .describe(
        'The newest request, which shows how old a copy of a store is; null: there is none.',
      ),
    went_back: z
      .array(
        z.object({
          id: idField('gap'),
          instance_id: idField('inst'),
          found_at: timeField.describe('When a server found it.'),
          from: timeField.describe('When the first of the lost commits was made.'),
          until: timeField.describe('When the last of them was made.'),
          commits: z.int().describe('The number of commits that the database lost.'),
          requests: z.int().describe('The number of requests that were booked again.'),
          charge: moneyField.describe('The charges of these requests, in micro-dollars.'),
          commands: z.int().describe('The number of other commands that were booked again.'),
          lost: z.int().describe('The number of commands that could not be booked again.'),
        }),
      )
      .describe(
        'The times in the last 90 days at which the database had lost commits, newest first, with the requests and commands that were booked again.',
      ),
    differences: z
      .array(
        z.object({
          what: z.string().describe('The figure, as `table.column`.'),
          id: z.string().describe('The ID of its row.'),
          stored: figure.describe('The value in the store; null: it has none.'),
          recomputed: figure.describe(
            'The value recomputed from the rows; null: there should be none.',
          ),
        }),
      )
      .describe(
        'Stored figures that differ from the sum of their rows: the first thousand of them.',
      ),
  })
  .meta({ id: 'Audit' })

/** An audit as responses have it. */
function auditAnswer(audit: Audit): z.infer<typeof auditShape> {
  const { ok, checked, newestRequest, wentBack, differences } = audit
  return {
    object: 'audit',
    ok,
    checked: {
      accounts: checked.accounts,
      keys: checked.apiKeys,
      requests: checked.requests,
      entries: checked.entries,
      codes: checked.creditCodes,
      purchases: checked.purchases,
    },
    newest_request:
      newestRequest === null
        ? null
        : { id: newestRequest.id, opened_at: timeAnswer(newestRequest.openedAtMs) },
    went_back: wentBack.map((gap) => ({
      id: gap.id,
      instance_id: gap.instanceId,
      found_at: timeAnswer(gap.foundAtMs),
      from: timeAnswer(gap.fromMs),
      until: timeAnswer(gap.untilMs),
      commits: gap.commits,
      requests: gap.requests,
      charge: gap.chargeMicros,
      commands: gap.commands,
      lost: gap.lost,
    })),
    differences: differences.map(({ what, id, stored, recomputed }) => {
      return { what, id, stored, recomputed }
    }),
  }
}

/** The result of a refresh of the catalog. */
export const catalogRefreshShape = z
  .object({
    object: z.literal('catalog_refresh'),
    models: z.int().describe('The number of models that are offered.'),
    stored: z
      .boolean()
      .describe('Whether the new list is stored, so that a restarted server has it.'),
    doubted: z
      .array(z.string())
      .describe(
        'Models with a doubted figure: a price, context window or maximum output that fell to a tenth or less.',
      ),
    doubts: z
      .array(z.object({ model: z.string(), why: z.string() }))
      .describe(
        'The same models with what fell, in words. Holds use the earlier figure until three refreshes in a row by one process have the new one.',
      ),
    skipped: z
      .array(
        z.object({
          model: z.string().nullable().describe('The ID of the model; null: the row has none.'),
          why: z.string(),
        }),
      )
      .describe("Rows of the provider's list that are not offered, with the reason."),
    failed: z
      .array(z.object({ upstream: z.string(), why: z.string() }))
      .describe(
        'Upstreams whose list could not be read, with the reason: their models are unchanged.',
      ),
  })
  .meta({ id: 'CatalogRefresh' })

/** A refresh as responses have it. */
function catalogRefreshAnswer(
  outcome: Extract<RefreshOfAll, { kind: 'refreshed' }>,
): z.infer<typeof catalogRefreshShape> {
  return {
    object: 'catalog_refresh',
    models: outcome.models,
    stored: outcome.storeFailure === null,
    doubted: outcome.doubts.map(({ modelId }) => modelId),
    doubts: outcome.doubts.map(({ modelId, why }) => ({ model: modelId, why })),
    skipped: outcome.skipped.map(({ modelId, why }) => ({ model: modelId, why })),
    failed: outcome.failed.map(({ upstream, why }) => ({ upstream, why })),
  }
}

/** Whether inference is refused. */
export const maintenanceShape = z.object({
  object: z.literal('maintenance'),
  enabled: z
    .boolean()
    .describe('Whether maintenance is on: new inference requests are refused with 503.'),
})

function showMaintenance({ maintenance }: OperationParts) {
  return operation({
    name: 'getMaintenance',
    method: 'GET',
    scope: 'read',
    paths: staffPaths('maintenance'),
    summary: 'Whether maintenance is on.',
    answers: { 200: maintenanceShape },
    async run() {
      return maintenanceAnswer(maintenance)
    },
  })
}

function turnMaintenance({ maintenance }: OperationParts) {
  return operation({
    name: 'setMaintenance',
    method: 'PUT',
    scope: 'everything',
    paths: staffPaths('maintenance'),
    summary:
      'Turn maintenance on or off. While it is on, new inference requests are refused; requests in flight finish.',
    body: z.strictObject({ enabled: z.boolean() }),
    example: { enabled: false },
    isHarmless: ({ enabled }) => !enabled,
    answers: { 200: maintenanceShape },
    takesAccess: true,
    async run({ by, body: { enabled } }) {
      await maintenance.turn(enabled ? 'on' : 'off', by)
      return maintenanceAnswer(maintenance)
    },
  })
}

function maintenanceAnswer({ isOn }: Maintenance): z.infer<typeof maintenanceShape> {
  return { object: 'maintenance', enabled: isOn }
}
