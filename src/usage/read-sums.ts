import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { DAY_HOURS, requestIdsOf, type UsageStep } from '../vocabulary/usage-step.ts'
import { countRequests, requestHourFrom, rolledBetween } from './rolled.ts'
import { addSums, selectSums, type UsageSums } from './sums.ts'

/** Which requests to add up. */
export interface ReadHours {
  /** Null: all accounts. */
  readonly accountId: string | null
  /** The column that they are grouped by; null: none. */
  readonly groupColumn: 'model_id' | 'api_key_id' | 'endpoint' | null
  readonly step: UsageStep
  /** At the start of a step. */
  readonly fromHour: number
  /** At the end of a step. */
  readonly untilHour: number
}

/**
 * Sums by group, over all hours. Without a column they are at null, and so are requests by key whose keys
 * are known by day alone.
 */
export async function readTotals(
  view: Kysely<Tables>,
  hours: ReadHours,
): Promise<ReadonlyMap<string | null, UsageSums>> {
  const totals = new Map<string | null, UsageSums>()
  const { groupColumn } = hours
  const label = groupColumn === null ? NO_GROUP : sql<string>`${sql.ref(groupColumn)}`
  for (const part of await partsOf(view, hours)) {
    for (const row of await readPart(view, { hours, part, label, step: sql`0` })) {
      add(totals, row.label, row.sums)
    }
  }
  return totals
}

/**
 * Sums by group and step: the number of the day or hour since the Unix epoch. `ownIds` are groups of their own, all
 * other groups are together at null.
 */
export async function readSteps(
  view: Kysely<Tables>,
  hours: ReadHours,
  ownIds: readonly string[],
): Promise<ReadonlyMap<string | null, ReadonlyMap<number, UsageSums>>> {
  const groups = new Map<string | null, Map<number, UsageSums>>()
  const column = sql.ref(hours.groupColumn ?? 'endpoint')
  const label =
    ownIds.length === 0
      ? NO_GROUP
      : sql<
          string | null
        >`case when ${column} in (${sql.join(ownIds)}) then ${column} else null end`
  for (const whole of await partsOf(view, hours)) {
    for (const part of bySteps(whole, hours.step)) {
      const step = stepOf(part, hours.step)
      for (const row of await readPart(view, { hours, part, label, step })) {
        const steps = groups.get(row.label) ?? new Map<number, UsageSums>()
        groups.set(row.label, steps)
        add(steps, row.step, row.sums)
      }
    }
  }
  return groups
}

const NO_GROUP = sql<string | null>`cast(null as text)`

function add<Place>(sums: Map<Place, UsageSums>, place: Place, more: UsageSums): void {
  const earlier = sums.get(place)
  sums.set(place, earlier === undefined ? more : addSums(earlier, more))
}

/** Hours that are read from one place. */
type Part =
  | { readonly source: 'usage_days' | 'usage_hours'; readonly numbers: readonly number[] }
  | RawPart

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
  for (let hour = fromHour; hour < untilHour; hour++) {
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
    ...(ofDays.length === 0 ? [] : [{ source: 'usage_days' as const, numbers: ofDays }]),
    ...(ofHours.length === 0 ? [] : [{ source: 'usage_hours' as const, numbers: ofHours }]),
    ...raw,
  ]
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
    case 'requests':
      return sql`${sql.lit(step === 'hour' ? part.fromHour : Math.floor(part.fromHour / DAY_HOURS))}`
  }
}

interface ReadPartInput {
  readonly hours: ReadHours
  readonly part: Part
  readonly label: RawBuilder<string | null>
  readonly step: RawBuilder<number>
}

async function readPart(view: Kysely<Tables>, { hours, part, label, step }: ReadPartInput) {
  const group =
    part.source === 'usage_hours' && hours.groupColumn === 'api_key_id' ? NO_GROUP : label
  const query = sql<
    UsageSums & { readonly group_label: string | null; readonly group_step: number }
  >`
    select ${group} as group_label, ${step} as group_step, ${selectSums(part.source)}
    from ${sql.table(part.source)} where ${rowsOf(hours, part)} group by 1, 2`
  const { rows } = await query.execute(view)
  return rows.map(({ group_label, group_step, ...sums }) => {
    return { label: group_label, step: group_step, sums }
  })
}

function rowsOf({ accountId, groupColumn }: ReadHours, part: Part): RawBuilder<boolean> {
  switch (part.source) {
    case 'requests': {
      const { fromId, untilId } = requestIdsOf(part)
      const ids = sql<boolean>`id >= ${fromId} and id < ${untilId}`
      return accountId === null ? ids : sql`account_id = ${accountId} and ${ids}`
    }
    case 'usage_hours':
      return sql`hour in (${sql.join(part.numbers)}) and account_id = ${accountId ?? ''}`
    case 'usage_days': {
      const days = sql`day in (${sql.join(part.numbers)})`
      if (groupColumn !== 'api_key_id') {
        return sql`${days} and account_id = ${accountId ?? ''} and api_key_id = ''`
      }
      const accounts = accountId === null ? sql`` : sql`and account_id = ${accountId}`
      return sql`${days} ${accounts} and api_key_id <> ''`
    }
  }
}
