import type { AccountRow, ApiKeyRow, RequestRow } from '../../store/schema.ts'
import { isSameCalendar, type PeriodSpan, periodSpanAt } from '../../vocabulary/allowance.ts'
import { DAY_MS } from '../../vocabulary/clock.ts'
import {
  addMicros,
  type Micros,
  maxMicros,
  micros,
  subtractMicros,
  ZERO_MICROS,
} from '../../vocabulary/money.ts'
import {
  addToSecond,
  countInWindow,
  type RequestWindow,
  readWindow,
  secondOfWindow,
} from '../../vocabulary/request-window.ts'
import { type Count, PERIODS, type PeriodCount, type Uncounted } from '../counts.ts'
import type {
  AddApiKeyInput,
  LedgerLimits,
  LimitOwner,
  OwnLimits,
  ReachedLimit,
} from '../ledger.ts'
import type { UnitOfWork } from '../work.ts'

/** A calendar with the amount of each period. */
type Allowance = NonNullable<AccountRow['allowance']>

type Period = NonNullable<AccountRow['period']>

/** An account or a key, as far as it has an allowance. */
type AllowedRow = Pick<AccountRow | ApiKeyRow, 'id' | 'allowance' | 'period'>

const NONE: readonly Uncounted[] = []

/** The number of an account's keys: without deleted ones, and of those made in the span, deleted ones among them. */
export const KEYS: Count<{ readonly present: number; readonly made: number }> = {
  name: 'count_keys',
  of: 'keys',
  // Each over its own index.
  text: `select
    (select count(*) from api_keys where account_id = $1 and deleted_at_ms is null) as present,
    (select count(*) from api_keys where account_id = $1 and created_at_ms > $2) as made`,
  values: (accountId, { startsAtMs }) => [accountId, startsAtMs],
  read: (row) => ({ present: Number(row?.['present']), made: Number(row?.['made']) }),
}

/** The keys of an account that may have only so many. */
export function uncountedKeys(
  _: UnitOfWork,
  { accountId, keysMax = null }: Pick<AddApiKeyInput, 'accountId' | 'keysMax'>,
  nowMs: number,
): readonly Uncounted[] {
  if (keysMax === null) return NONE
  return [{ count: KEYS, id: accountId, span: { startsAtMs: nowMs - DAY_MS, endsAtMs: nowMs } }]
}

/** The periods of the account and the key of a hold that no row has. */
export function uncountedByHold(
  work: UnitOfWork,
  { accountId, apiKeyId }: { readonly accountId: string; readonly apiKeyId: string },
  nowMs: number,
): readonly Uncounted[] {
  return [
    ...uncountedOf('account', work.accounts.get(accountId), nowMs),
    ...uncountedOf('apiKey', work.apiKeys.get(apiKeyId), nowMs),
  ]
}

function uncountedOf(
  owner: keyof typeof PERIODS,
  row: AllowedRow | undefined,
  nowMs: number,
): readonly Uncounted[] {
  if (row === undefined || row.allowance === null || row.period === null) return NONE
  if (isWithin(row.period, nowMs)) return NONE
  const span = periodSpanAt(row.allowance, nowMs)
  if (span.startsAtMs >= row.period.periodUnusedFromMs) return NONE
  return [{ count: PERIODS[owner], id: row.id, span }]
}

/** Finds the period of a new allowance of an account or a key, if no row has it. */
export function uncountedChange(owner: keyof typeof PERIODS) {
  return (
    work: UnitOfWork,
    { id, allowance: to }: { readonly id: string; readonly allowance?: Allowance | null },
    nowMs: number,
  ): readonly Uncounted[] => {
    const row = owner === 'account' ? work.accounts.get(id) : work.apiKeys.get(id)
    if (row === undefined || to === undefined || to === null) return NONE
    if (row.period !== null && isSameCalendar(row.allowance, to)) return NONE
    return [{ count: PERIODS[owner], id, span: periodSpanAt(to, nowMs) }]
  }
}

/**
 * The counters after a change of limits. A window of tokens outlives its limit: running requests that it counts end in it,
 * and one that is set within the minute counts them.
 */
export function countsUnder(
  work: UnitOfWork,
  row: AllowedRow,
  { change: { allowance }, nowMs }: { readonly change: Partial<OwnLimits>; readonly nowMs: number },
): Partial<Pick<AccountRow, 'period'>> {
  return allowance === undefined ? {} : { period: periodUnder(work, { row, to: allowance, nowMs }) }
}

/**
 * The period of a row whose allowance is set. If the calendar is unchanged, the period continues; otherwise it begins
 * with the sum of its requests. Null removes the allowance.
 */
function periodUnder(
  work: UnitOfWork,
  {
    row,
    to,
    nowMs,
  }: { readonly row: AllowedRow; readonly to: Allowance | null; readonly nowMs: number },
): Period | null {
  if (to === null) return null
  if (row.period !== null && isSameCalendar(row.allowance, to)) return row.period
  return periodOf(periodSpanAt(to, nowMs), countedPeriod(work, row.id))
}

/** The period of a new row. */
export function firstPeriod(allowance: Allowance | null | undefined, nowMs: number): Period | null {
  return allowance == null ? null : periodOf(periodSpanAt(allowance, nowMs), undefined)
}

/**
 * The period that the moment lies in, with its sums: the period of the row, or the next one, in which no hold has
 * opened. If a clock was set back over the start of a period, it is the one before, with the sums that were added up
 * for it. Null: no allowance.
 */
export function periodAt(
  row: AllowedRow,
  { work, nowMs }: { readonly work: UnitOfWork; readonly nowMs: number },
): Period | null {
  const { id, allowance, period } = row
  const known = knownPeriodAt(row, nowMs)
  if (known !== null || allowance === null || period === null) return known
  const counted = countedPeriod(work, id)
  if (counted === undefined) throw new Error(`the period of ${id} was not added up`)
  const next = periodOf(periodSpanAt(allowance, nowMs), counted)
  const unusedFromMs = Math.max(next.periodUnusedFromMs, period.periodUnusedFromMs)
  return { ...next, periodUnusedFromMs: unusedFromMs }
}

/**
 * The period of {@link periodAt} if it is known without adding up requests; null: it is not, or there is no allowance.
 */
export function knownPeriodAt(
  { allowance, period }: Omit<AllowedRow, 'id'>,
  nowMs: number,
): Period | null {
  if (allowance === null || period === null || isWithin(period, nowMs)) return period
  const span = periodSpanAt(allowance, nowMs)
  return span.startsAtMs >= period.periodUnusedFromMs ? periodOf(span, undefined) : null
}

/** The sums of a period that were counted for an account or a key; undefined: none were. */
export function countedPeriod(work: UnitOfWork, ownerId: string): PeriodCount | undefined {
  return work.counted(PERIODS.account, ownerId)
}

/** The rest of an allowance in a period, never below zero; null: there is no allowance. */
export function allowanceLeft({ allowance, period }: Omit<AllowedRow, 'id'>): Micros | null {
  if (allowance === null || period === null) return null
  const usedMicros = addMicros(period.periodSpendMicros, period.periodHeldMicros)
  return maxMicros(ZERO_MICROS, subtractMicros(allowance.allowanceMicros, usedMicros))
}

/** A period after a request has changed; the same if its hold did not open in it. */
export function periodAfter<P extends Period | null>(
  period: P,
  change: {
    readonly openedAtMs: number
    readonly spendMicros: number
    readonly heldMicros: number
  },
): P | Period {
  if (period === null || !isWithin(period, change.openedAtMs)) return period
  return {
    ...period,
    periodSpendMicros: micros(period.periodSpendMicros + change.spendMicros),
    periodHeldMicros: micros(period.periodHeldMicros + change.heldMicros),
  }
}

/** Whether a moment is in the period. */
export function isWithin(
  period: Pick<Period, 'periodStartsAtMs' | 'periodEndsAtMs'>,
  atMs: number,
): boolean {
  return atMs >= period.periodStartsAtMs && atMs < period.periodEndsAtMs
}

function periodOf({ startsAtMs, endsAtMs }: PeriodSpan, count: PeriodCount | undefined): Period {
  return {
    periodStartsAtMs: startsAtMs,
    periodEndsAtMs: endsAtMs,
    periodUnusedFromMs: Math.max(endsAtMs, (count?.latestOpenedAtMs ?? 0) + 1),
    periodSpendMicros: count?.spendMicros ?? ZERO_MICROS,
    periodHeldMicros: count?.heldMicros ?? ZERO_MICROS,
  }
}

interface FrequencyInput {
  readonly account: AccountRow
  readonly apiKey: ApiKeyRow
  /** The most tokens that the request can use. */
  readonly tokens: number
  readonly limits: LedgerLimits
  readonly nowMs: number
}

/** Why a request is refused for now: the limit, and when it has room again. */
interface FrequencyRefusal {
  readonly reached: ReachedLimit
  /**
   * Until the limit has room again; null: that depends on when a request in flight ends, or the request alone is above
   * the limit.
   */
  readonly retryAfterSeconds: number | null
}

/**
 * The limit that refuses the request: of requests in flight, or else the limit of a minute that refuses longest; null:
 * none.
 */
export function refusedFrequency(input: FrequencyInput): FrequencyRefusal | null {
  const inFlight = fullInFlight(input)
  if (inFlight !== null) return { reached: inFlight, retryAfterSeconds: null }
  let longest: FrequencyRefusal | null = null
  for (const { reached, window } of minuteLimits(input)) {
    const tokens = reached.kind === 'tokensPerMinute' ? reached.tokens : 1
    if (tokens > reached.max) return { reached, retryAfterSeconds: null }
    const { retryAfterSeconds } = readWindow({
      window,
      // The request fits once the window has room for its tokens.
      limit: reached.max - tokens + 1,
      nowMs: input.nowMs,
    })
    if (retryAfterSeconds === null) continue
    if (retryAfterSeconds > (longest?.retryAfterSeconds ?? 0))
      longest = { reached, retryAfterSeconds }
  }
  return longest
}

function fullInFlight({ account, apiKey, limits }: FrequencyInput): ReachedLimit | null {
  const ofKey = apiKey.inFlightMax ?? limits.openHoldsMax
  if (apiKey.openHolds >= ofKey) return { kind: 'inFlight', of: 'apiKey', max: ofKey }
  const ofAccount = account.inFlightMax
  if (ofAccount === null || account.openHolds < ofAccount) return null
  return { kind: 'inFlight', of: 'account', max: ofAccount }
}

interface MinuteLimit {
  readonly window: RequestWindow
  readonly reached: Extract<ReachedLimit, { kind: 'requestsPerMinute' | 'tokensPerMinute' }>
}

function minuteLimits({ account, apiKey, limits, tokens }: FrequencyInput): readonly MinuteLimit[] {
  const requests = (of: LimitOwner, max: number, window: RequestWindow): MinuteLimit => {
    return { window, reached: { kind: 'requestsPerMinute', of, max } }
  }
  const found = [
    requests(
      'apiKey',
      apiKey.requestsPerMinuteMax ?? limits.keyRequestsPerMinuteMax,
      apiKey.requestWindow,
    ),
  ]
  const ofAccount = accountRequestsMax(account, limits)
  if (ofAccount !== null) found.push(requests('account', ofAccount, account.requestWindow))
  for (const [of, row] of [
    ['apiKey', apiKey],
    ['account', account],
  ] as const) {
    const max = row.tokensPerMinuteMax
    if (max === null) continue
    found.push({ window: row.tokenWindow, reached: { kind: 'tokensPerMinute', of, max, tokens } })
  }
  return found
}

/** The account's own limit of requests in a minute, or the deployment's of accounts without paid credit. */
function accountRequestsMax(account: AccountRow, limits: LedgerLimits): number | null {
  if (account.requestsPerMinuteMax !== null) return account.requestsPerMinuteMax
  return account.hasBackedCredit ? null : limits.unbackedAccountRequestsPerMinuteMax
}

type TokenCount = RequestRow['tokenCount']

/** The windows of a payer once a request is admitted, and the tokens that it counts as. */
export function admittedBy({ account, apiKey, limits, tokens, nowMs }: FrequencyInput): {
  readonly ofApiKey: Pick<ApiKeyRow, 'requestWindow' | 'tokenWindow'>
  readonly ofAccount: Pick<AccountRow, 'requestWindow' | 'tokenWindow'>
  readonly tokenCount: TokenCount
} {
  const isCounted = accountRequestsMax(account, limits) !== null
  const requests = {
    apiKey: countInWindow({ window: apiKey.requestWindow, nowMs }),
    account: isCounted
      ? countInWindow({ window: account.requestWindow, nowMs })
      : account.requestWindow,
  }
  if (apiKey.tokensPerMinuteMax === null && account.tokensPerMinuteMax === null) {
    return {
      ofApiKey: { requestWindow: requests.apiKey, tokenWindow: apiKey.tokenWindow },
      ofAccount: { requestWindow: requests.account, tokenWindow: account.tokenWindow },
      tokenCount: null,
    }
  }
  // In both windows and in one second, in which the settle finds it again.
  const windows = [apiKey.tokenWindow, account.tokenWindow]
  const second = Math.max(...windows.map((window) => secondOfWindow({ window, nowMs })))
  const counted = (window: RequestWindow): RequestWindow =>
    countInWindow({ window, nowMs: second * 1_000, count: tokens })
  return {
    ofApiKey: { requestWindow: requests.apiKey, tokenWindow: counted(apiKey.tokenWindow) },
    ofAccount: { requestWindow: requests.account, tokenWindow: counted(account.tokenWindow) },
    tokenCount: { countedTokens: tokens, countedInSecond: second },
  }
}

/** A window of tokens in which a request is counted as another number. */
export function recountedTokens(
  tokenWindow: RequestWindow,
  { count, tokens }: { readonly count: NonNullable<TokenCount>; readonly tokens: number },
): RequestWindow {
  return addToSecond(tokenWindow, {
    second: count.countedInSecond,
    count: tokens - count.countedTokens,
  })
}
