import type { Balance } from '../ledger/activity/balance.ts'
import type { OperationParts } from './operation.ts'

/**
 * When the reconciler releases the first unresolved request of an account if its cost is still unknown then;
 * null: the account has no such request.
 */
export function nextReleaseAtMs(
  { server }: OperationParts,
  { oldest }: Balance['unresolved'],
): number | null {
  if (oldest.length === 0) return null
  if (server === null) throw new TypeError('the process serves nothing')
  const deadlinesMs = oldest.map(({ upstream, ...request }) => {
    return server.scheduleOf({ ...request, state: 'unresolved' }, upstream).standsAtMs
  })
  return Math.min(...deadlinesMs)
}
