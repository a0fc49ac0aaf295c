import { z } from 'zod'
import type { AccountCredit, PurseBalance } from '../../ledger/activity/activity.ts'
import type { AccountRow } from '../../store/schema.ts'
import { amountField, idField, timeAnswer, timeField, timeOrNull } from './fields.ts'

const purse = {
  balance: amountField.describe('The sum of the entries of the purse, in micro-dollars.'),
  held: amountField.describe(
    'The credit that open and unresolved requests reserve, in micro-dollars.',
  ),
  available: amountField.describe('The balance minus held credit, never below zero.'),
}

/** The two purses of an account. */
export const creditShape = z.object({
  backed: z.object(purse),
  free: z.object({ ...purse, expires_at: timeField.nullable() }),
})

/** An account with its credit. */
export const accountShape = z
  .object({
    id: idField('acct'),
    object: z.literal('account'),
    name: z.string(),
    email: z.string().nullable(),
    disabled: z.boolean().describe('Whether its keys are refused with `api_key_disabled`.'),
    credit: creditShape,
    has_backed_credit: z.boolean().describe('Whether the account ever bought or activated credit.'),
    created_at: timeField,
  })
  .meta({ id: 'Account' })

/** An account as it is answered. */
export function accountAnswer(
  account: AccountRow,
  purses: AccountCredit,
): z.infer<typeof accountShape> {
  return {
    id: account.id,
    object: 'account',
    name: account.name,
    email: account.email,
    disabled: account.disabled,
    credit: creditAnswer(purses),
    has_backed_credit: purses.hasBackedCredit,
    created_at: timeAnswer(account.createdAtMs),
  }
}

/** The two purses as they are answered. */
export function creditAnswer({
  backed,
  free,
}: Pick<AccountCredit, 'backed' | 'free'>): z.infer<typeof creditShape> {
  return {
    backed: purseAnswer(backed),
    free: { ...purseAnswer(free), expires_at: timeOrNull(free.expiresAtMs) },
  }
}

function purseAnswer({ balanceMicros, heldMicros, availableMicros }: PurseBalance) {
  return { balance: balanceMicros, held: heldMicros, available: availableMicros }
}
