import { z } from 'zod'
import type { Balance } from '../../ledger/activity/balance.ts'
import { keyCreditLeft } from '../../ledger/rules/open-hold.ts'
import type { ApiKeyRow } from '../../store/schema.ts'
import { ownKeyData, ownKeyDataShape } from '../../upstreams/openrouter/own-layouts.ts'
import type { AllowancePeriod } from '../../vocabulary/allowance.ts'
import type { Micros } from '../../vocabulary/money.ts'
import { idField, moneyField, timeAnswer, timeField, timeOrNull } from '../fields.ts'
import type { KeyLimits } from '../operation-parts.ts'
import { limitShapes, limitsAnswer } from './limits.ts'
import { metadataAnswer, metadataShape } from './metadata.ts'
import { modelsAnswer, modelsShape } from './model-lists.ts'

const common = {
  id: idField('key'),
  object: z.literal('key'),
  name: z.string(),
  prefix: z
    .string()
    .describe(
      'The first and last characters of the key; empty for the key of the Playground, which has no text.',
    ),
  state: z
    .enum(['account_suspended', 'disabled', 'expired', 'limit_reached', 'active'])
    .describe(
      '`active`: its requests are accepted. Otherwise the first reason why they are refused.',
    ),
  disabled: z.boolean(),
  expires_at: timeField.nullable().describe('When the key expires; null: never.'),
  previous_expires_at: timeField
    .nullable()
    .describe(
      'When the text from before the last rotation stops working; null: no earlier text works.',
    ),
  credit_limit: moneyField
    .nullable()
    .describe('The maximum that the key can spend in total, in micro-dollars; null: no limit.'),
  spend: moneyField.describe('The sum of charges and corrections of the key, in micro-dollars.'),
  held: moneyField.describe('The credit held for requests of the key, in micro-dollars.'),
  models: modelsShape,
  ...limitShapes,
  default_limits: z
    .object({
      requests_per_minute: z.int().describe('The most requests per minute.'),
      in_flight: z.int().describe('The most requests in flight at once.'),
    })
    .describe(
      'The limits of every key of the gateway. Each applies if `limits` does not set another.',
    ),
}

/** An API key as its admin sees it, never with its text. */
export const apiKeyShape = z
  .object({
    ...common,
    account_id: idField('acct'),
    metadata: metadataShape,
    created_at: timeField,
    last_used_at: timeField
      .nullable()
      .describe('When the newest request of the key opened a hold; null: no request has.'),
  })
  .meta({ id: 'Key' })

/** An API key that has just been made: the only answer with its text. */
export const createdApiKeyShape = apiKeyShape
  .extend({
    key: z.string().describe('The text of the key. It is not returned again.'),
  })
  .meta({ id: 'CreatedKey' })

/** `GET /v1/key`: the calling key as its user sees it. */
export const ownKeyShape = z
  .object({
    ...common,
    credit_limit_remaining: moneyField
      .nullable()
      .describe('The rest of its credit limit, in micro-dollars; null: it has no limit.'),
    credit_available: moneyField.describe("The account's available paid credit, in micro-dollars."),
    free_credit_available: moneyField.describe(
      "The account's available free credit, in micro-dollars.",
    ),
    free_credit_expires_at: timeField
      .nullable()
      .describe('When the free credit expires, all of it together; null: there is none.'),
    data: ownKeyDataShape.describe('The key in the layout of OpenRouter; amounts are dollars.'),
  })
  .meta({ id: 'OwnKey' })

/** An API key in responses to the people who manage it. */
export function apiKeyAnswer(
  apiKey: ApiKeyRow,
  { usedAtMs, ...at }: KeyMoment & { readonly usedAtMs: number | null },
): z.infer<typeof apiKeyShape> {
  return {
    ...commonAnswer(apiKey, at),
    account_id: apiKey.accountId,
    metadata: metadataAnswer(apiKey.metadataJson),
    created_at: timeAnswer(apiKey.createdAtMs),
    last_used_at: timeOrNull(usedAtMs),
  }
}

/** The calling key as responses have it. */
export function ownKeyAnswer(
  apiKey: ApiKeyRow,
  { balance, spend, nowMs, defaults }: OwnKeyMoment,
): z.infer<typeof ownKeyShape> {
  return {
    // A key of a suspended account is refused earlier.
    ...commonAnswer(apiKey, { nowMs, defaults, isSuspended: false }),
    credit_limit_remaining: keyCreditLeft(apiKey),
    credit_available: balance.backed.availableMicros,
    free_credit_available: balance.free.availableMicros,
    free_credit_expires_at: timeOrNull(balance.free.expiresAtMs),
    data: ownKeyData({
      prefix: apiKey.displayPrefix,
      accountId: apiKey.accountId,
      expiresAtMs: apiKey.expiresAtMs,
      spendMicros: apiKey.spendMicros,
      spendByPeriod: spend,
      limit: ownLimit(apiKey, nowMs),
      hasBackedCredit: balance.hasBackedCredit,
    }),
  }
}

/** An allowance with its next reset, else the total limit; and the credit that both leave to the key. */
function ownLimit(apiKey: ApiKeyRow, nowMs: number): Parameters<typeof ownKeyData>[0]['limit'] {
  const { allowance } = limitsAnswer(apiKey, nowMs)
  const { creditLimitMicros } = apiKey
  const totalMicros = keyCreditLeft(apiKey)
  if (allowance !== null) {
    const { amount, spent, held, period } = allowance
    const restMicros = Math.max(0, amount - spent - held)
    const remainingMicros = Math.min(restMicros, totalMicros ?? restMicros)
    return { micros: amount, remainingMicros, period }
  }
  if (creditLimitMicros === null) return null
  return { micros: creditLimitMicros, remainingMicros: totalMicros ?? 0, period: null }
}

interface OwnKeyMoment extends Omit<KeyMoment, 'isSuspended'> {
  readonly balance: Balance
  /** Its charges since the present day, week and month began. */
  readonly spend: Readonly<Record<AllowancePeriod, Micros>>
}

interface KeyMoment {
  readonly nowMs: number
  /** Whether its account is suspended. */
  readonly isSuspended: boolean
  readonly defaults: KeyLimits
}

/** In the order in which the gateway refuses a key. */
function stateOf(
  apiKey: ApiKeyRow,
  { nowMs, isSuspended }: Omit<KeyMoment, 'defaults'>,
): z.infer<typeof common.state> {
  if (isSuspended) return 'account_suspended'
  if (apiKey.disabled) return 'disabled'
  if (apiKey.expiresAtMs !== null && apiKey.expiresAtMs <= nowMs) return 'expired'
  const { allowance } = limitsAnswer(apiKey, nowMs)
  const isUsedUp = allowance !== null && allowance.spent + allowance.held >= allowance.amount
  return isUsedUp || keyCreditLeft(apiKey) === 0 ? 'limit_reached' : 'active'
}

function commonAnswer(apiKey: ApiKeyRow, { nowMs, isSuspended, defaults }: KeyMoment) {
  return {
    id: apiKey.id,
    object: 'key' as const,
    name: apiKey.name,
    prefix: apiKey.displayPrefix,
    state: stateOf(apiKey, { isSuspended, nowMs }),
    disabled: apiKey.disabled,
    expires_at: timeOrNull(apiKey.expiresAtMs),
    previous_expires_at: timeOrNull(
      (apiKey.previousExpiresAtMs ?? 0) > nowMs ? apiKey.previousExpiresAtMs : null,
    ),
    credit_limit: apiKey.creditLimitMicros,
    spend: apiKey.spendMicros,
    held: apiKey.heldMicros,
    models: modelsAnswer(apiKey),
    ...limitsAnswer(apiKey, nowMs),
    default_limits: {
      requests_per_minute: defaults.requestsPerMinuteMax,
      in_flight: defaults.inFlightMax,
    },
  }
}
