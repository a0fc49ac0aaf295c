import { z } from 'zod'
import { OPERATORS_GROUPINGS } from '../../usage/read-usage.ts'
import { figuresShape as chartFiguresShape } from './usage-figures.ts'
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

/** A row of a report as it is answered. */
export const rowShape = z.object({
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
