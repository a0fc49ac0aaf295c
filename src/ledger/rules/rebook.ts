import type { AccountRow, ApiKeyRow } from '../../store/schema.ts'
import {
  addMicros,
  type Micros,
  micros,
  minMicros,
  subtractMicros,
} from '../../vocabulary/money.ts'
import type { OpenedHold, RebookInput, RebookVerdict } from '../engines/commands.ts'
import { periodAfter, periodAt } from './allowance.ts'
import { chargedMicros } from './charge.ts'
import { availableCredit, lapseFreeCredit } from './credit.ts'
import { requestRowOf, type Terms } from './open-hold.ts'
import { settleHold } from './settle-hold.ts'
import type { UnitOfWork } from './unit-of-work.ts'

/**
 * Books a request again that the store may have lost: it has run, so nothing refuses it. Where the store has it, its settle
 * is repeated; else it is made as it was granted, and then settled. It counts in no window.
 */
export function rebook(
  work: UnitOfWork,
  { opened, settle }: RebookInput,
  { nowMs }: Pick<Terms, 'nowMs'>,
): RebookVerdict {
  const { requestId, accountId, apiKeyId } = opened.input
  const wasGone = work.request(requestId) === undefined
  if (wasGone) {
    const account = work.account(accountId)
    const apiKey = work.apiKey(apiKeyId)
    if (account === undefined || apiKey === undefined) return { kind: 'noOwner' }
    openAgain(work, opened, { account, apiKey, nowMs })
  }
  const settled = settle === null ? null : settleHold(work, settle, nowMs)
  const row = work.request(requestId)
  return {
    kind: 'rebooked',
    wasGone,
    settledNow: settled?.settledNow ?? false,
    chargedMicros: row === undefined ? micros(0) : chargedMicros(row),
  }
}

function openAgain(
  work: UnitOfWork,
  { input, grant, openedAtMs }: OpenedHold,
  { account, apiKey, nowMs }: { account: AccountRow; apiKey: ApiKeyRow; nowMs: number },
): void {
  const { backedMicros, freeMicros } = splitOf(grant.grantedMicros, {
    freeMicros: minMicros(grant.freeMicros, availableCredit(account, nowMs).freeMicros),
  })
  const again = {
    kind: 'opened',
    grantedMicros: grant.grantedMicros,
    backedMicros,
    freeMicros,
  } as const
  work.openRequest(requestRowOf({ input, grant: again, tokenCount: null, openedAtMs }))
  const inPeriod = { openedAtMs, spendMicros: 0, heldMicros: grant.grantedMicros }
  work.putApiKey({
    ...apiKey,
    heldMicros: addMicros(apiKey.heldMicros, grant.grantedMicros),
    openHolds: apiKey.openHolds + 1,
    period: usedAt(periodAfter(periodAt(apiKey, { work, nowMs }), inPeriod), openedAtMs),
  })
  const holding = {
    ...account,
    backedHeldMicros: addMicros(account.backedHeldMicros, backedMicros),
    freeHeldMicros: addMicros(account.freeHeldMicros, freeMicros),
    openHolds: account.openHolds + 1,
    period: usedAt(periodAfter(periodAt(account, { work, nowMs }), inPeriod), openedAtMs),
  }
  work.putAccount(lapseFreeCredit(work, holding, nowMs))
}

/** By position: a period, and when a hold has opened, which may be behind its end where a clock was set back. */
function usedAt(period: AccountRow['period'], openedAtMs: number): AccountRow['period'] {
  if (period === null || openedAtMs < period.periodUnusedFromMs) return period
  return { ...period, periodUnusedFromMs: openedAtMs + 1 }
}

/** By position: the whole hold, and the part of it that free credit has. */
function splitOf(grantedMicros: Micros, { freeMicros }: { readonly freeMicros: Micros }) {
  return { freeMicros, backedMicros: subtractMicros(grantedMicros, freeMicros) }
}
