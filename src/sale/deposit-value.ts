import type { TOKEN_RATES } from '../store/sale-tables.ts'
import type { RowOf } from '../store/table.ts'
import { MINUTE_MS } from '../vocabulary/clock.ts'
import { MICROS_PER_CENT, type Micros, micros } from '../vocabulary/money.ts'
import { creditOf, type ExchangeTerms, type PaymentJudgment } from '../vocabulary/purchase.ts'
import type { TokenPrice } from './chain/terms.ts'

/** The value of a token, as the store has it. */
export type TokenRate = RowOf<typeof TOKEN_RATES>

/** Whether deposits can be valued by a rate. */
type UsableRate =
  | {
      readonly kind: 'usable'
      readonly rate8: bigint
      readonly readAtMs: number
      /** The token has lost its peg: nothing is quoted, and an admin decides about deposits. */
      readonly isBelowFloor: boolean
    }
  | { readonly kind: 'unusable'; readonly reason: string }

/** An operator's terms for deposits. They have no maximum: above a ceiling they are held. */
export interface DepositTerms {
  readonly minimumMicros: Micros
  readonly feeBps: number
}

const READ_STALE_AFTER_MS = 10 * MINUTE_MS
const CLOCKS_APART_MS = 5 * MINUTE_MS
/** Below this a stablecoin is not stable. */
const FLOOR_8 = 98_000_000n

/** Judges a rate: none is believed that is old, from the future, or zero. */
export function usableRate(
  row: TokenRate | null,
  { nowMs, price }: { readonly nowMs: number; readonly price: TokenPrice },
): UsableRate {
  const unusable = (reason: string): UsableRate => ({ kind: 'unusable', reason })
  if (row === null) return unusable('the token has no rate: its contract or feed was not read yet')
  const { rate8, feedAtMs, readAtMs } = row
  if (Math.abs(nowMs - readAtMs) > READ_STALE_AFTER_MS) {
    return unusable('its rate was not read for 10 minutes')
  }
  if (rate8 <= 0) return unusable('its price feed has no price')
  if (feedAtMs > nowMs + CLOCKS_APART_MS) return unusable('its price is from the future')
  if (price.kind === 'feed' && nowMs - feedAtMs > price.staleAfterMs) {
    return unusable('its price is stale')
  }
  const exact = BigInt(rate8)
  return { kind: 'usable', rate8: exact, readAtMs, isBelowFloor: exact < FLOOR_8 }
}

/** The credit of units of a token, at most what an account can have. Null: dust, under a cent. */
export function creditOfUnits(units: bigint, terms: ExchangeTerms): Micros | null {
  const creditMicros = creditOf(units, terms) ?? micros(Number.MAX_SAFE_INTEGER)
  return creditMicros < MICROS_PER_CENT ? null : creditMicros
}

/** The credit of a deposit, and whether it is added automatically if no ceiling holds it. Null: dust. */
export function valueDeposit({
  units,
  decimals,
  rate,
  terms,
}: {
  readonly units: bigint
  readonly decimals: number
  readonly rate: Extract<UsableRate, { kind: 'usable' }>
  readonly terms: DepositTerms
}): { readonly creditMicros: Micros; readonly judgment: PaymentJudgment } | null {
  const { minimumMicros, feeBps } = terms
  const creditMicros = creditOfUnits(units, { decimals, rate8: rate.rate8, feeBps })
  if (creditMicros === null) return null
  if (rate.isBelowFloor) {
    const reason = `the token is worth less than ${FLOOR_8 / 1_000_000n} cents`
    return { creditMicros, judgment: { kind: 'hold', reason, worthMicros: creditMicros } }
  }
  if (creditMicros < minimumMicros) return { creditMicros, judgment: { kind: 'below_minimum' } }
  return { creditMicros, judgment: { kind: 'credit' } }
}
