import { z } from 'zod'
import type { Balance } from '../../ledger/activity/activity.ts'
import { creditAnswer, creditShape } from './account.ts'
import { amountField, idField, timeField, timeOrNull } from './fields.ts'

/** `GET /v1/balance`: the money of the calling key's account. */
export const balanceShape = z
  .object({
    object: z.literal('balance'),
    account_id: idField('acct'),
    credit: creditShape,
    total: z
      .object({ balance: amountField, held: amountField, available: amountField })
      .describe('Both purses together.'),
    has_backed_credit: z.boolean().describe('Whether credit was ever bought or activated.'),
    unresolved: z
      .object({
        requests: z.int(),
        held: amountField,
        next_release_at: timeField
          .nullable()
          .describe(
            'When the first of them is released if the provider reports no cost until then.',
          ),
      })
      .describe('Unresolved requests: not charged yet, with their holds reserved.'),
  })
  .meta({ id: 'Balance' })

interface BalanceAnswerInput {
  readonly accountId: string
  readonly balance: Balance
  /** How long an unresolved hold stays reserved. */
  readonly settleAfterMs: number
}

/** A balance as it is answered. */
export function balanceAnswer({
  accountId,
  balance,
  settleAfterMs,
}: BalanceAnswerInput): z.infer<typeof balanceShape> {
  const { backed, free, hasBackedCredit, unresolved } = balance
  const { requests, heldMicros, oldestEndedAtMs } = unresolved
  return {
    object: 'balance',
    account_id: accountId,
    credit: creditAnswer(balance),
    total: {
      balance: backed.balanceMicros + free.balanceMicros,
      held: backed.heldMicros + free.heldMicros,
      available: backed.availableMicros + free.availableMicros,
    },
    has_backed_credit: hasBackedCredit,
    unresolved: {
      requests,
      held: heldMicros,
      next_release_at: timeOrNull(
        oldestEndedAtMs === null ? null : oldestEndedAtMs + settleAfterMs,
      ),
    },
  }
}
