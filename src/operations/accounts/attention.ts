import { z } from 'zod'
import type { AlertAbout } from '../../alerts/about.ts'
import { crossingsOfAccount, crossingsOfKey } from '../../alerts/crossings.ts'
import type { Balance } from '../../ledger/activity/balance.ts'
import { keyCreditLeft } from '../../ledger/rules/open-hold.ts'
import type { AccountRow, ApiKeyRow } from '../../store/schema.ts'
import type { UsageGroupFigures } from '../../usage/read-usage.ts'
import { ALLOWANCE_PERIODS } from '../../vocabulary/allowance.ts'
import { DAY_MS } from '../../vocabulary/clock.ts'
import { dailyPace, daysLeft } from '../../vocabulary/pace.ts'
import { idField, moneyField, timeAnswer, timeField, timeOrNull } from '../fields.ts'

const CREDIT_LOW_DAYS = 7
const KEY_LIMIT_DAYS = 2
const KEY_EXPIRES_DAYS = 7
const FREE_CREDIT_ENDS_DAYS = 14
/** A key with no more than this part of its limit left needs attention. */
const LIMIT_PART = 0.1

const namedKey = { key_id: idField('key'), name: z.string() }

const allowanceUse = {
  allowance: moneyField,
  spend: moneyField,
  period: z.enum(ALLOWANCE_PERIODS),
  resets_at: timeField,
}

/** Something of an account that needs attention. */
export const attentionShape = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('no_credit'),
    owed: moneyField.describe('The debt of the account; 0: it has none.'),
  }),
  z.object({
    kind: z.literal('credit_low'),
    available: moneyField,
    credited: moneyField.describe('The balance right after credit was last added.'),
    days_left: z.number().nullable().describe('`days_left` of the paid credit.'),
  }),
  z.object({
    kind: z.literal('key_limit'),
    ...namedKey,
    credit_limit: moneyField,
    remaining: moneyField,
    days_left: z.number().nullable(),
  }),
  z.object({ kind: z.literal('key_allowance'), ...namedKey, ...allowanceUse }),
  z.object({ kind: z.literal('account_allowance'), ...allowanceUse }),
  z.object({
    kind: z.literal('key_expires'),
    ...namedKey,
    expires_at: timeField.describe('When the key expires.'),
  }),
  z.object({
    kind: z.literal('unresolved'),
    requests: z.int(),
    held: moneyField,
    next_release_at: timeField.nullable(),
  }),
  z.object({
    kind: z.literal('free_credit_ends'),
    amount: moneyField,
    expires_at: timeField.describe('When the free credit expires.'),
  }),
])

type Attention = z.infer<typeof attentionShape>

interface AttentionInput {
  readonly nowMs: number
  readonly account: AccountRow
  readonly balance: Balance
  /** The credit that was removed since credit was last added. */
  readonly removedMicros: number
  readonly nextReleaseAtMs: number | null
  /** How long paid credit lasts. */
  readonly daysLeft: number | null
  /** Keys with a limit, an allowance or an expiry. */
  readonly limitedKeys: readonly ApiKeyRow[]
  /** The charges of the days of `paceSpan`, by key. */
  readonly recent: readonly UsageGroupFigures[]
}

/** The items that need attention, the most urgent first: current alerts, and alerts that are due soon. */
export function attentionOf(input: AttentionInput): readonly Attention[] {
  const { nowMs, account, balance, nextReleaseAtMs } = input
  const { free, unresolved } = balance
  const crossed = crossingsOfAccount(account, input).map(({ about }) => about)
  const found: Attention[] = [...attentionOfCredit(input, crossed)]
  found.push(...crossed.flatMap((about) => attentionOfAllowance(about)))
  found.push(...input.limitedKeys.flatMap((apiKey) => attentionOfKey(apiKey, input)))
  if (unresolved.requests > 0) {
    found.push({
      kind: 'unresolved',
      requests: unresolved.requests,
      held: unresolved.heldMicros,
      next_release_at: timeOrNull(nextReleaseAtMs),
    })
  }
  const { expiresAtMs, balanceMicros } = free
  if (isSoon(expiresAtMs, { nowMs, days: FREE_CREDIT_ENDS_DAYS }) && balanceMicros > 0) {
    const expires_at = timeAnswer(expiresAtMs)
    found.push({ kind: 'free_credit_ends', amount: balanceMicros, expires_at })
  }
  return found
}

function attentionOfCredit(
  { account, removedMicros, balance: { backed, free }, daysLeft: days_left }: AttentionInput,
  crossed: readonly AlertAbout[],
): readonly Attention[] {
  const available = backed.availableMicros + free.availableMicros
  const owed = Math.max(0, -backed.balanceMicros)
  // Beside a debt, free credit pays for some requests.
  if (available === 0 || owed > 0) return [{ kind: 'no_credit', owed }]
  const isLow = days_left !== null && days_left < CREDIT_LOW_DAYS
  if (!isLow && !crossed.some(({ kind }) => kind === 'credit')) return []
  const credited = Math.max(available, account.lastCreditBalanceMicros - removedMicros)
  return [{ kind: 'credit_low', available, credited, days_left }]
}

function attentionOfAllowance(
  about: AlertAbout,
  apiKey: Pick<ApiKeyRow, 'id' | 'name'> | null = null,
): readonly Attention[] {
  if (about.kind !== 'account_allowance' && about.kind !== 'key_allowance') return []
  const { allowanceMicros: allowance, spendMicros: spend, period } = about
  const use = { allowance, spend, period, resets_at: timeAnswer(about.resetsAtMs) }
  return apiKey === null
    ? [{ kind: 'account_allowance', ...use }]
    : [{ kind: 'key_allowance', key_id: apiKey.id, name: apiKey.name, ...use }]
}

function attentionOfKey(
  apiKey: ApiKeyRow,
  { nowMs, recent }: AttentionInput,
): readonly Attention[] {
  const { id, name, disabled, creditLimitMicros, expiresAtMs, createdAtMs } = apiKey
  if (disabled || (expiresAtMs !== null && expiresAtMs <= nowMs)) return []
  const found: Attention[] = []
  if (isSoon(expiresAtMs, { nowMs, days: KEY_EXPIRES_DAYS })) {
    found.push({ kind: 'key_expires', key_id: id, name, expires_at: timeAnswer(expiresAtMs) })
  }
  const crossed = crossingsOfKey(apiKey, nowMs).map(({ about }) => about)
  found.push(...crossed.flatMap((about) => attentionOfAllowance(about, apiKey)))
  const remaining = keyCreditLeft(apiKey)
  if (creditLimitMicros === null || remaining === null) return found
  const spent = recent.find((group) => group.id === id)?.totals.chargeMicros ?? 0
  const days_left = daysAnswer(
    daysLeft(remaining, dailyPace(spent, { sinceMs: createdAtMs, nowMs })),
  )
  const isLow =
    remaining <= creditLimitMicros * LIMIT_PART || crossed.some(({ kind }) => kind === 'key_limit')
  if (isLow || (days_left !== null && days_left < KEY_LIMIT_DAYS)) {
    const kind = 'key_limit'
    found.push({ kind, key_id: id, name, credit_limit: creditLimitMicros, remaining, days_left })
  }
  return found
}

function isSoon(
  atMs: number | null,
  { nowMs, days }: { readonly nowMs: number; readonly days: number },
): atMs is number {
  return atMs !== null && atMs > nowMs && atMs - nowMs <= days * DAY_MS
}

/** A forecast in days, rounded down to a tenth of a day; null: there is none. */
export function daysAnswer(days: number | null): number | null {
  return days === null ? null : Math.floor(days * 10) / 10
}
