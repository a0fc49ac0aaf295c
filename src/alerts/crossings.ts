import type { Kysely } from 'kysely'
import { creditedSubject, newlyCredited, newReversals } from '../ledger/purchases.ts'
import {
  newRemovals,
  REMOVAL_NOTICE_MS,
  removalSubject,
  removedSinceCredit,
} from '../ledger/removed-credit.ts'
import { freeCreditExpired } from '../ledger/rules/credit.ts'
import {
  ACCOUNTS,
  type AccountRow,
  API_KEYS,
  type ApiKeyRow,
  type Tables,
} from '../store/schema.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import {
  decimalsOf,
  receiptNumberText,
  reversalCauseOf,
  type TokenDecimals,
} from '../vocabulary/purchase.ts'
import type { AlertAbout } from './about.ts'
import { alertStep } from './about.ts'

/** How long before its end free credit is named. */
const FREE_CREDIT_ENDS_MS = 7 * DAY_MS

/** An alert that an account's owners get once. */
export interface Crossing {
  /** Another limit, period or credit is another subject. */
  readonly subject: string
  readonly accountId: string
  /** From then on it can't come again; null: it has no end. */
  readonly endsAtMs: number | null
  readonly about: AlertAbout
}

/**
 * The steps that these accounts and keys have crossed. Disabled and deleted ones, and keys that have expired, have
 * crossed nothing.
 */
export async function crossingsOf(
  db: Kysely<Tables>,
  {
    accountIds,
    apiKeyIds,
    nowMs,
  }: {
    readonly accountIds: readonly string[]
    readonly apiKeyIds: readonly string[]
    readonly nowMs: number
  },
): Promise<readonly Crossing[]> {
  const accounts =
    accountIds.length === 0
      ? []
      : await db
          .selectFrom('accounts')
          .selectAll()
          .where('id', 'in', accountIds)
          .where('disabled', '=', 0)
          .execute()
  const apiKeys =
    apiKeyIds.length === 0
      ? []
      : await db
          .selectFrom('api_keys')
          .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
          .selectAll('api_keys')
          .where('api_keys.id', 'in', apiKeyIds)
          .where('api_keys.disabled', '=', 0)
          .where('api_keys.deleted_at_ms', 'is', null)
          .where('accounts.disabled', '=', 0)
          .execute()
  const rows = accounts.map((row) => ACCOUNTS.read(row))
  // Removed credit can only make the used part smaller.
  const crossed = rows.filter((row) => creditCrossing(row, { nowMs, removedMicros: 0 }).length > 0)
  const ids = crossed.map(({ id }) => id)
  const removed = ids.length === 0 ? null : await removedSinceCredit(db, ids)
  return [
    ...rows.flatMap((row) =>
      crossingsOfAccount(row, { nowMs, removedMicros: removed?.get(row.id) ?? 0 }),
    ),
    ...apiKeys.flatMap((row) => crossingsOfKey(API_KEYS.read(row), nowMs)),
  ]
}

/** A moment, and the credit that was removed from an account since credit was last added. */
interface AccountMoment {
  readonly nowMs: number
  readonly removedMicros: number
}

/** The steps that an account has crossed at a moment. */
export function crossingsOfAccount(account: AccountRow, at: AccountMoment): readonly Crossing[] {
  const { nowMs } = at
  return [
    ...creditCrossing(account, at),
    ...allowanceCrossing(account, { nowMs, accountId: account.id, keyName: null }),
    ...freeCreditCrossing(account, nowMs),
  ]
}

/** The steps that an API key has crossed at a moment. */
export function crossingsOfKey(apiKey: ApiKeyRow, nowMs: number): readonly Crossing[] {
  const { id, accountId, name: keyName, expiresAtMs } = apiKey
  if (expiresAtMs !== null && expiresAtMs <= nowMs) return []
  const { creditLimitMicros: limitMicros, spendMicros } = apiKey
  const step = alertStep(spendMicros, limitMicros)
  const ofLimit: readonly Crossing[] =
    step === null || limitMicros === null
      ? []
      : [
          {
            subject: `${id} limit ${limitMicros}`,
            accountId,
            endsAtMs: null,
            about: { kind: 'key_limit', step, keyName, spendMicros, limitMicros },
          },
        ]
  return [...ofLimit, ...allowanceCrossing(apiKey, { nowMs, accountId, keyName })]
}

/** Credit of both purses, by the balance right after the last of it was added; removed credit is not used credit. */
function creditCrossing(
  account: AccountRow,
  { nowMs, removedMicros }: AccountMoment,
): readonly Crossing[] {
  const { id, lastCreditNumber, lastCreditBalanceMicros } = account
  const creditedMicros = lastCreditBalanceMicros - removedMicros
  const leftMicros = Math.max(0, account.backedBalanceMicros + liveFreeCredit(account, nowMs))
  const step = alertStep(creditedMicros - leftMicros, creditedMicros)
  if (step === null) return []
  return [
    {
      subject: `${id} credit ${lastCreditNumber}`,
      accountId: id,
      endsAtMs: null,
      about: { kind: 'credit', step, leftMicros, creditedMicros, removedMicros },
    },
  ]
}

function liveFreeCredit(account: AccountRow, nowMs: number): number {
  return freeCreditExpired(account, nowMs) ? account.freeHeldMicros : account.freeBalanceMicros
}

function allowanceCrossing(
  { id, allowance, period: counted }: Pick<AccountRow, 'id' | 'allowance' | 'period'>,
  {
    nowMs,
    accountId,
    keyName,
  }: { readonly nowMs: number; readonly accountId: string; readonly keyName: string | null },
): readonly Crossing[] {
  // A row has the period of its latest hold, which may be over.
  if (allowance === null || counted === null || counted.periodEndsAtMs <= nowMs) return []
  const { allowanceMicros, allowancePeriod: period } = allowance
  const { periodSpendMicros: spendMicros, periodEndsAtMs: resetsAtMs } = counted
  const step = alertStep(spendMicros, allowanceMicros)
  if (step === null) return []
  const use = { step, spendMicros, allowanceMicros, period, resetsAtMs }
  return [
    {
      subject: `${id} ${period} ${allowanceMicros} until ${resetsAtMs}`,
      accountId,
      endsAtMs: resetsAtMs,
      about:
        keyName === null
          ? { kind: 'account_allowance', ...use }
          : { kind: 'key_allowance', keyName, ...use },
    },
  ]
}

function freeCreditCrossing(account: AccountRow, nowMs: number): readonly Crossing[] {
  const { id, freeExpiresAtMs: endsAtMs } = account
  const amountMicros = liveFreeCredit(account, nowMs)
  if (endsAtMs === null || endsAtMs <= nowMs || amountMicros <= 0) return []
  if (endsAtMs - nowMs > FREE_CREDIT_ENDS_MS) return []
  return [
    {
      subject: `${id} free until ${endsAtMs}`,
      accountId: id,
      endsAtMs,
      about: { kind: 'free_credit_ends', amountMicros, endsAtMs },
    },
  ]
}

/** The credit that operators removed from these accounts and that was not noted yet, at most `limit`. */
export async function removalCrossings(
  db: Kysely<Tables>,
  of: {
    readonly accountIds: readonly string[]
    readonly nowMs: number
    readonly limit: number
  },
): Promise<readonly Crossing[]> {
  const removals = await newRemovals(db, of)
  return removals.map(({ accountId, reference, createdAtMs, ...removed }) => ({
    subject: removalSubject({ accountId, reference }),
    accountId,
    endsAtMs: createdAtMs + 2 * REMOVAL_NOTICE_MS,
    about: { kind: 'removal', reference, ...removed },
  }))
}

/** The purchases of all accounts that were credited and not noted yet, at most `limit`. */
export async function purchaseCrossings(
  db: Kysely<Tables>,
  {
    tokenDecimals,
    ...at
  }: {
    readonly nowMs: number
    readonly limit: number
    readonly tokenDecimals: TokenDecimals
  },
): Promise<readonly Crossing[]> {
  const found = await newlyCredited(db, at)
  return found.map(({ purchase, creditedAtMs, balanceMicros }) => {
    const { id: purchaseId, accountId, creditMicros, method, paid, receiptNumber } = purchase
    const number =
      receiptNumber === null ? null : receiptNumberText({ receiptNumber, creditedAtMs })
    const currency = paid?.paidCurrency ?? ''
    const decimals = decimalsOf({ method, currency }, tokenDecimals)
    const payment = paid && { currency, units: String(paid.paidUnits), decimals }
    const bought = { purchaseId, receiptNumber: number, creditMicros, paid: payment }
    return {
      subject: creditedSubject(purchase),
      accountId,
      endsAtMs: creditedAtMs + 2 * REMOVAL_NOTICE_MS,
      about: { kind: 'purchase', ...bought, balanceMicros } as const,
    }
  })
}

/** The refunds and disputes of all accounts that were not noted yet, at most `limit`. */
export async function reversalCrossings(
  db: Kysely<Tables>,
  at: { readonly nowMs: number; readonly limit: number },
): Promise<readonly Crossing[]> {
  const found = await newReversals(db, { notedBy: 'alerts', ...at })
  return found.map(({ reference, amountMicros, createdAtMs, purchase, balanceMicros }) => {
    const { accountId, createdAtMs: purchasedAtMs, creditMicros, reversedMicros } = purchase
    const remainingMicros = creditMicros - reversedMicros
    const bought = { purchasedAtMs, creditMicros, remainingMicros, balanceMicros }
    const about = {
      kind: 'reversal',
      amountMicros,
      cause: reversalCauseOf(reference),
      ...bought,
    } as const
    return { subject: reference, accountId, endsAtMs: createdAtMs + 2 * REMOVAL_NOTICE_MS, about }
  })
}
