import { setImmediate as turn } from 'node:timers/promises'
import { z } from 'zod'
import { moneyOf, OPERATORS_GROUPINGS } from '../../usage/read-usage.ts'
import type { UsageSums } from '../../usage/sums.ts'
import { csvLine } from '../csv.ts'
import { timeField } from '../fields.ts'
import { figuresShape as chartFiguresShape, figureCell, moneyAnswer } from './usage-figures.ts'
import { STEPS } from './usage-range.ts'

/** The groupings of a report: those of charts, and time and tags. */
export const GROUPINGS = [...STEPS, ...OPERATORS_GROUPINGS, 'tag'] as const

/** A grouping of a report. */
export type Grouping = (typeof GROUPINGS)[number]

/** The figures of a row: those of a chart without times. */
export const figuresShape = chartFiguresShape.omit({
  first_byte_ms_p50: true,
  first_byte_ms_p95: true,
})

/** The figures of a row. */
export type Figures = z.infer<typeof figuresShape>

const rowShape = z.object({
  id: z
    .string()
    .nullable()
    .describe(
      'A date such as 2027-01-31, a month such as 2027-01, the ID or name of a group, or a tag. Null: requests without tags, or pruned requests; by upstream: requests that were pruned before 0.3.0.',
    ),
  name: z.string().nullable().describe('The name of a key or an account; null: another group.'),
  account_id: z.string().optional().describe('By key, for operators: the account of the key.'),
  account_name: z
    .string()
    .nullable()
    .optional()
    .describe('The name of that account; null: it has none.'),
  date: z.string().optional().describe('With `step`: the day or the month.'),
  figures: figuresShape,
})

/** A row of a report. */
export type ReportRow = z.infer<typeof rowShape>

/** Sums of requests as the figures of a row. */
export function figuresOf(sums: UsageSums): Figures {
  return {
    requests: sums.requests,
    failed: sums.failed,
    charge: sums.backed_charge_micros + sums.free_charge_micros,
    ...moneyAnswer(moneyOf(sums)),
    input_tokens: sums.input_tokens,
    cache_read_tokens: sums.cache_read_tokens,
    cache_write_tokens: sums.cache_write_tokens + sums.cache_write_long_tokens,
    output_tokens: sums.output_tokens,
    reasoning_tokens: sums.reasoning_tokens,
  }
}

/** The sums of requests over a range. */
export const usageReportShape = z
  .object({
    object: z.literal('usage_report'),
    from: timeField,
    to: timeField,
    time_zone: z.string(),
    by: z.enum(GROUPINGS),
    as_of: timeField,
    totals: figuresShape.describe(
      'Each request counts once. By tag, the rows can add up to more, because a request counts under each of its tags.',
    ),
    data: z
      .array(rowShape)
      .describe(
        'By `sort`; without it, every day or month in order, or every group, the largest charge first. With `step`: the groups of each day or month, in order.',
      ),
  })
  .meta({ id: 'UsageReport' })

interface CsvColumns {
  /** Undefined: a row is a group, over the whole range. */
  readonly step: (typeof STEPS)[number] | undefined
  readonly columns: readonly (keyof Figures)[]
  /** Whether the account of a key follows its name. */
  readonly hasOwners: boolean
}

// After so many lines, other requests are served.
const LINES_AT_ONCE = 500

/** The lines of a report, and a line of its totals, in exact dollars. Each part is written when the client has taken the one before. */
export async function* reportCsv(
  {
    by,
    data,
    totals,
  }: {
    readonly by: Grouping
    readonly data: readonly ReportRow[]
    readonly totals: Figures
  },
  { step, columns, hasOwners }: CsvColumns,
): AsyncGenerator<string> {
  const isNamed = by === 'key' || by === 'account'
  const line = ({ date, id, name, figures, ...owner }: ReportRow): string => {
    const dated = step === undefined ? [] : [date ?? null]
    const named = isNamed ? [id, name] : [id]
    const { account_id = null, account_name = null } = owner
    const owned = hasOwners ? [account_id, account_name] : []
    return csvLine([
      ...dated,
      ...named,
      ...owned,
      ...columns.map((column) => figureCell(figures, column)),
    ])
  }
  const dated = step === undefined ? [] : ['date']
  const owned = hasOwners ? ['account', 'account_name'] : []
  yield csvLine([...dated, ...(isNamed ? [by, 'name'] : [by]), ...owned, ...columns])
  const none = by === 'tag' ? NO_TAGS : NO_UPSTREAM
  for (let from = 0; from < data.length; from += LINES_AT_ONCE) {
    const part = data.slice(from, from + LINES_AT_ONCE)
    yield part.map((row) => line({ ...row, id: row.id ?? none })).join('')
    await turn()
  }
  const total = { id: 'total', name: null, figures: totals }
  // The first cell says that the line is the total.
  yield step === undefined ? line(total) : line({ ...total, id: null, date: 'total' })
}

const NO_TAGS = '(without tags, or pruned)'

const NO_UPSTREAM = '(pruned, upstream not known)'
