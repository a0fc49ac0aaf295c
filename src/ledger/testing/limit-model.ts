import { DAY_MS } from '../../vocabulary/clock.ts'
import type { LedgerLimits } from '../ledger.ts'
import { type Counted, type Hold, reservedOf } from './model-hold.ts'

/** A request that the limits of a minute and in flight must admit. */
interface Asking {
  readonly account: string
  readonly apiKey: string
  readonly tokens: number
  readonly nowMs: number
  readonly everBacked: boolean
  readonly open: readonly Hold[]
}

interface Allowance {
  readonly amountMicros: number
  readonly period: string
  readonly offsetMs: number
}

const WINDOW_SECONDS = 60
// Offsets of zones are whole quarters of an hour, so that each period begins with one.
const QUARTER_MS = 900_000
const MONTH_QUARTERS = 32 * 96

/** The answers that a ledger must give about limits of accounts and keys, computed in another way; see `Model`. */
export class LimitModel {
  readonly #limits: LedgerLimits
  readonly #own = new Map<string, number>()
  readonly #allowances = new Map<string, Allowance>()
  readonly #windows = new Map<string, Counted[]>()

  constructor(limits: LedgerLimits) {
    this.#limits = limits
  }

  set([id = '', what = '', value = '', zone = 'UTC']: readonly string[]): void {
    if (what === 'allowance') {
      const [micros, period = ''] = value.split('/')
      this.#allowances.delete(id)
      if (period === '') return
      this.#allowances.set(id, { amountMicros: Number(micros), period, offsetMs: offsetMsOf(zone) })
    } else if (value === 'none') this.#own.delete(`${id} ${what}`)
    else this.#own.set(`${id} ${what}`, Number(value))
  }

  /** Null: the limits in flight and of a minute let it in. */
  refuse(asking: Asking): string | null {
    const { account, apiKey, open } = asking
    const ofKey = this.#own.get(`${apiKey} in-flight`) ?? this.#limits.openHoldsMax
    const isFull = open.filter((hold) => hold.apiKey === apiKey).length >= ofKey
    if (isFull) return 'too_many_concurrent_requests'
    const ofAccount = this.#own.get(`${account} in-flight`) ?? Number.POSITIVE_INFINITY
    if (open.filter((hold) => hold.account === account).length >= ofAccount) {
      return 'too_many_concurrent_requests of account'
    }
    const limits = this.#minuteLimits(asking)
    const alone = limits.find(({ what, max }) => moreOf(what, asking) > max)
    if (alone !== undefined) return wordsOf(alone.what)
    const waits = limits.map(({ owner, what, max }) => ({
      seconds: this.#wait(`${owner} ${what}`, { asking, max, more: moreOf(what, asking) }),
      words: wordsOf(what),
    }))
    const longest = Math.max(...waits.map(({ seconds }) => seconds))
    const refusing = waits.find(({ seconds }) => seconds > 0 && seconds === longest)
    return refusing === undefined ? null : `${refusing.words} retry after ${longest}`
  }

  #minuteLimits({ account, apiKey, everBacked }: Asking) {
    const { keyRequestsPerMinuteMax, unbackedAccountRequestsPerMinuteMax } = this.#limits
    const unbacked = everBacked ? undefined : unbackedAccountRequestsPerMinuteMax
    const limits = [
      { owner: apiKey, what: 'requests', max: keyRequestsPerMinuteMax as number | undefined },
      { owner: account, what: 'requests', max: unbacked },
      { owner: apiKey, what: 'tokens', max: undefined },
      { owner: account, what: 'tokens', max: undefined },
    ]
    return limits.flatMap(({ owner, what, max: general }) => {
      const max = this.#own.get(`${owner} ${what}`) ?? general
      return max === undefined ? [] : [{ owner, what, max }]
    })
  }

  /** The number of seconds until so many more fit. */
  #wait(
    name: string,
    input: { readonly asking: Asking; readonly max: number; readonly more: number },
  ): number {
    const { asking, max, more } = input
    for (let seconds = 0; ; seconds++) {
      const counted = this.#live(name, asking.nowMs + seconds * 1_000)
      if (counted.reduce((sum, { count }) => sum + count, 0) + more <= max) return seconds
      if (seconds > 3 * WINDOW_SECONDS) throw new Error(`${name} never has room`)
    }
  }

  /** The requests that a window counts at a moment: those of the last minute, even if a clock was set back. */
  #live(name: string, nowMs: number): readonly Counted[] {
    const second = this.#secondOf(name, nowMs)
    const newest = this.#newestOf(name)
    // After a clock was set back by more than the window, nothing counts.
    if (newest > second) return []
    const counted = this.#windows.get(name) ?? []
    return counted.filter((one) => second - one.second < WINDOW_SECONDS)
  }

  #secondOf(name: string, nowMs: number): number {
    const second = Math.floor(nowMs / 1_000)
    const newest = this.#newestOf(name)
    return newest - second > WINDOW_SECONDS ? second : Math.max(newest, second)
  }

  #newestOf(name: string): number {
    return Math.max(...(this.#windows.get(name) ?? []).map(({ second }) => second))
  }

  /** Counts an admitted request; returns what it counts as in the windows of tokens, which its settle changes. */
  admit(asking: Asking): Counted | null {
    const { account, apiKey, nowMs, tokens } = asking
    const limits = this.#minuteLimits(asking)
    const countsAccount = limits.some(({ owner, what }) => owner === account && what === 'requests')
    for (const name of [`${apiKey} requests`, ...(countsAccount ? [`${account} requests`] : [])]) {
      this.#count(name, { second: this.#secondOf(name, nowMs), count: 1 })
    }
    if (!limits.some(({ what }) => what === 'tokens')) return null
    const names = [`${apiKey} tokens`, `${account} tokens`]
    const second = Math.max(...names.map((name) => this.#secondOf(name, nowMs)))
    const counted = { second, count: tokens }
    for (const name of names) this.#count(name, counted)
    return counted
  }

  #count(name: string, counted: Counted): void {
    const isSetBack = this.#newestOf(name) > counted.second
    const earlier = isSetBack ? [] : (this.#windows.get(name) ?? [])
    this.#windows.set(name, [...earlier, counted])
  }

  /** The rest of an allowance at a moment, the held part and the end of its period; null: there is no allowance. */
  allowance(id: string, holds: readonly Hold[], nowMs: number) {
    const allowance = this.#allowances.get(id)
    if (allowance === undefined) return null
    const named = periodName(allowance, nowMs)
    const counting = holds.filter(
      (hold) =>
        (hold.account === id || hold.apiKey === id) &&
        periodName(allowance, hold.openedAtMs) === named,
    )
    const held = counting.reduce(
      (sum, hold) => sum + reservedOf(hold, 'backed') + reservedOf(hold, 'free'),
      0,
    )
    const spend = counting.flatMap(({ paid }) => paid).length
    const left = Math.max(0, allowance.amountMicros - spend - held)
    return { left, held, resets: endOf(allowance, nowMs) / 1_000 }
  }
}

function wordsOf(what: string): string {
  return what === 'tokens' ? 'rate_limited tokens' : 'rate_limited'
}

function moreOf(what: string, { tokens }: Asking): number {
  return what === 'tokens' ? tokens : 1
}

/** The offset from UTC, in milliseconds, of `UTC` or of an offset such as `+05:45`. */
function offsetMsOf(zone: string): number {
  const [hours = 0, minutes = 0] = zone === 'UTC' ? [] : zone.slice(1).split(':').map(Number)
  const sign = zone.startsWith('-') ? -1 : 1
  return sign * (hours * 60 + minutes) * 60_000
}

/** A name of the period that a moment lies in: equal for all moments of one period, and for no other. */
function periodName({ period, offsetMs }: Allowance, atMs: number): string {
  const shown = new Date(atMs + offsetMs)
  const monday = new Date(shown.getTime() - ((shown.getUTCDay() + 6) % 7) * DAY_MS)
  const date = (period === 'week' ? monday : shown).toISOString()
  return date.slice(0, period === 'month' ? 'yyyy-mm'.length : 'yyyy-mm-dd'.length)
}

/** Found by halving: once a period has ended, its name does not come back. */
function endOf(allowance: Allowance, nowMs: number): number {
  const named = periodName(allowance, nowMs)
  let within = Math.floor(nowMs / QUARTER_MS)
  let after = within + MONTH_QUARTERS
  if (periodName(allowance, after * QUARTER_MS) === named)
    throw new Error('the period does not end')
  while (after - within > 1) {
    const middle = Math.floor((within + after) / 2)
    if (periodName(allowance, middle * QUARTER_MS) === named) within = middle
    else after = middle
  }
  return after * QUARTER_MS
}
