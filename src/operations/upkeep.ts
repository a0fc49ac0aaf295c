import { type Audit, auditStore } from '../ledger/audit/audit.ts'
import { Problem } from '../vocabulary/problem.ts'
import { auditAnswer, auditShape } from './answers/audit.ts'
import { catalogRefreshAnswer, catalogRefreshShape } from './answers/catalog-refresh.ts'
import { type Operation, operation } from './operation.ts'
import type { OperationParts } from './operation-parts.ts'

/** The audit, and refreshing the catalog. */
export function upkeepOperations(parts: OperationParts): readonly Operation[] {
  return [audit(parts), refreshCatalog(parts)]
}

function audit({ store }: OperationParts): Operation {
  // An audit reads the whole store, so calls that come meanwhile are given the same one.
  let underWay: Promise<Audit> | null = null
  return operation({
    name: 'audit',
    method: 'GET',
    paths: { admin: '/v1/admin/audit' },
    summary: 'Recompute every balance, hold and charge from the entries and requests.',
    answers: { 200: auditShape },
    async run({ onProgress }) {
      underWay ??= auditStore(store, onProgress).finally(() => {
        underWay = null
      })
      return { httpStatus: 200, body: auditAnswer(await underWay) }
    },
  })
}

function refreshCatalog(parts: OperationParts): Operation {
  return operation({
    name: 'refreshCatalog',
    method: 'POST',
    paths: { admin: '/v1/admin/catalog/refresh' },
    summary: 'Fetch models and prices now. If that fails, the catalog is unchanged.',
    answers: { 200: catalogRefreshShape },
    problems: ['upstream_error'],
    async run({ onProgress }) {
      const outcome = await parts.refreshCatalog(onProgress)
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
