import { z } from 'zod'
import type { Balance } from '../../ledger/activity/activity.ts'
import type { ApiKeyRow } from '../../store/schema.ts'
import { amountField, idField, timeAnswer, timeField, timeOrNull } from './fields.ts'

const common = {
  id: idField('key'),
  object: z.literal('key'),
  name: z.string(),
  prefix: z.string().describe('The first and last characters of the key.'),
  disabled: z.boolean(),
  expires_at: timeField.nullable(),
  credit_limit: amountField
    .nullable()
    .describe('The most that the key may spend in total, in micro-dollars.'),
  spend: amountField.describe('The sum of its charges and corrections, in micro-dollars.'),
  held: amountField.describe('The credit that its requests reserve, in micro-dollars.'),
}

/** An API key as its admin sees it, never with its text. */
export const apiKeyShape = z
  .object({
    ...common,
    account_id: idField('acct'),
    created_at: timeField,
  })
  .meta({ id: 'Key' })

/** An API key that has just been made: the only answer with its text. */
export const createdApiKeyShape = apiKeyShape
  .extend({
    key: z.string().describe('The text of the key. No later answer has it.'),
  })
  .meta({ id: 'CreatedKey' })

/** `GET /v1/key`: the calling key as its user sees it. */
export const ownKeyShape = z
  .object({
    ...common,
    credit_limit_remaining: amountField
      .nullable()
      .describe('The rest of its limit in micro-dollars; null without a limit.'),
    credit_available: amountField.describe("The account's available backed credit."),
    free_credit_available: amountField.describe("The account's available free credit."),
    free_credit_expires_at: timeField.nullable(),
  })
  .meta({ id: 'OwnKey' })

/** An API key as it is answered. */
export function apiKeyAnswer(apiKey: ApiKeyRow): z.infer<typeof apiKeyShape> {
  return {
    ...commonAnswer(apiKey),
    account_id: apiKey.accountId,
    created_at: timeAnswer(apiKey.createdAtMs),
  }
}

/** The calling key as it is answered. */
export function ownKeyAnswer(apiKey: ApiKeyRow, balance: Balance): z.infer<typeof ownKeyShape> {
  return {
    ...commonAnswer(apiKey),
    credit_limit_remaining: remainingOf(apiKey),
    credit_available: balance.backed.availableMicros,
    free_credit_available: balance.free.availableMicros,
    free_credit_expires_at: timeOrNull(balance.free.expiresAtMs),
  }
}

function commonAnswer(apiKey: ApiKeyRow) {
  return {
    id: apiKey.id,
    object: 'key' as const,
    name: apiKey.name,
    prefix: apiKey.displayPrefix,
    disabled: apiKey.disabled,
    expires_at: timeOrNull(apiKey.expiresAtMs),
    credit_limit: apiKey.creditLimitMicros,
    spend: apiKey.spendMicros,
    held: apiKey.heldMicros,
  }
}

function remainingOf({ creditLimitMicros, spendMicros, heldMicros }: ApiKeyRow): number | null {
  return creditLimitMicros === null
    ? null
    : Math.max(0, creditLimitMicros - spendMicros - heldMicros)
}
