import { z } from 'zod'
import type { Maintenance } from '../journey/gate/maintenance.ts'
import { type Audit, auditStore } from '../ledger/audit/audit.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { AdminParts } from './admin-parts.ts'
import { auditAnswer, auditShape } from './answers/audit.ts'
import { catalogRefreshAnswer, catalogRefreshShape } from './answers/catalog-refresh.ts'
import { type Operation, operation } from './operation.ts'

/** What keeps the service in order: the audit, the catalog, maintenance. */
export function upkeepAdmin(parts: AdminParts): readonly Operation[] {
  return [audit(parts), refreshCatalog(parts), showMaintenance(parts), turnMaintenance(parts)]
}

function audit({ store }: AdminParts): Operation {
  // It reads the whole store: who asks meanwhile is given the same one.
  let underWay: Promise<Audit> | null = null
  return operation({
    name: 'audit',
    method: 'GET',
    path: '/v1/admin/audit',
    summary: 'Recompute every balance, hold and charge from the rows behind it.',
    answers: { 200: auditShape },
    async run() {
      underWay ??= auditStore(store).finally(() => {
        underWay = null
      })
      return { httpStatus: 200, body: auditAnswer(await underWay) }
    },
  })
}

function refreshCatalog(parts: AdminParts): Operation {
  return operation({
    name: 'refreshCatalog',
    method: 'POST',
    path: '/v1/admin/catalog/refresh',
    summary: 'Fetch models and prices now. Where that fails, the last ones stay.',
    answers: { 200: catalogRefreshShape },
    problems: ['upstream_error'],
    async run() {
      const outcome = await parts.refreshCatalog()
      if (outcome.kind === 'failed') {
        throw new Problem('upstream_error', {
          message: 'The catalog could not be refreshed; the last one stays. The log says why.',
          cause: outcome.cause,
        })
      }
      return { httpStatus: 200, body: catalogRefreshAnswer(outcome) }
    },
  })
}

const maintenanceShape = z.object({
  object: z.literal('maintenance'),
  enabled: z.boolean().describe('Whether inference answers 503.'),
})

function showMaintenance({ maintenance }: AdminParts): Operation {
  return operation({
    name: 'getMaintenance',
    method: 'GET',
    path: '/v1/admin/maintenance',
    summary: 'Whether inference is refused at the moment.',
    answers: { 200: maintenanceShape },
    async run() {
      return { httpStatus: 200, body: maintenanceAnswer(maintenance) }
    },
  })
}

function turnMaintenance({ maintenance }: AdminParts): Operation {
  return operation({
    name: 'setMaintenance',
    method: 'PUT',
    path: '/v1/admin/maintenance',
    summary: 'Refuse new inference requests, or take them again. What runs goes on.',
    body: z.strictObject({ enabled: z.boolean() }),
    answers: { 200: maintenanceShape },
    async run({ body: { enabled } }) {
      await maintenance.turn(enabled ? 'on' : 'off')
      return { httpStatus: 200, body: maintenanceAnswer(maintenance) }
    },
  })
}

function maintenanceAnswer({ isOn }: Maintenance): z.infer<typeof maintenanceShape> {
  return { object: 'maintenance', enabled: isOn }
}
