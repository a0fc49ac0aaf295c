import type { Balance } from '../ledger/activity/balance.ts'
import type { OperationParts } from './operation.ts'

/**
 * When the first unresolved request of an account is released if its cost is not learned until then, as the
 * reconciler will do it; null: there is none.
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
