import type { UsageFigures } from '../../api/answers.ts'
import { money, moneyTick } from '../../format/money.ts'
import { count, countTick, shortCount } from '../../format/numbers.ts'
import { duration, durationTick } from '../../format/time.ts'
import type { Measure } from '../../searches.ts'

interface MeasureRules {
  readonly text: string
  /** Sums are columns; times don't add up. */
  readonly form: 'columns' | 'lines'
  readonly of: (figures: UsageFigures) => number | null
  readonly show: (value: number) => string
  readonly axis: (value: number, step: number) => string
}

/** How each measure is computed from a group's figures, and how it is written. */
export const MEASURE_RULES: Readonly<Record<Measure, MeasureRules>> = {
  spend: {
    text: 'Spend',
    form: 'columns',
    of: ({ charge }) => charge,
    show: (value) => money(value),
    axis: moneyTick,
  },
  requests: {
    text: 'Requests',
    form: 'columns',
    of: ({ requests }) => requests,
    show: count,
    axis: countTick,
  },
  tokens: {
    text: 'Tokens',
    form: 'columns',
    of: ({ input_tokens, output_tokens }) => input_tokens + output_tokens,
    show: shortCount,
    axis: countTick,
  },
  p50: {
    text: 'First byte, median',
    form: 'lines',
    of: ({ first_byte_ms_p50 }) => first_byte_ms_p50,
    show: duration,
    axis: durationTick,
  },
  p95: {
    text: 'First byte, 95%',
    form: 'lines',
    of: ({ first_byte_ms_p95 }) => first_byte_ms_p95,
    show: duration,
    axis: durationTick,
  },
}
