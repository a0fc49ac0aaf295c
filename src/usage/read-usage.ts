import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { inOneView } from '../store/store.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { type Comparison, comparedSpan, monthStart } from '../vocabulary/date-range.ts'
import { addMicros, type Micros, micros, roundedCost, subtractMicros } from '../vocabulary/money.ts'
import type { TokenUsage } from '../vocabulary/outcome.ts'
import { type ChartStep, DAY_HOURS } from '../vocabulary/usage-step.ts'
import { type ReadHours, readSums } from './read-sums.ts'
import { NO_KEY } from './sum-rows.ts'
import { addSums, firstByteMs, NO_USAGE, type SelectedSums, type UsageSums } from './sums.ts'

/** The grouping of the requests of a chart. */
export type UsageGrouping = (typeof OPERATORS_GROUPINGS)[number]

/** Every grouping of one account. */
export const USAGE_GROUPINGS = ['model', 'key', 'endpoint'] as const

/** Every grouping of all accounts. */
export const OPERATORS_GROUPINGS = ['account', ...USAGE_GROUPINGS, 'upstream'] as const

/** Selects requests. */
interface UsageRange {
  /** Null: all accounts. */
  readonly accountId: string | null
  /** Moved down to the start of its step, of a month to the start of the day. */
  readonly fromMs: number
  /** Exclusive; moved up to the end of its step, of a month to the end of the day. */
  readonly toMs: number
  readonly step: ChartStep
}

/** Selects a chart. */
export interface UsageQuery extends UsageRange {
  /** Null: not grouped. */
  readonly by: UsageGrouping | null
  /** The time of `before`. Default: the time just before. */
  readonly comparison?: Comparison
  /** How many groups have a series of their own. Default 5. */
  readonly seriesMax?: number
  /**
   * The first-byte times that are read: of each group and step too (the default), or only of the totals,
   * which is faster where there are many keys.
   */
  readonly firstByteOf?: 'groups' | 'totals'
}

/** The sums of requests. All figures are exact except for times. */
export interface UsageFigures {
  readonly requests: number
  /** The number of requests that ended with an error. */
  readonly failed: number
  readonly chargeMicros: Micros
  readonly money: UsageMoney
  readonly usage: TokenUsage
  /** Within half a step of ×1.5 of the exact time; null: none had a first byte, or they were not read. */
  readonly firstByte: { readonly p50Ms: number; readonly p95Ms: number } | null
}

/** The parts of the charges of requests, and the provider's bill for them. */
export interface UsageMoney {
  readonly backedChargeMicros: Micros
  readonly freeChargeMicros: Micros
  /** The part of the free charge that the purse could not pay. */
  readonly writtenOffMicros: Micros
  /** Rounded half up once, with that of released requests. */
  readonly costMicros: Micros
  /** The part of the cost that the provider billed for released requests. */
  readonly unchargedCostMicros: Micros
  /** Charged requests whose cost is not known. */
  readonly uncosted: number
  /** The paid charge less the cost; null if a cost is not known. */
  readonly marginMicros: Micros | null
}

/** The sums of the requests of one group. */
export interface UsageGroupFigures {
  /**
   * The ID of an account, key or model, or an endpoint or upstream. Empty: requests by key and hour that were pruned, whose keys are known
   * only by day.
   */
  readonly id: string
  readonly totals: UsageFigures
}

/** The sums of the requests of a group, by step. */
export interface UsageSeries {
  /** Null: all other groups together, or all requests where they are not grouped. */
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
  /** All groups together, one for each step. */
  readonly steps: readonly UsageFigures[]
  /** The time that it is compared with. */
  readonly before: UsageFigures
  /** All of them, the one with the most charge first. */
  readonly groups: readonly UsageGroupFigures[]
  /** The first of the groups, and the others behind them if there are any. */
  readonly series: readonly UsageSeries[]
  /** The start of the first UTC day that is not rolled up; null: none is rolled up. Figures are exact in both cases. */
  readonly rolledUntilMs: number | null
}

const SERIES_MAX_DEFAULT = 5

/**
 * Reads a chart: roll-ups where there are, and requests where there are not, in one view of the store. A
 * request belongs to the step in which its id was made. `db` is a read-only connection.
 */
export function readUsage(db: Kysely<Tables>, query: UsageQuery): Promise<Usage> {
  return inOneView(db, (view) => readView(view, query))
}

/** The charges and costs of several accounts in whole UTC days, by account ID. An account without requests has none. */
export async function readAccounts(
  db: Kysely<Tables>,
  {
    accountIds,
    ...range
  }: Omit<UsageRange, 'accountId' | 'step'> & { readonly accountIds: readonly string[] },
): Promise<ReadonlyMap<string | null, Pick<UsageFigures, 'chargeMicros' | 'money'>>> {
  if (accountIds.length === 0) return new Map()
  const hours = hoursOf({ ...range, accountId: null, by: null, step: 'day' })
  const asked: ReadHours = { ...hours, accountId: accountIds, by: 'account' }
  const { totals } = await inOneView(db, (view) => readSums(view, asked, 'money'))
  return new Map([...totals].map(([id, each]) => [id, figuresOf(each)]))
}

/**
 * The sums of each group's requests, the group with the most charge first; without first-byte times. `columns`: `money`:
 * only charge and cost, which is faster where there are thousands of groups. Default `amounts`.
 */
export async function readUsageGroups(
  db: Kysely<Tables>,
  {
    columns = 'amounts',
    ...query
  }: UsageRange & { readonly by: UsageGrouping; readonly columns?: 'amounts' | 'money' },
): Promise<readonly UsageGroupFigures[]> {
  const { totals } = await inOneView(db, (view) => readSums(view, hoursOf(query), columns))
  return groupsOf(totals)
}

/**
 * The sums of every group in every step in which it has requests: by step, which begins at `stepMs`, the most
 * charge first.
 */
export async function readUsageCells(
  db: Kysely<Tables>,
  query: UsageRange & { readonly by: UsageGrouping },
): Promise<readonly (UsageGroupFigures & { readonly stepMs: number })[]> {
  const groups = await inOneView(db, async (view) => {
    const sums = await readSums(view, hoursOf(query), 'all')
    return sums.steps('all')
  })
  const steps = stepsOf(query, hoursOf(query))
  const cells = [...groups].flatMap(([id, sums]) =>
    steps.flatMap(({ startMs, numbers }) => {
      const parts = numbers.flatMap((number) => sums.get(number) ?? [])
      if (parts.length === 0) return []
      const totals = figuresOf(parts.reduce(addSums, NO_USAGE))
      return [{ id: id ?? NO_KEY, stepMs: startMs, totals }]
    }),
  )
  return cells.toSorted((one, other) => one.stepMs - other.stepMs || byCharge(one, other))
}

async function readView(view: Kysely<Tables>, query: UsageQuery): Promise<Usage> {
  const hours = hoursOf(query)
  const columns: SelectedSums = query.firstByteOf === 'totals' ? 'amounts' : 'all'
  const byGroup = await readSums(view, hours, columns)
  const all = { ...hours, by: null }
  const { totals } = columns === 'all' ? byGroup : await readSums(view, all, 'all')
  const before = await readSums(view, { ...all, ...comparedHours(query, hours) }, 'all')
  const groups = groupsOf(byGroup.totals)
  const own = groups.slice(0, query.seriesMax ?? SERIES_MAX_DEFAULT).map(({ id }) => id)
  const others = byGroup.totals.size - own.length
  const sums = await byGroup.steps(others === 0 ? 'all' : own)
  const steps = stepsOf(query, hours)
  const seriesOf = (groupId: string | null, groupCount: number): UsageSeries => {
    const ofSteps = steps.map((step) => sumOfStep(step, sums.get(groupId)))
    const totals = figuresOf(ofSteps.reduce(addSums, NO_USAGE))
    return { id: groupId, groups: groupCount, totals, steps: ofSteps.map(figuresOf) }
  }
  const allIn = (step: Step): UsageSums =>
    [...sums.values()].reduce((sum, of) => addSums(sum, sumOfStep(step, of)), NO_USAGE)
  return {
    fromMs: hours.fromHour * HOUR_MS,
    toMs: hours.untilHour * HOUR_MS,
    stepsMs: steps.map(({ startMs }) => startMs),
    totals: figuresOf([...totals.values()].reduce(addSums, NO_USAGE)),
    steps: steps.map((step) => figuresOf(allIn(step))),
    before: figuresOf(before.totals.get(null) ?? NO_USAGE),
    groups,
    series: [
      ...own.map((id) => seriesOf(id, 1)),
      ...(others > 0 || query.by === null ? [seriesOf(null, Math.max(1, others))] : []),
    ],
    rolledUntilMs: await rolledUntilMs(view),
  }
}

interface Step {
  readonly startMs: number
  /** The numbers of the hours or days whose sums it has. */
  readonly numbers: readonly number[]
}

/** The steps of a chart in order. A month that is not whole begins, or ends, where the chart does. */
function stepsOf({ step }: UsageRange, { fromHour, untilHour }: ReadHours): readonly Step[] {
  const stepHours = stepHoursOf(step)
  const length = (untilHour - fromHour) / stepHours
  const numbers = Array.from({ length }, (_, place) => fromHour / stepHours + place)
  const startOf = (number: number) => number * stepHours * HOUR_MS
  if (step !== 'month') return numbers.map((one) => ({ startMs: startOf(one), numbers: [one] }))
  const months = Map.groupBy(numbers, (day) => monthStart(startOf(day)))
  return [...months.values()].map((days) => ({ startMs: startOf(days[0] ?? 0), numbers: days }))
}

function sumOfStep({ numbers }: Step, sums: ReadonlyMap<number, UsageSums> | undefined): UsageSums {
  return numbers.reduce((sum, number) => {
    const part = sums?.get(number)
    return part === undefined ? sum : addSums(sum, part)
  }, NO_USAGE)
}

function stepHoursOf(step: ChartStep): number {
  return step === 'hour' ? 1 : DAY_HOURS
}

function hoursOf(query: UsageRange & Pick<UsageQuery, 'by'>): ReadHours {
  const stepHours = stepHoursOf(query.step)
  const fromStep = Math.max(0, Math.floor(query.fromMs / HOUR_MS / stepHours))
  const untilStep = Math.max(fromStep + 1, Math.ceil(query.toMs / HOUR_MS / stepHours))
  return {
    accountId: query.accountId,
    by: query.by,
    step: query.step === 'hour' ? 'hour' : 'day',
    fromHour: fromStep * stepHours,
    untilHour: untilStep * stepHours,
  }
}

/** The hours that a chart is compared with. */
function comparedHours(
  { comparison = 'before' }: UsageQuery,
  { fromHour, untilHour }: ReadHours,
): Pick<ReadHours, 'fromHour' | 'untilHour'> {
  const span = { fromMs: fromHour * HOUR_MS, toMs: untilHour * HOUR_MS }
  const { fromMs, toMs } = comparedSpan(span, comparison)
  return { fromHour: Math.max(0, fromMs / HOUR_MS), untilHour: Math.max(0, toMs / HOUR_MS) }
}

function groupsOf(totals: ReadonlyMap<string | null, UsageSums>): readonly UsageGroupFigures[] {
  const groups = [...totals].flatMap(([id, sums]) =>
    id === null ? [] : [{ id, totals: figuresOf(sums) }],
  )
  return groups.toSorted(byCharge)
}

function byCharge(one: UsageGroupFigures, other: UsageGroupFigures): number {
  return (
    other.totals.chargeMicros - one.totals.chargeMicros ||
    other.totals.requests - one.totals.requests ||
    (one.id < other.id ? -1 : 1)
  )
}

/** The amounts of sums: each is rounded once, and the margin is of rounded amounts, so that columns add up. */
export function moneyOf(sums: UsageSums): UsageMoney {
  const uncharged = {
    costMicros: sums.uncharged_cost_micros,
    costRestPico: sums.uncharged_cost_rest_pico,
  }
  const costMicros = roundedCost({
    costMicros: sums.cost_micros + uncharged.costMicros,
    costRestPico: sums.cost_rest_pico + uncharged.costRestPico,
  })
  const backedChargeMicros = micros(sums.backed_charge_micros)
  return {
    backedChargeMicros,
    freeChargeMicros: micros(sums.free_charge_micros),
    writtenOffMicros: micros(sums.written_off_micros),
    costMicros,
    unchargedCostMicros: roundedCost(uncharged),
    uncosted: sums.uncosted,
    marginMicros: sums.uncosted === 0 ? subtractMicros(backedChargeMicros, costMicros) : null,
  }
}

function figuresOf(sums: UsageSums): UsageFigures {
  const [p50Ms, p95Ms] = [firstByteMs(sums, 0.5), firstByteMs(sums, 0.95)]
  return {
    requests: sums.requests,
    failed: sums.failed,
    chargeMicros: addMicros(micros(sums.backed_charge_micros), micros(sums.free_charge_micros)),
    money: moneyOf(sums),
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
