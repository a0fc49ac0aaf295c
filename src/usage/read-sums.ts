import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { DAY_HOURS, type UsageStep } from '../vocabulary/usage-step.ts'
import { equalPeriods, planSums, type Span, type SumPlan } from './sum-plan.ts'
import { type RolledPart, type RowsQuery, readRolled, readSpan, type SumRow } from './sum-rows.ts'
import {
  addSums,
  type GROUPING_COLUMNS,
  NO_USAGE,
  type SelectedSums,
  subtractSums,
  type UsageSums,
} from './sums.ts'

/** The requests of a chart, and its steps. */
export interface ReadHours {
  /** One account, several, or null: all of them. */
  readonly accountId: string | readonly string[] | null
  /** Null: not grouped. */
  readonly by: keyof typeof GROUPING_COLUMNS | null
  readonly step: UsageStep
  /** At the start of a step. */
  readonly fromHour: number
  /** At the end of a step. */
  readonly untilHour: number
}

/**
 * Adds up requests by group: at null if they are not grouped. `totals` are over all hours. `steps` also adds up
 * by the number of the day or hour since the Unix epoch: `ownIds` are groups of their own, all other groups are
 * together at null. Counts of first-byte times that are not among the `columns` are zero.
 */
export async function readSums(view: Kysely<Tables>, hours: ReadHours, columns: SelectedSums) {
  const { accountId, by, step } = hours
  const query: RowsQuery = { accountId, apiKeyId: null, by, columns }
  const periods = equalPeriods({
    fromMs: hours.fromHour * HOUR_MS,
    untilMs: hours.untilHour * HOUR_MS,
    lengthMs: step === 'day' ? DAY_HOURS * HOUR_MS : HOUR_MS,
  })
  const isByKey = by === 'key'
  const detail = !isByKey ? 'kinds' : step === 'day' ? 'keys' : 'keysOfHours'
  const plan = await planSums(view, { periods, detail })
  // Requests take longest to read, and are read once for totals and steps. Keys by hour are too many rows for that.
  const [once, twice] = detail === 'keysOfHours' ? [[], plan.spans] : [plan.spans, []]
  const ofSteps = await readSpans(view, query, once)
  const totals = new Map<string | null, UsageSums>()
  const ofTotals = [
    ...(await readSpans(view, query, joined(twice))),
    ...(await readTotals(view, query, plan)),
  ]
  for (const { label, sums } of [...ofSteps, ...ofTotals]) add(totals, label, sums)
  return {
    totals,
    async steps(ownIds: readonly string[] | 'all') {
      const groups = new StepSums()
      const own = new Set<string | null>(ownIds === 'all' ? totals.keys() : ownIds)
      for (const row of ofSteps) groups.add(own.has(row.label) ? row.label : null, row)
      const labelled = labelledBy(query, ownIds)
      for (const row of await readSpans(view, labelled, twice)) groups.add(row.label, row)
      for (const part of rolledParts(plan)) {
        for (const row of await readOwn(view, { query, labelled, part, ownIds })) {
          groups.add(row.label, row)
        }
      }
      return groups.byGroup
    },
  }
}

async function readSpans(
  view: Kysely<Tables>,
  query: RowsQuery,
  spans: readonly Span[],
): Promise<readonly SumRow[]> {
  const rows: SumRow[] = []
  for (const span of spans) rows.push(...(await readSpan(view, query, span)))
  return rows
}

/** Spans side by side as one, whatever their periods are. */
function joined(spans: readonly Span[]): readonly Span[] {
  const all: Span[] = []
  for (const span of spans) {
    const last = all.at(-1)
    if (last?.untilMs === span.fromMs) all[all.length - 1] = { ...last, untilMs: span.untilMs }
    else all.push(span)
  }
  return all
}

function rolledParts(plan: SumPlan): readonly RolledPart[] {
  return (['usage_days', 'usage_hours'] as const).map((source) => {
    return { source, places: plan[source] }
  })
}

/** The roll-ups of all steps together. */
async function readTotals(
  view: Kysely<Tables>,
  query: RowsQuery,
  plan: SumPlan,
): Promise<readonly SumRow[]> {
  const rows: SumRow[] = []
  for (const { source, places } of rolledParts(plan)) {
    const atOnePlace = new Map([...places.keys()].map((number) => [number, 0]))
    rows.push(...(await readRolled(view, query, { source, places: atOnePlace })))
  }
  return rows
}

/** The query with only those groups as labels. */
function labelledBy(query: RowsQuery, ownIds: readonly string[] | 'all'): RowsQuery {
  if (ownIds === 'all') return query
  return ownIds.length === 0 ? { ...query, by: null } : { ...query, labelled: ownIds }
}

async function readOwn(
  view: Kysely<Tables>,
  {
    query,
    labelled,
    part,
    ownIds,
  }: {
    readonly query: RowsQuery
    readonly labelled: RowsQuery
    readonly part: RolledPart
    readonly ownIds: readonly string[] | 'all'
  },
): Promise<readonly SumRow[]> {
  const readsKeys = part.source === 'usage_days' && query.by === 'key'
  if (ownIds === 'all' || ownIds.length === 0 || !readsKeys) return readRolled(view, labelled, part)
  // An account may have a thousand keys: the others are the sum of all less the account's own groups.
  const own = await readRolled(view, { ...query, apiKeyId: ownIds }, part)
  const all = await readRolled(view, { ...query, by: null }, part)
  return [...all, ...own, ...own.map(negated)]
}

/** A row that takes its sums from all others. */
function negated({ place, sums }: SumRow): SumRow {
  return { label: null, place, sums: subtractSums(NO_USAGE, sums) }
}

class StepSums {
  readonly byGroup = new Map<string | null, Map<number, UsageSums>>()

  add(label: string | null, { place, sums }: SumRow): void {
    const steps = this.byGroup.get(label) ?? new Map<number, UsageSums>()
    this.byGroup.set(label, steps)
    add(steps, place, sums)
  }
}

function add<Place>(sums: Map<Place, UsageSums>, place: Place, more: UsageSums): void {
  const earlier = sums.get(place)
  sums.set(place, earlier === undefined ? more : addSums(earlier, more))
}
