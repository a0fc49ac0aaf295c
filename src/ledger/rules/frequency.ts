import type { AccountRow, ApiKeyRow, RequestRow } from '../../store/schema.ts'
import {
  addToSecond,
  countInWindow,
  type RequestWindow,
  readWindow,
  secondOfWindow,
} from '../../vocabulary/request-window.ts'
import type { LedgerLimits, LimitOwner, ReachedLimit } from '../ledger.ts'

interface Payer {
  readonly account: AccountRow
  readonly apiKey: ApiKeyRow
}

interface FrequencyInput extends Payer {
  /** The most tokens that the request can use. */
  readonly tokens: number
  readonly limits: LedgerLimits
  readonly nowMs: number
}

/** Why a request is refused for now: the limit, and when it has room again. */
interface FrequencyRefusal {
  readonly reached: ReachedLimit
  /** Null: it depends on when a request in flight ends, or the request alone is above the limit. */
  readonly retryAfterSeconds: number | null
}

/** The limit of requests in flight that refuses one more, or else that of a minute which refuses longest; null: none. */
export function refusedFrequency(input: FrequencyInput): FrequencyRefusal | null {
  const inFlight = fullInFlight(input)
  if (inFlight !== null) return { reached: inFlight, retryAfterSeconds: null }
  let longest: FrequencyRefusal | null = null
  for (const { reached, window } of minuteLimits(input)) {
    const tokens = reached.kind === 'tokensPerMinute' ? reached.tokens : 1
    if (tokens > reached.max) return { reached, retryAfterSeconds: null }
    const { retryAfterSeconds } = readWindow({
      window,
      // So many more must fit.
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

/** The windows of a payer once a request is admitted, and what it counts as in those of tokens. */
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
