import type { AccountRow } from '../../store/schema.ts'
import { type Micros, minMicros, subtractMicros, ZERO_MICROS } from '../../vocabulary/money.ts'
import type { OpenHoldInput, OpenHoldVerdict, SettleInput } from '../ledger.ts'
import type { UnitOfWork } from '../work.ts'
import { chargedMicros } from './charge.ts'
import { availableCredit } from './credit.ts'
import { periodAt } from './limits.ts'
import { holdCredit, type Payer, type Terms } from './open-hold.ts'
import { settleHold } from './settle-hold.ts'

/** How a command whose row takes a number is run again: the row keeps its number, which people may have on paper. */
export interface Repeat<Input, Verdict> {
  /** The input to keep for the repeat, with the number that the verdict shows. */
  readonly withNumber: (input: Input, verdict: Verdict) => Input
  /** The number in an input; 0: no number was taken yet. */
  readonly numberOf: (input: Input) => number
  /** The input with the highest lost number: a new number must be above it. */
  readonly withHighestNumber: (input: Input, highestLost: number) => Input
}

/** A hold that was opened, and when. */
export interface OpenedHold {
  readonly input: OpenHoldInput
  readonly grant: Extract<OpenHoldVerdict, { kind: 'opened' }>
  /** The store's time. */
  readonly openedAtMs: number
}

/** A request that is booked again, because the store may have lost it. */
export interface RebookInput {
  readonly opened: OpenedHold
  /** How the attempt ended; null: the attempt is still running. */
  readonly settle: SettleInput | null
}

/** The result of booking a request again. */
export type RebookVerdict =
  | {
      readonly kind: 'rebooked'
      /** Whether the store had lost the whole request. */
      readonly wasMissing: boolean
      /** Whether the store had lost the end of the request. */
      readonly settledNow: boolean
      readonly chargedMicros: Micros
    }
  /** The store has lost the account or the key of the request: nothing is booked yet. */
  | { readonly kind: 'noOwner' }

/**
 * Books a request again that the store may have lost. The request has run, so no limit refuses it. If the store has the
 * request, its settle is repeated; otherwise its hold is made again as it was granted, and then settled. It counts in
 * no window.
 */
export function rebook(
  work: UnitOfWork,
  { opened, settle }: RebookInput,
  { nowMs }: Pick<Terms, 'nowMs'>,
): RebookVerdict {
  const { requestId, accountId, apiKeyId } = opened.input
  const wasMissing = work.requests.get(requestId) === undefined
  if (wasMissing) {
    const account = work.accounts.get(accountId)
    const apiKey = work.apiKeys.get(apiKeyId)
    if (account === undefined || apiKey === undefined) return { kind: 'noOwner' }
    openAgain(work, opened, { account, apiKey, nowMs })
  }
  const settled = settle === null ? null : settleHold(work, settle, nowMs)
  const row = work.requests.get(requestId)
  return {
    kind: 'rebooked',
    wasMissing,
    settledNow: settled?.settledNow ?? false,
    chargedMicros: row === undefined ? ZERO_MICROS : chargedMicros(row),
  }
}

function openAgain(
  work: UnitOfWork,
  { input, grant, openedAtMs }: OpenedHold,
  { account, apiKey, nowMs }: Payer & { readonly nowMs: number },
): void {
  const freeMicros = minMicros(grant.freeMicros, availableCredit(account, nowMs).freeMicros)
  const backedMicros = subtractMicros(grant.grantedMicros, freeMicros)
  const again = { ...grant, freeMicros, backedMicros }
  const inPeriod = <Row extends Payer['account'] | Payer['apiKey']>(row: Row): Row => {
    return { ...row, period: usedAt(periodAt(row, { work, nowMs }), openedAtMs) }
  }
  const payer = { account: inPeriod(account), apiKey: inPeriod(apiKey) }
  const hold = { input, grant: again, tokenCount: null, openedAtMs }
  holdCredit(work, payer, { hold, windows: null, nowMs })
}

/** By position: a period, and when a hold has opened, which may be behind its end where a clock was set back. */
function usedAt(period: AccountRow['period'], openedAtMs: number): AccountRow['period'] {
  if (period === null || openedAtMs < period.periodUnusedFromMs) return period
  return { ...period, periodUnusedFromMs: openedAtMs + 1 }
}
