import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { addMicros, type Micros, micros } from '../vocabulary/money.ts'
import type { TokenUsage } from '../vocabulary/outcome.ts'
import { DAY_HOURS, HOUR_MS, type UsageStep } from '../vocabulary/usage-step.ts'
import { type ReadHours, readSteps, readTotals } from './read-sums.ts'
import { addSums, firstByteMs, NO_USAGE, type UsageSums } from './sums.ts'

/** What the requests of a chart are grouped by. */
type UsageGrouping = 'model' | 'key' | 'endpoint'

/** Which chart to read. */
export interface UsageQuery {
  /** Null: all accounts. */
  readonly accountId: string | null
  /** Moved down to the start of its step. */
  readonly fromMs: number
  /** Exclusive; moved up to the end of its step. */
  readonly toMs: number
  /** Null: not at all. */
  readonly by: UsageGrouping | null
  readonly step: UsageStep
  /** How many groups have a series of their own. Default 5. */
  readonly seriesMax?: number
}

/** What requests came to, all figures exact but for times. */
export interface UsageFigures {
  readonly requests: number
  /** Those that ended with an error. */
  readonly failed: number
  readonly chargeMicros: Micros
  readonly usage: TokenUsage
  /** Within half a step of ×1.5 of the exact time; null: none had a first byte. */
  readonly firstByte: { readonly p50Ms: number; readonly p95Ms: number } | null
}

/** What the requests of one group came to. */
interface UsageGroupFigures {
  /** A model id, key id or endpoint. */
  readonly id: string
  readonly totals: UsageFigures
}

/** What the requests of a group came to by steps. */
export interface UsageSeries {
  /**
   * Null: all other groups together, or all requests where they are not grouped. Requests by key and hour
   * that were pruned are there, since their keys are known by day alone.
   */
  readonly id: string | null
  /** How many groups it has. */
  readonly groups: number
  readonly totals: UsageFigures
  /** One for each step. */
  readonly steps: readonly UsageFigures[]
}

/** A chart. */
export interface Usage {
  readonly fromMs: number
  readonly toMs: number
  /** When each step begins. */
  readonly stepsMs: readonly number[]
  readonly totals: UsageFigures
  /** The same time just before. */
  readonly before: UsageFigures
  /** All of them, the one with the most charge first. */
  readonly groups: readonly UsageGroupFigures[]
  /** The first of the groups, and the others behind them if there are any. */
  readonly series: readonly UsageSeries[]
  /** Where the first UTC day begins that is not rolled up; null: none is. Figures are exact either way. */
  readonly rolledUntilMs: number | null
}

const SERIES_MAX_DEFAULT = 5

const COLUMNS = { model: 'model_id', key: 'api_key_id', endpoint: 'endpoint' } as const

/**
 * Reads a chart: roll-ups where there are, and requests where there are not, in one view of the store. A
 * request belongs to the step in which its id was made. `db` is a read-only connection.
 */
export function readUsage(db: Kysely<Tables>, query: UsageQuery): Promise<Usage> {
  const view = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return view.execute((trx) => readView(trx, query))
}

async function readView(view: Kysely<Tables>, query: UsageQuery): Promise<Usage> {
  const stepHours = query.step === 'day' ? DAY_HOURS : 1
  const fromStep = Math.floor(query.fromMs / HOUR_MS / stepHours)
  const untilStep = Math.max(fromStep + 1, Math.ceil(query.toMs / HOUR_MS / stepHours))
  const hours: ReadHours = {
    accountId: query.accountId,
    groupColumn: query.by === null ? null : COLUMNS[query.by],
    step: query.step,
    fromHour: fromStep * stepHours,
    untilHour: untilStep * stepHours,
  }
  const byGroup = await readTotals(view, hours)
  const before = await readTotals(view, {
    ...hours,
    groupColumn: null,
    fromHour: Math.max(0, 2 * hours.fromHour - hours.untilHour),
    untilHour: hours.fromHour,
  })
  const groups = [...byGroup].flatMap(([id, sums]) =>
    id === null ? [] : [{ id, totals: figuresOf(sums) }],
  )
  groups.sort(byCharge)
  const own = groups.slice(0, query.seriesMax ?? SERIES_MAX_DEFAULT).map(({ id }) => id)
  const steps = await readSteps(view, hours, own)
  const stepNumbers = Array.from({ length: untilStep - fromStep }, (_, place) => fromStep + place)
  const others = byGroup.size - own.length
  const seriesOf = (groupId: string | null, groupCount: number): UsageSeries => {
    const sums = stepNumbers.map((step) => steps.get(groupId)?.get(step) ?? NO_USAGE)
    const totals = figuresOf(sums.reduce(addSums, NO_USAGE))
    return { id: groupId, groups: groupCount, totals, steps: sums.map(figuresOf) }
  }
  return {
    fromMs: hours.fromHour * HOUR_MS,
    toMs: hours.untilHour * HOUR_MS,
    stepsMs: stepNumbers.map((step) => step * stepHours * HOUR_MS),
    totals: figuresOf([...byGroup.values()].reduce(addSums, NO_USAGE)),
    before: figuresOf(before.get(null) ?? NO_USAGE),
    groups,
    series: [
      ...own.map((id) => seriesOf(id, 1)),
      ...(others > 0 || query.by === null ? [seriesOf(null, Math.max(1, others))] : []),
    ],
    rolledUntilMs: await rolledUntilMs(view),
  }
}

function byCharge(one: UsageGroupFigures, other: UsageGroupFigures): number {
  return (
    other.totals.chargeMicros - one.totals.chargeMicros ||
    other.totals.requests - one.totals.requests ||
    (one.id < other.id ? -1 : 1)
  )
}

function figuresOf(sums: UsageSums): UsageFigures {
  const [p50Ms, p95Ms] = [firstByteMs(sums, 0.5), firstByteMs(sums, 0.95)]
  return {
    requests: sums.requests,
    failed: sums.failed,
    chargeMicros: addMicros(micros(sums.backed_charge_micros), micros(sums.free_charge_micros)),
    usage: {
      inputTokens: sums.input_tokens,
      cacheReadTokens: sums.cache_read_tokens,
      cacheWriteTokens: sums.cache_write_tokens,
      cacheWriteLongTokens: sums.cache_write_long_tokens,
      outputTokens: sums.output_tokens,
      reasoningTokens: sums.reasoning_tokens,
      imageOutputTokens: sums.image_output_tokens,
      searches: sums.searches,
    },
    firstByte: p50Ms === null || p95Ms === null ? null : { p50Ms, p95Ms },
  }
}

async function rolledUntilMs(view: Kysely<Tables>): Promise<number | null> {
  const rolled = await view
    .selectFrom('usage_rolled as rolled')
    .leftJoin('usage_rolled as next', (join) =>
      join
        .onRef('next.step', '=', 'rolled.step')
        .on(({ eb, ref }) => eb('next.number', '=', eb(ref('rolled.number'), '+', 1))),
    )
    .select('rolled.number')
    .where('rolled.step', '=', 'day')
    .where('rolled.number', '>=', 0)
    .where('next.number', 'is', null)
    .orderBy('rolled.number')
    .limit(1)
    .executeTakeFirst()
  return rolled === undefined ? null : (rolled.number + 1) * DAY_HOURS * HOUR_MS
}
