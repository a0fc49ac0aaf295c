import { z } from 'zod'
import type { Entry } from '../../store/schema.ts'
import { ENTRY_KINDS, PURSES } from '../../vocabulary/entry-kind.ts'
import { amountField, idField, timeAnswer, timeField, timeOrNull } from './fields.ts'

/** A line of an account's books. */
export const entryShape = z
  .object({
    id: z.string().describe('The account and the number of the entry.'),
    object: z.literal('entry'),
    account_id: idField('acct'),
    kind: z.enum(ENTRY_KINDS),
    amount: amountField.describe('The change of the balance in micro-dollars.'),
    purse: z.enum(PURSES),
    reference: z
      .string()
      .nullable()
      .describe('The reference of added credit, or the code of an activation.'),
    request_id: idField('req').nullable(),
    expires_at: timeField.nullable().describe('The expiry of free credit.'),
    created_at: timeField,
  })
  .meta({ id: 'Entry' })

/** An entry as it is answered. */
export function entryAnswer(entry: Entry): z.infer<typeof entryShape> {
  return {
    id: `${entry.accountId}/${entry.number}`,
    object: 'entry',
    account_id: entry.accountId,
    kind: entry.kind,
    amount: entry.amountMicros,
    purse: entry.purse,
    reference: entry.reference,
    request_id: entry.requestId,
    expires_at: timeOrNull(entry.expiresAtMs),
    created_at: timeAnswer(entry.createdAtMs),
  }
}
