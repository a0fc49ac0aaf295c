import { type RawBuilder, sql } from 'kysely'
import type { TableOf } from '../store/table.ts'
import { USAGE_HOURS } from '../store/usage-tables.ts'

/** The columns that roll-ups of hours, and of days, are grouped by. */
export const GROUP_COLUMNS = {
  hour: ['account_id', 'model_id', 'endpoint'],
  day: ['account_id', 'api_key_id', 'model_id', 'endpoint'],
} as const

/** What requests came to: the columns of a roll-up that are added up. */
export type UsageSums = Omit<
  TableOf<typeof USAGE_HOURS>,
  'hour' | (typeof GROUP_COLUMNS)['hour'][number]
>

/** Sums of the requests of one group, with the values of its columns. */
export type UsageRow = UsageSums &
  Readonly<Record<(typeof GROUP_COLUMNS)['hour'][number], string>> & {
    /** Of days alone. */
    readonly api_key_id?: string
  }

/** Where sums are taken of: of requests themselves, or of roll-ups of them. */
type UsageSource = 'requests' | 'usage_hours' | 'usage_days'

/** The columns of {@link UsageSums}. */
export const SUM_COLUMNS = USAGE_HOURS.columns
  .map(({ name }) => name)
  // The type says the same of the table.
  .filter((name): name is keyof UsageSums => !USAGE_HOURS.key.some((key) => key.name === name))

const WAIT_COLUMNS = SUM_COLUMNS.filter((name) => name.startsWith('wait_'))

/** Where each count of first-byte times ends; the last has no end. */
const WAIT_BOUNDS_MS = WAIT_COLUMNS.slice(1).map((_, place) => Math.round(50 * 1.5 ** place))

// Sums of PostgreSQL are `numeric`, which the driver gives as text.
const summed = ({ sum, name }: { readonly sum: string; readonly name: string }) =>
  `cast(${sum} as bigint) as ${name}`

const AMOUNT_COLUMNS = SUM_COLUMNS.filter((name) => !WAIT_COLUMNS.includes(name))

const selected = (columns: typeof SUM_COLUMNS, sumOf: (name: keyof UsageSums) => string) =>
  columns.map((name) => summed({ sum: sumOf(name), name })).join(', ')

const sumOfRollUps = (name: keyof UsageSums): string => `sum(${name})`

const SELECTED = {
  rollUps: {
    all: selected(SUM_COLUMNS, sumOfRollUps),
    amounts: selected(AMOUNT_COLUMNS, sumOfRollUps),
  },
  requests: {
    all: selected(SUM_COLUMNS, sumOfRequests),
    amounts: selected(AMOUNT_COLUMNS, sumOfRequests),
  },
}

/** The columns of sums that are read: `amounts` are all but the counts of first-byte times. */
export type SelectedSums = 'all' | 'amounts'

/** The columns of {@link UsageSums} in a query that groups the rows of a table. */
export function selectSums(
  source: UsageSource,
  columns: SelectedSums = 'all',
): RawBuilder<unknown> {
  return sql.raw(SELECTED[source === 'requests' ? 'requests' : 'rollUps'][columns])
}

/** Requests of no kind at all. */
export const NO_USAGE: UsageSums = sumsBy(() => 0)

/** Both together. */
export function addSums(one: UsageSums, other: UsageSums): UsageSums {
  return sumsBy((name) => one[name] + other[name])
}

/** The first without the other. */
export function subtractSums(one: UsageSums, other: UsageSums): UsageSums {
  return sumsBy((name) => one[name] - other[name])
}

/** The first-byte time that a share of requests was within, 0 to 1; null: none had a first byte. */
export function firstByteMs(sums: UsageSums, share: number): number | null {
  const counts = WAIT_COLUMNS.map((name) => sums[name])
  const rank = share * counts.reduce((all, count) => all + count, 0)
  let below = 0
  for (const [place, count] of counts.entries()) {
    if (count > 0 && below + count >= rank) {
      const fromMs = WAIT_BOUNDS_MS[place - 1] ?? 0
      const untilMs = WAIT_BOUNDS_MS[place] ?? fromMs
      return Math.round(fromMs + ((rank - below) / count) * (untilMs - fromMs))
    }
    below += count
  }
  return null
}

function sumsBy(sumOf: (name: keyof UsageSums) => number): UsageSums {
  const sums: Partial<Record<keyof UsageSums, number>> = {}
  for (const name of SUM_COLUMNS) sums[name] = sumOf(name)
  // A member for each column, as the type says.
  return sums as UsageSums
}

function sumOfRequests(name: keyof UsageSums): string {
  if (name === 'requests') return 'count(*)'
  if (name === 'failed') return 'count(error_code)'
  const wait = WAIT_COLUMNS.indexOf(name)
  return wait === -1
    ? `coalesce(sum(${name}), 0)`
    : `sum(case when ${waits(wait)} then 1 else 0 end)`
}

/** Whether a request's first-byte time is of a place. A clock that is behind makes it less than nothing. */
function waits(place: number): string {
  const [fromMs, untilMs] = [WAIT_BOUNDS_MS[place - 1], WAIT_BOUNDS_MS[place]]
  const bounds = [
    fromMs === undefined ? [] : [`first_byte_at_ms >= opened_at_ms + ${fromMs}`],
    untilMs === undefined ? [] : [`first_byte_at_ms < opened_at_ms + ${untilMs}`],
  ]
  return bounds.flat().join(' and ')
}
