import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { DAY_HOURS, requestIdsOf, type UsageStep } from '../vocabulary/usage-step.ts'
import { countRequests, requestHourFrom, rolledBetween } from './rolled.ts'
import {
  addSums,
  lateRowsOf,
  NO_USAGE,
  type SelectedSums,
  selectSums,
  subtractSums,
  type UsageSums,
} from './sums.ts'

/** The requests to add up. */
export interface ReadHours {
  /** One account, several, or null: all of them. */
  readonly accountId: string | readonly string[] | null
  /** The column that they are grouped by; null: none. */
  readonly groupColumn: 'model_id' | 'api_key_id' | 'endpoint' | 'account_id' | 'upstream' | null
  readonly step: UsageStep
  /** At the start of a step. */
  readonly fromHour: number
  /** At the end of a step. */
  readonly untilHour: number
}

/** The group of requests by key and hour that were pruned: their keys are known by day alone. */
export const NO_KEY = ''

/**
 * Adds up requests by group: at null where there is no column. `totals` are over all hours. `steps` also adds up
 * by the number of the day or hour since the Unix epoch: `ownIds` are groups of their own, all other groups are
 * together at null. Counts of first-byte times that are not among the `columns` are zero.
 */
export async function readSums(view: Kysely<Tables>, hours: ReadHours, columns: SelectedSums) {
  const parts = await partsOf(view, hours)
  // Requests take longest to read: rows of their few days are for totals and steps.
  const isRead = ({ source }: Part) => hours.step === 'day' && source === 'requests'
  const rest = parts.filter((part) => !isRead(part))
  const ofDays: PartRow[] = []
  for (const part of parts.filter(isRead).flatMap((each) => bySteps(each, 'day'))) {
    const place = { label: labelOf(part, hours), step: stepOf(part, 'day') }
    ofDays.push(...(await readPart(view, { hours, part, ...place, columns })))
  }
  const totals = new Map<string | null, UsageSums>()
  for (const row of ofDays) add(totals, row.label, row.sums)
  for (const part of rest) {
    const label = labelOf(part, hours)
    for (const row of await readPart(view, { hours, part, label, step: sql`0`, columns })) {
      add(totals, row.label, row.sums)
    }
  }
  return {
    totals,
    async steps(ownIds: readonly string[] | 'all') {
      const groups = new StepSums()
      const own = new Set<string | null>(ownIds === 'all' ? totals.keys() : ownIds)
      for (const row of ofDays) groups.add(own.has(row.label) ? row.label : null, row)
      for (const part of rest.flatMap((each) => bySteps(each, hours.step))) {
        for (const row of await readSteps(view, { hours, part, ownIds, columns })) {
          groups.add(row.label, row)
        }
      }
      return groups.byGroup
    },
  }
}

async function readSteps(
  view: Kysely<Tables>,
  {
    hours,
    part,
    ownIds,
    columns,
  }: Pick<ReadPartInput, 'hours' | 'columns'> & {
    readonly part: Part
    readonly ownIds: readonly string[] | 'all'
  },
): Promise<readonly PartRow[]> {
  const step = stepOf(part, hours.step)
  const label = labelOf(part, hours)
  if (ownIds === 'all') return readPart(view, { hours, part, label, step, columns })
  const all = { hours: { ...hours, groupColumn: null }, part, label: NO_GROUP, step, columns }
  if (ownIds.length === 0) return readPart(view, all)
  if (part.source === 'usage_days' && hours.groupColumn === 'api_key_id') {
    // An account may have a thousand keys: the others are the sum of all less the account's own groups.
    const own = await readPart(view, { hours, part, label, step, columns, ownIds })
    return [...(await readPart(view, all)), ...own, ...own.map(asTakenAway)]
  }
  const ownLabel = sql<
    string | null
  >`case when ${label} in (${sql.join(ownIds)}) then ${label} else null end`
  return readPart(view, { hours, part, label: ownLabel, step, columns })
}

/** A row that takes its sums from all others. */
function asTakenAway({ step, sums }: PartRow): PartRow {
  return { label: null, step, sums: subtractSums(NO_USAGE, sums) }
}

class StepSums {
  readonly byGroup = new Map<string | null, Map<number, UsageSums>>()

  add(label: string | null, { step, sums }: PartRow): void {
    const steps = this.byGroup.get(label) ?? new Map<number, UsageSums>()
    this.byGroup.set(label, steps)
    add(steps, step, sums)
  }
}

const NO_GROUP = sql<string | null>`cast(null as text)`

/** The group of a row of a part. Roll-ups of hours don't tell keys apart. */
function labelOf(part: Part, { groupColumn }: ReadHours): RawBuilder<string | null> {
  if (groupColumn === null) return NO_GROUP
  const isOfHours = (part.source === 'late_costs' ? part.of : part).source === 'usage_hours'
  if (isOfHours && groupColumn === 'api_key_id') return sql`cast(${sql.lit(NO_KEY)} as text)`
  return sql`${sql.ref(groupColumn)}`
}

function add<Place>(sums: Map<Place, UsageSums>, place: Place, more: UsageSums): void {
  const earlier = sums.get(place)
  sums.set(place, earlier === undefined ? more : addSums(earlier, more))
}

/** Hours that are read from one place. */
type Part = RolledPart | LatePart | RawPart

/** Days or hours whose roll-ups are read. */
interface RolledPart {
  readonly source: 'usage_days' | 'usage_hours'
  readonly numbers: readonly number[]
}

/** The same days or hours: what was billed late for their requests. */
interface LatePart {
  readonly source: 'late_costs'
  readonly of: RolledPart
}

/** Hours, one behind the other, whose requests are read. */
interface RawPart {
  readonly source: 'requests'
  readonly fromHour: number
  readonly untilHour: number
}

/** Whole days from the days that are rolled, other hours from those that are, the rest from requests. */
async function partsOf(view: Kysely<Tables>, hours: ReadHours): Promise<readonly Part[]> {
  const { fromHour, untilHour } = hours
  const days = await rolledBetween(view, {
    step: 'day',
    from: Math.floor(fromHour / DAY_HOURS),
    until: Math.ceil(untilHour / DAY_HOURS),
  })
  const rolled = await rolledBetween(view, { step: 'hour', from: fromHour, until: untilHour })
  // Before it there is nothing to read: a chart of a year on a store of a week is a chart of a week.
  const firstHour = (await requestHourFrom(view, fromHour)) ?? untilHour
  const ofHours: number[] = []
  const raw: { source: 'requests'; fromHour: number; untilHour: number }[] = []
  // A range may begin thousands of years before the first request.
  const [firstRolled = untilHour] = rolled.keys()
  const beginHour = Math.max(fromHour, Math.min(firstRolled, firstHour))
  for (let hour = beginHour; hour < untilHour; hour++) {
    const isOfDay = days.has(Math.floor(hour / DAY_HOURS))
    if (isOfDay && hours.step === 'day') continue
    const last = raw.at(-1)
    const requests = rolled.get(hour)
    if (
      requests !== undefined &&
      (await isReadFromHour(view, hours, { hour, isOfDay, requests }))
    ) {
      ofHours.push(hour)
    } else if (hour < firstHour) continue
    else if (last?.untilHour === hour) last.untilHour = hour + 1
    else raw.push({ source: 'requests', fromHour: hour, untilHour: hour + 1 })
  }
  const ofDays = hours.step === 'day' ? [...days.keys()] : []
  return [
    ...rolledParts({ source: 'usage_days', numbers: ofDays }),
    ...rolledParts({ source: 'usage_hours', numbers: ofHours }),
    ...raw,
  ]
}

function rolledParts(part: RolledPart): readonly Part[] {
  return part.numbers.length === 0 ? [] : [part, { source: 'late_costs', of: part }]
}

interface RolledHour {
  readonly hour: number
  /** Whether its day is rolled too: then some of its requests may be pruned. */
  readonly isOfDay: boolean
  readonly requests: number
}

/** Roll-ups of hours don't tell keys apart: their requests do, as long as they are there. */
async function isReadFromHour(
  view: Kysely<Tables>,
  { groupColumn }: ReadHours,
  { hour, isOfDay, requests }: RolledHour,
): Promise<boolean> {
  if (groupColumn !== 'api_key_id') return true
  return isOfDay && (await countRequests(view, hour)) < requests
}

/** A part of several steps as a part for each, where its rows don't say their step. */
function bySteps(part: Part, step: UsageStep): readonly Part[] {
  if (part.source !== 'requests') return [part]
  const stepHours = step === 'day' ? DAY_HOURS : 1
  const parts: RawPart[] = []
  for (let fromHour = part.fromHour; fromHour < part.untilHour; ) {
    const untilHour = Math.min(part.untilHour, (Math.floor(fromHour / stepHours) + 1) * stepHours)
    parts.push({ source: 'requests', fromHour, untilHour })
    fromHour = untilHour
  }
  return parts
}

/** The step of a row of a part. */
function stepOf(part: Part, step: UsageStep): RawBuilder<number> {
  switch (part.source) {
    case 'usage_days':
      return sql`day`
    case 'usage_hours':
      return step === 'hour' ? sql`hour` : sql`hour / ${sql.lit(DAY_HOURS)}`
    case 'late_costs':
      return step === 'hour' ? sql`hour` : sql`day`
    case 'requests':
      return sql`${sql.lit(step === 'hour' ? part.fromHour : Math.floor(part.fromHour / DAY_HOURS))}`
  }
}

interface ReadPartInput {
  readonly hours: ReadHours
  readonly part: Part
  readonly label: RawBuilder<string | null>
  readonly step: RawBuilder<number>
  readonly columns: SelectedSums
  /** The groups to read. Default all. */
  readonly ownIds?: readonly string[]
}

/** The sums of a group's requests in a step. */
interface PartRow {
  readonly label: string | null
  readonly step: number
  readonly sums: UsageSums
}

async function readPart(
  view: Kysely<Tables>,
  { hours, part, label, step, columns, ownIds }: ReadPartInput,
): Promise<readonly PartRow[]> {
  const own =
    ownIds === undefined
      ? sql``
      : sql`and ${sql.ref(hours.groupColumn ?? 'endpoint')} in (${sql.join(ownIds)})`
  const query = sql<
    UsageSums & { readonly group_label: string | null; readonly group_step: number }
  >`
    select ${label} as group_label, ${step} as group_step, ${selectSums(part.source, columns)}
    from ${sql.table(part.source)} where ${rowsOf(hours, part)} ${own} group by 1, 2`
  const { rows } = await query.execute(view)
  return rows.map(({ group_label, group_step, ...sums }) => {
    return { label: group_label, step: group_step, sums: { ...NO_USAGE, ...sums } }
  })
}

function rowsOf({ accountId, groupColumn }: ReadHours, part: Part): RawBuilder<boolean> {
  switch (part.source) {
    case 'requests': {
      const { fromId, untilId } = requestIdsOf(part)
      const ids = sql<boolean>`id >= ${fromId} and id < ${untilId}`
      return accountId === null ? ids : sql`${isOf(accountId)} and ${ids}`
    }
    case 'usage_hours': {
      const hours = sql`hour in (${sql.join(part.numbers)})`
      if (groupColumn !== 'account_id' || accountId !== null) {
        return sql`${hours} and ${isOf(accountId ?? '')}`
      }
      return sql`${hours} and account_id <> ''`
    }
    case 'usage_days': {
      const days = sql`day in (${sql.join(part.numbers)})`
      const isByKey = groupColumn === 'api_key_id'
      const keys = isByKey ? sql`api_key_id <> ''` : sql`api_key_id = ''`
      if (accountId !== null) return sql`${days} and ${isOf(accountId)} and ${keys}`
      if (isByKey) return sql`${days} and ${keys}`
      const isByAccount = groupColumn === 'account_id'
      return sql`${days} and ${isByAccount ? sql`account_id <> ''` : isOf('')} and ${keys}`
    }
    case 'late_costs': {
      const of = lateRowsOf(part.of.source, part.of.numbers)
      return accountId === null ? of : sql`${of} and ${isOf(accountId)}`
    }
  }
}

function isOf(accountId: string | readonly string[]): RawBuilder<boolean> {
  return typeof accountId === 'string'
    ? sql`account_id = ${accountId}`
    : sql`account_id in (${sql.join(accountId)})`
}
