import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import type { KeyUsageAnswer } from '../upstreams/provider-records.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { type Clock, DAY_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import { firstIdOf } from '../vocabulary/ids.ts'
import { type Micros, micros, microsOfDecimal } from '../vocabulary/money.ts'
import { type Doubts, wholeOf } from './doubts.ts'

/** How many comparisons in a row must agree to end a doubt about the upstream. */
const AGREED_COMPARISONS_MIN = 3

interface KeyUsageInput {
  /** The upstream's name in the rows of requests. */
  readonly upstream: string
  /** Reads our key's usage from the upstream. Must never reject. */
  readonly fetchKeyUsage: () => Promise<KeyUsageAnswer>
  /** The store whose requests are added up. */
  readonly db: Kysely<Tables>
  /** The clock of the times in the store's rows. */
  readonly clock: Clock
  readonly doubts: Pick<Doubts, 'agreed' | 'differed'>
  /** Called with each look. Must not throw. */
  readonly onPass: (look: KeyUsageLook) => void
}

/** The result of a look at the key's usage. */
export type KeyUsageLook =
  /** There is nothing to compare yet, or nothing was used. */
  | { readonly kind: 'nothing' }
  /** The upstream does not report the usage of a key. */
  | { readonly kind: 'noFigure' }
  /** The figure or the store could not be read. */
  | { readonly kind: 'unavailable'; readonly cause: unknown }
  | ({ readonly kind: 'agrees' | 'differs' } & UsageComparison)

/** The rise of the key's usage, and the rise that the requests of the store allow. */
interface UsageComparison extends Booked {
  readonly riseMicros: Micros
}

/** The provider costs that the store has for the time between two readings of the key's usage. */
interface Booked {
  /** The costs that certainly fall into that time. */
  readonly bookedMicros: Micros
  /** The costs that may also fall into it: requests at either end, and requests of unknown cost. */
  readonly unsureMicros: Micros
}

/** A figure, and when it was asked for and answered. */
interface Reading {
  readonly usageMicros: Micros
  readonly askedAtMs: number
  readonly answeredAtMs: number
}

// Most requests that end after a reading began at most this long before it. Before a difference is believed, all are
// searched for.
const USUAL_DURATION_MS = 20 * MINUTE_MS
// An upstream may count a request some seconds after its answer ended.
const COUNTED_AFTER_MS = 5_000
const CLOCKS_APART_MS = MINUTE_MS

const TOLERATED_MICROS = 10_000
const TOLERATED_PER_MILLE = 1

/** Whether a rise of the key's usage agrees with the booked costs, to within a cent or 0.1%. */
export function usageAgrees({ riseMicros, bookedMicros, unsureMicros }: UsageComparison): boolean {
  const toleratedMicros = Math.max(TOLERATED_MICROS, (bookedMicros * TOLERATED_PER_MILLE) / 1_000)
  return (
    riseMicros >= bookedMicros - toleratedMicros &&
    riseMicros <= bookedMicros + unsureMicros + toleratedMicros
  )
}

/**
 * Compares the upstream's record of our key's usage with the costs that all processes have stored. The time between two
 * looks is compared at the third look: by then, most requests of that time are settled.
 */
export class KeyUsage {
  readonly #input: KeyUsageInput
  #readings: readonly Reading[] = []
  #looking: Promise<void> | null = null

  constructor(input: KeyUsageInput) {
    this.#input = input
  }

  /** Compares, unless a comparison is running. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    const { upstream, fetchKeyUsage, clock, doubts, onPass } = this.#input
    const askedAtMs = clock.nowMs()
    const answer = await fetchKeyUsage()
    try {
      const look = await this.#judge(answer, { askedAtMs, answeredAtMs: clock.nowMs() })
      if (look.kind === 'differs') await doubts.differed(wholeOf(upstream))
      if (look.kind === 'agrees') await doubts.agreed(wholeOf(upstream), AGREED_COMPARISONS_MIN)
      onPass(look)
    } catch (cause) {
      onPass({ kind: 'unavailable', cause })
    }
  }

  async #judge(
    answer: KeyUsageAnswer,
    at: Pick<Reading, 'askedAtMs' | 'answeredAtMs'>,
  ): Promise<KeyUsageLook> {
    switch (answer.kind) {
      case 'noFigure':
      case 'unavailable':
        return answer
      case 'refused':
        return { kind: 'unavailable', cause: answer.cause }
      case 'found': {
        const usageMicros = microsOfDecimal(answer.usageUsd)
        if (usageMicros === null) return { kind: 'noFigure' }
        const look = await this.#compare()
        this.#readings = [...this.#readings.slice(-1), { usageMicros, ...at }]
        return look
      }
      default:
        return assertNever(answer)
    }
  }

  async #compare(): Promise<KeyUsageLook> {
    const [from, to] = this.#readings
    if (from === undefined || to === undefined) return { kind: 'nothing' }
    const riseMicros = micros(to.usageMicros - from.usageMicros)
    // Another key, or a figure that was set back.
    if (riseMicros < 0 || to.askedAtMs <= from.answeredAtMs) return { kind: 'nothing' }
    const usual = await this.#booked({ from, to, beganBeforeMs: USUAL_DURATION_MS })
    if (riseMicros + usual.bookedMicros === 0) return { kind: 'nothing' }
    if (usageAgrees({ riseMicros, ...usual })) return { kind: 'agrees', riseMicros, ...usual }
    const all = await this.#booked({ from, to, beganBeforeMs: DAY_MS })
    return { kind: usageAgrees({ riseMicros, ...all }) ? 'agrees' : 'differs', riseMicros, ...all }
  }

  #booked({ from, to, beganBeforeMs }: CompareInput): Promise<Booked> {
    const { upstream, db } = this.#input
    return readBooked(db, { upstream, from, to, beganMs: from.askedAtMs - beganBeforeMs })
  }
}

interface CompareInput {
  readonly from: Reading
  readonly to: Reading
  readonly beganBeforeMs: number
}

/**
 * The provider costs between two readings, by the requests that began at a moment or later and ended between them. Sums
 * are rounded once.
 */
async function readBooked(
  db: Kysely<Tables>,
  {
    upstream,
    from,
    to,
    beganMs,
  }: Pick<CompareInput, 'from' | 'to'> & { readonly upstream: string; readonly beganMs: number },
): Promise<Booked> {
  const idAt = (timeMs: number) => firstIdOf({ prefix: 'req', timeMs })
  const ended = sql`coalesce(ended_at_ms, ${to.answeredAtMs + DAY_MS})`
  const cost = sql`cast(coalesce(cost_usd, late_cost_usd) as double precision) * 1000000`
  // The highest possible cost of a request whose cost is not known. A released request without a generation ID did not
  // run.
  const most = sql`case when coalesce(cost_usd, late_cost_usd) is not null then ${cost}
    when state = 'released' and generation_id is null then 0
    when backed_granted_micros + free_granted_micros > backed_charge_micros + free_charge_micros
      then backed_granted_micros + free_granted_micros
    else backed_charge_micros + free_charge_micros end`
  const isSure = sql`coalesce(cost_usd, late_cost_usd) is not null and opened_at_ms > ${from.answeredAtMs}
    and ${ended} <= ${to.askedAtMs - COUNTED_AFTER_MS}`
  const row = await db
    .selectFrom('all_requests')
    .select([
      sql<
        number | null
      >`cast(round(sum(case when ${isSure} then ${cost} else 0 end)) as bigint)`.as('booked'),
      sql<
        number | null
      >`cast(round(sum(case when ${isSure} then 0 else ${most} end)) as bigint)`.as('unsure'),
    ])
    .where('upstream', '=', upstream)
    .where('id', '>=', idAt(beganMs))
    .where('id', '<', idAt(to.answeredAtMs + CLOCKS_APART_MS))
    .where('opened_at_ms', '<=', to.answeredAtMs)
    .where(sql<boolean>`${ended} > ${from.askedAtMs - COUNTED_AFTER_MS}`)
    .executeTakeFirstOrThrow()
  return {
    bookedMicros: micros(Number(row.booked ?? 0)),
    unsureMicros: micros(Number(row.unsure ?? 0)),
  }
}
