import { z } from 'zod'
import type { CreditCodeRow } from '../../store/schema.ts'
import { amountField, idField, timeAnswer, timeField, timeOrNull } from './fields.ts'

/** A credit code, never with its text. */
export const creditCodeShape = z
  .object({
    id: idField('code'),
    object: z.literal('credit_code'),
    suffix: z.string().describe('The last characters of the code.'),
    amount: amountField.describe('The backed credit of the code, in micro-dollars.'),
    expires_at: timeField.nullable(),
    revoked_at: timeField.nullable(),
    redeemed_at: timeField.nullable(),
    redeemed_by: idField('acct').nullable().describe('The account that redeemed it.'),
    created_at: timeField,
  })
  .meta({ id: 'CreditCode' })

/** A code that has just been made: the only answer with its text. */
export const createdCreditCodeShape = creditCodeShape
  .extend({
    code: z.string().describe('The text of the code. No later answer has it.'),
  })
  .meta({ id: 'CreatedCreditCode' })

/** A credit code as it is answered. */
export function creditCodeAnswer(row: CreditCodeRow): z.infer<typeof creditCodeShape> {
  return {
    id: row.id,
    object: 'credit_code',
    suffix: row.displaySuffix,
    amount: row.amountMicros,
    expires_at: timeOrNull(row.expiresAtMs),
    revoked_at: timeOrNull(row.revokedAtMs),
    redeemed_at: timeOrNull(row.redeemedAtMs),
    redeemed_by: row.redeemedBy,
    created_at: timeAnswer(row.createdAtMs),
  }
}
