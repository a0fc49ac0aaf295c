import { z } from 'zod'
import type { UsageFigures, UsageMoney } from '../../usage/read-usage.ts'
import { type CsvCell, dollarsCell } from '../csv.ts'
import { OPERATOR_ONLY } from '../customer-fields.ts'
import { moneyField } from '../fields.ts'

const count = z.int()

/** The sums of requests. */
export const figuresShape = z.object({
  requests: count,
  failed: count.describe('The number of requests that ended with an error.'),
  charge: moneyField,
  backed_charge: moneyField.describe(
    'The part of the charge that was paid with paid credit, in micro-dollars.',
  ),
  free_charge: moneyField.describe(
    'The part of the charge that was paid with free credit, in micro-dollars.',
  ),
  written_off: moneyField.describe(
    'The part of `free_charge` that free credit could not pay, in micro-dollars.',
  ),
  cost: moneyField.describe('The provider cost, including `uncharged_cost`, in micro-dollars.'),
  uncharged_cost: moneyField.describe(
    'The amount that the provider billed for released requests, in micro-dollars.',
  ),
  uncosted: count.describe('The number of charged requests whose cost is not known.'),
  margin: moneyField
    .nullable()
    .describe('`backed_charge` less `cost`, in micro-dollars; null if `uncosted` is not 0.'),
  input_tokens: count,
  cache_read_tokens: count,
  cache_write_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
  first_byte_ms_p50: z
    .number()
    .nullable()
    .describe('The median time to the first byte, in milliseconds; null: not known.'),
  first_byte_ms_p95: z
    .number()
    .nullable()
    .describe(
      'The time to the first byte that 95% of requests stay below, in milliseconds; null: not known.',
    ),
})

/** The amounts of requests that only operators read. */
export function moneyAnswer(money: UsageMoney) {
  return {
    backed_charge: money.backedChargeMicros,
    free_charge: money.freeChargeMicros,
    written_off: money.writtenOffMicros,
    cost: money.costMicros,
    uncharged_cost: money.unchargedCostMicros,
    uncosted: money.uncosted,
    margin: money.marginMicros,
  }
}

type FiguresAnswer = z.infer<typeof figuresShape>

/** The sums of requests as responses have them. */
export function figuresAnswer(figures: UsageFigures): FiguresAnswer {
  const { requests, failed, chargeMicros, money, usage, firstByte } = figures
  return {
    requests,
    failed,
    charge: chargeMicros,
    ...moneyAnswer(money),
    input_tokens: usage.inputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens + usage.cacheWriteLongTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    first_byte_ms_p50: firstByte?.p50Ms ?? null,
    first_byte_ms_p95: firstByte?.p95Ms ?? null,
  }
}

const AMOUNTS: ReadonlySet<keyof FiguresAnswer> = new Set([
  'charge',
  'backed_charge',
  'free_charge',
  'written_off',
  'cost',
  'uncharged_cost',
  'margin',
] as const)

/** A figure in a CSV: amounts in exact dollars. */
export function figureCell<Name extends keyof FiguresAnswer>(
  figures: Readonly<Record<Name, number | null>>,
  name: Name,
): CsvCell {
  const value = figures[name]
  return value !== null && AMOUNTS.has(name) ? dollarsCell(value) : value
}

/** The figures that operators read, in order. */
export const OPERATORS_FIGURES = figuresShape.keyof().options

/** The figures that customers read, in order. */
export const CUSTOMERS_FIGURES = OPERATORS_FIGURES.filter(
  (name) => !OPERATOR_ONLY.some((hidden) => hidden === name),
)
