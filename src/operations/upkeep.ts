import { type Audit, auditStore } from '../ledger/audit/audit.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { AdminParts } from './admin-parts.ts'
import { auditAnswer, auditShape } from './answers/audit.ts'
import { catalogRefreshAnswer, catalogRefreshShape } from './answers/catalog-refresh.ts'
import { type Operation, operation } from './operation.ts'

/** What keeps the service in order: the audit and the catalog. */
export function upkeepAdmin(parts: AdminParts): readonly Operation[] {
  return [audit(parts), refreshCatalog(parts)]
}

function audit({ store }: AdminParts): Operation {
  // It reads the whole store: who asks meanwhile is given the same one.
  let underWay: Promise<Audit> | null = null
  return operation({
    name: 'audit',
    method: 'GET',
    path: '/v1/admin/audit',
    summary: 'Recompute every balance, hold and charge from the entries and requests.',
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
    summary: 'Fetch models and prices now. If that fails, the catalog is unchanged.',
    answers: { 200: catalogRefreshShape },
    problems: ['upstream_error'],
    async run() {
      const outcome = await parts.refreshCatalog()
      if (outcome.kind === 'failed') {
        throw new Problem('upstream_error', {
          message: 'The catalog could not be refreshed and is unchanged. The log has the reason.',
          cause: outcome.cause,
        })
      }
      return { httpStatus: 200, body: catalogRefreshAnswer(outcome) }
    },
  })
}
