import { z } from 'zod'
import { sumTopUps } from '../ledger/activity/entries.ts'
import { idFilterField, momentField, moneyField, timeAnswer, timeField } from './fields.ts'
import { type OperationParts, operation } from './operation.ts'
import { chartRange } from './usage.ts'

/** Paid credit that was added over a range, for operators. */
export function topUpOperations({ store, clock }: OperationParts) {
  return [
    operation({
      name: 'getTopUps',
      method: 'GET',
      paths: { operator: '/app/api/operator/top-ups' },
      summary: 'The paid credit that was added in a range, to all accounts or to one.',
      query: z.strictObject({
        from: momentField.optional(),
        to: momentField.optional(),
        account: idFilterField('acct').optional(),
      }),
      answers: { 200: topUpsShape },
      async run({ reader, query: { account = null, ...asked } }) {
        const { fromMs, toMs } = chartRange(asked, clock.nowMs())
        const range = { accountId: account, fromMs, toMs }
        const { amountMicros, entries } = await sumTopUps(store.pages(reader), range)
        return {
          httpStatus: 200,
          body: {
            object: 'top_ups',
            from: timeAnswer(fromMs),
            to: timeAnswer(toMs),
            amount: amountMicros,
            top_ups: entries.top_up ?? 0,
            purchases: entries.purchase ?? 0,
            codes: entries.activation ?? 0,
          },
        }
      },
    }),
  ]
}

/** Paid credit that was added over a range. */
const topUpsShape = z
  .object({
    object: z.literal('top_ups'),
    from: timeField,
    to: timeField,
    amount: moneyField.describe(
      'The paid credit that was added, in micro-dollars, without deducting refunds and disputes.',
    ),
    top_ups: z.int().describe('How many times operators and programs added credit.'),
    purchases: z.int().describe('The number of purchases that were credited.'),
    codes: z.int().describe('The number of credit codes that were redeemed.'),
  })
  .meta({ id: 'TopUps' })
