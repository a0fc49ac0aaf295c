import { z } from 'zod'
import {
  type Checked,
  checkBalances,
  checkCards,
  checkDeposits,
} from '../../sale/check-payments.ts'
import { saleFigures } from '../../sale/figures.ts'
import { DAY_MS } from '../../vocabulary/clock.ts'
import { moneyField, timeAnswer, timeField } from '../fields.ts'
import { operation, readsFor } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import { staffPaths } from '../paths.ts'
import { rethrowUnavailable } from './purchases.ts'

/** Sales, the progress of looks at payments, and the comparison with providers, for admins. */
export function saleStatusOperations(parts: OperationParts) {
  return [show(parts), check(parts)]
}

function show({ store, sale }: OperationParts) {
  return operation({
    name: 'getSaleStatus',
    method: 'GET',
    scope: 'read',
    paths: staffPaths('sale'),
    summary: 'Sales by method, and when each source of payments was last read.',
    answers: { 200: saleStatusShape },
    async run({ reader, caller }) {
      const { purchases, looks } = await saleFigures(readsFor({ caller, reader }, store))
      return {
        object: 'sale_status',
        methods: sale?.methods.map(({ id }) => id) ?? [],
        purchases: purchases.map(({ creditMicros, reversedMicros, ...counted }) => ({
          ...counted,
          credit: creditMicros,
          reversed: reversedMicros,
        })),
        looks: looks.map(({ source, position, lookedAtMs }) => ({
          source,
          position,
          looked_at: timeAnswer(lookedAtMs),
        })),
      }
    },
  })
}

function check({ store, sale, clock }: OperationParts) {
  return operation({
    name: 'checkSale',
    method: 'POST',
    scope: 'read',
    paths: { admin: '/v1/admin/sale/check' },
    summary:
      'Compare payments at their provider, and deposits and balances on their chain, with the store. Nothing is changed.',
    query: z.strictObject({
      days: z
        .string()
        .regex(/^[1-9]\d{0,2}$/, 'must be a whole number of days, 1 to 999')
        .default('30')
        .describe(
          'How many days back to compare, 1 to 999. Default: 30. A payment counts by its start.',
        ),
    }),
    answers: { 200: saleCheckShape },
    problems: ['payment_unavailable'],
    async run({ query: { days }, onProgress }) {
      const sinceMs = clock.nowMs() - Number(days) * DAY_MS
      const differences: z.infer<typeof saleCheckShape>['differences'] = []
      let checked = 0
      let skipped = 0
      const chainIds = new Set<number>()
      for (const method of sale?.methods ?? []) {
        const onChecked = (payments: number) => onProgress(checked + payments)
        const asked = { db: store.db, sinceMs, onChecked }
        const comparisons: Promise<Checked>[] = []
        if (method.kind === 'card') comparisons.push(checkCards({ ...asked, method }))
        else {
          comparisons.push(checkBalances({ ...asked, method }))
          // The deposits of a chain are compared once, with any of its tokens.
          if (!chainIds.has(method.chainId)) comparisons.push(checkDeposits({ ...asked, method }))
          chainIds.add(method.chainId)
        }
        for (const found of await Promise.all(comparisons).catch(rethrowUnavailable)) {
          checked += found.checked
          skipped += found.skipped
          differences.push(...found.differences)
        }
      }
      const ok = differences.length === 0
      return { object: 'sale_check', ok, checked, skipped, differences }
    },
  })
}

/** `GET /v1/admin/sale`. */
export const saleStatusShape = z
  .object({
    object: z.literal('sale_status'),
    methods: z.array(z.string()).describe('The methods of payment; empty: no credit is sold.'),
    purchases: z
      .array(
        z.object({
          method: z.string(),
          state: z
            .string()
            .describe('The state of these purchases, as in `GET /v1/admin/purchases`.'),
          purchases: z.int().describe('The number of purchases.'),
          credit: moneyField.describe('The credit of these purchases, in micro-dollars.'),
          reversed: moneyField.describe(
            'The part of the credit that refunds and disputes removed, in micro-dollars.',
          ),
        }),
      )
      .describe('Purchases by method and state.'),
    looks: z.array(
      z.object({
        source: z.string().describe('`play`, `stripe`, or `chain:` and the ID of the chain.'),
        position: z.string().describe('How far the source was read, in the units of the source.'),
        looked_at: timeField.describe('When the source was last read.'),
      }),
    ),
  })
  .meta({ id: 'SaleStatus' })

/** `POST /v1/admin/sale/check`. */
export const saleCheckShape = z
  .object({
    object: z.literal('sale_check'),
    ok: z.boolean().describe('Whether the store agrees with all providers.'),
    checked: z.int().describe('The number of payments that were compared.'),
    skipped: z
      .int()
      .describe(
        'The number of deposits that were not compared: their tokens are no longer accepted.',
      ),
    differences: z.array(
      z.object({
        source: z.string().describe('The payment, by its ID at the provider.'),
        stored: z.string().describe('The state of the payment in the store.'),
        found: z.string().describe('The state of the payment at its provider.'),
      }),
    ),
  })
  .meta({ id: 'SaleCheck' })
