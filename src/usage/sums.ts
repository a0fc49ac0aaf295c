import { type RawBuilder, sql } from 'kysely'
import type { TableOf } from '../store/table.ts'
import { USAGE_HOURS } from '../store/usage-tables.ts'
import type { UsageStep } from '../vocabulary/usage-step.ts'

/** The columns that roll-ups of hours, and of days, are grouped by. */
export const GROUP_COLUMNS = {
  hour: ['account_id', 'model_id', 'endpoint', 'upstream'],
  day: ['account_id', 'api_key_id', 'model_id', 'endpoint', 'upstream'],
} as const

/** The column of each grouping. */
export const GROUPING_COLUMNS = {
  account: 'account_id',
  model: 'model_id',
  key: 'api_key_id',
  endpoint: 'endpoint',
  upstream: 'upstream',
} as const

/** The columns of the provider's bill for released requests: roll-ups lack them, because the bill is learned later. */
const LATE_COLUMNS = ['uncharged_cost_micros', 'uncharged_cost_rest_pico'] as const

type RolledSums = Omit<TableOf<typeof USAGE_HOURS>, 'hour' | (typeof GROUP_COLUMNS)['hour'][number]>

/** The sums of requests: the columns of a roll-up that are added up, and the late bills. */
export type UsageSums = RolledSums & Readonly<Record<(typeof LATE_COLUMNS)[number], number>>

/** Sums of the requests of one group, with the values of its columns. */
export type UsageRow = UsageSums &
  Readonly<Record<(typeof GROUP_COLUMNS)['hour'][number], string>> & {
    /** Only for days. */
    readonly api_key_id?: string
  }

/** The source of sums: requests themselves, their roll-ups, or the late bills of rolled requests. */
type UsageSource = 'requests' | 'usage_hours' | 'usage_days' | 'late_costs'

/** The columns of {@link UsageSums} that roll-ups have. */
export const ROLLED_COLUMNS = USAGE_HOURS.columns
  .map(({ name }) => name)
  // The type says the same of the table.
  .filter((name): name is keyof RolledSums => !USAGE_HOURS.key.some((key) => key.name === name))

const SUM_COLUMNS: readonly (keyof UsageSums)[] = [...ROLLED_COLUMNS, ...LATE_COLUMNS]

const WAIT_COLUMNS: readonly (keyof UsageSums)[] = ROLLED_COLUMNS.filter((name) =>
  name.startsWith('wait_'),
)

/** The upper end of each count of first-byte times; the last has none. */
const WAIT_BOUNDS_MS = WAIT_COLUMNS.slice(1).map((_, place) => Math.round(50 * 1.5 ** place))

// Sums of PostgreSQL are `numeric`, which the driver gives as text.
const summed = ({ sum, name }: { readonly sum: string; readonly name: string }) =>
  `cast(${sum} as bigint) as ${name}`

const AMOUNT_COLUMNS = SUM_COLUMNS.filter((name) => !WAIT_COLUMNS.includes(name))

const MONEY_COLUMNS: readonly (keyof UsageSums)[] = [
  ...(['backed_charge_micros', 'free_charge_micros', 'written_off_micros'] as const),
  ...(['cost_micros', 'cost_rest_pico', 'uncosted'] as const),
  ...LATE_COLUMNS,
]

const COUNT_COLUMNS: readonly (keyof UsageSums)[] = ['requests', 'failed']

const selected = (
  columns: readonly (keyof UsageSums)[],
  sumOf: (name: keyof UsageSums) => string,
) => columns.map((name) => summed({ sum: sumOf(name), name })).join(', ')

const IS_UNCOSTED = 'cost_micros is null and backed_charge_micros + free_charge_micros > 0'

const isLate = (name: string): boolean => LATE_COLUMNS.some((late) => late === name)

const sumOfRollUps = (name: keyof UsageSums): string => (isLate(name) ? '0' : `sum(${name})`)

const sumOfLate = (name: keyof UsageSums): string =>
  isLate(name) ? `sum(${name.replace('uncharged_', '')})` : '0'

const SELECTED = {
  rollUps: {
    all: selected(SUM_COLUMNS, sumOfRollUps),
    amounts: selected(AMOUNT_COLUMNS, sumOfRollUps),
    money: selected(MONEY_COLUMNS, sumOfRollUps),
    counts: selected(COUNT_COLUMNS, sumOfRollUps),
  },
  late: {
    all: selected(SUM_COLUMNS, sumOfLate),
    amounts: selected(AMOUNT_COLUMNS, sumOfLate),
    money: selected(MONEY_COLUMNS, sumOfLate),
    counts: selected(COUNT_COLUMNS, sumOfLate),
  },
  requests: {
    all: selected(SUM_COLUMNS, sumOfRequests),
    amounts: selected(AMOUNT_COLUMNS, sumOfRequests),
    money: selected(MONEY_COLUMNS, sumOfRequests),
    counts: selected(COUNT_COLUMNS, sumOfRequests),
  },
}

/**
 * The columns of sums that are read: `amounts` are all but the counts of first-byte times, `money` those of charge and cost,
 * `counts` those of requests and failed ones.
 */
export type SelectedSums = 'all' | 'amounts' | 'money' | 'counts'

/** The columns of {@link UsageSums} in a query that groups the rows of a table. */
export function selectSums(
  source: UsageSource,
  columns: SelectedSums = 'all',
): RawBuilder<unknown> {
  return sql.raw(SELECTED[SELECTED_OF[source]][columns])
}

const SELECTED_OF = {
  requests: 'requests',
  usage_hours: 'rollUps',
  usage_days: 'rollUps',
  late_costs: 'late',
} as const

/** Sums that are all 0. */
export const NO_USAGE: UsageSums = sumsBy(() => 0)

/** Sums as they are stored, of which some may have been left out: those are 0. */
export function sumsOf(stored: Partial<UsageSums>): UsageSums {
  return sumsBy((name) => stored[name] ?? 0)
}

/** Whether any of the sums is not 0. */
export function hasUsage(sums: UsageSums): boolean {
  return SUM_COLUMNS.some((name) => sums[name] !== 0)
}

/** Adds two sums. Throws RangeError where a result is beyond a safe integer, and so perhaps not exact. */
export function addSums(one: UsageSums, other: UsageSums): UsageSums {
  return sumsBy((name) => one[name] + other[name])
}

/** Subtracts the second from the first. Throws as {@link addSums} does. */
export function subtractSums(one: UsageSums, other: UsageSums): UsageSums {
  return sumsBy((name) => one[name] - other[name])
}

/** The group of a row among the rows of an hour or a day. By position: the step of a roll-up, then its row. */
export function groupOf(step: UsageStep, row: UsageRow): string {
  return GROUP_COLUMNS[step].map((column) => row[column]).join(' ')
}

/** The sums of rows, by group. */
export class RowsByGroup {
  readonly #step: UsageStep
  readonly #rows = new Map<string, UsageRow>()

  constructor(step: UsageStep) {
    this.#step = step
  }

  get all(): readonly UsageRow[] {
    return [...this.#rows.values()]
  }

  add(row: UsageRow): void {
    const group = groupOf(this.#step, row)
    const earlier = this.#rows.get(group)
    this.#rows.set(group, earlier === undefined ? row : { ...row, ...addSums(earlier, row) })
  }
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
  for (const name of SUM_COLUMNS) {
    const sum = sumOf(name)
    if (!Number.isSafeInteger(sum)) throw new RangeError(`${name} is too large to be exact: ${sum}`)
    sums[name] = sum
  }
  // A member for each column, as the type says.
  return sums as UsageSums
}

function sumOfRequests(name: keyof UsageSums): string {
  if (name === 'requests') return 'count(*)'
  if (name === 'failed') return 'count(error_code)'
  if (name === 'uncosted') return `sum(case when ${IS_UNCOSTED} then 1 else 0 end)`
  if (name === 'cost_micros' || name === 'cost_rest_pico') {
    return `coalesce(sum(case when state <> 'released' then ${name} end), 0)`
  }
  if (name === 'uncharged_cost_micros' || name === 'uncharged_cost_rest_pico') {
    return `coalesce(sum(case when state = 'released' then ${name.replace('uncharged_', '')} end), 0)`
  }
  const wait = WAIT_COLUMNS.indexOf(name)
  return wait === -1
    ? `coalesce(sum(${name}), 0)`
    : `sum(case when ${waits(wait)} then 1 else 0 end)`
}

/** Whether a request's first-byte time belongs to a column of waits. It is negative if a clock was set back. */
function waits(place: number): string {
  const [fromMs, untilMs] = [WAIT_BOUNDS_MS[place - 1], WAIT_BOUNDS_MS[place]]
  const bounds = [
    fromMs === undefined ? [] : [`first_byte_at_ms >= opened_at_ms + ${fromMs}`],
    untilMs === undefined ? [] : [`first_byte_at_ms < opened_at_ms + ${untilMs}`],
  ]
  return bounds.flat().join(' and ')
}
