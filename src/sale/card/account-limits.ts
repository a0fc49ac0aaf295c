import type { Kysely } from 'kysely'
import { getAccount } from '../../ledger/accounts.ts'
import type { BeyondBalance } from '../../ledger/ledger.ts'
import { roomForCredit } from '../../ledger/rules/credit.ts'
import type { PostPurchaseInput } from '../../ledger/rules/post-purchase.ts'
import { PURCHASES } from '../../store/sale-tables.ts'
import type { AccountRow, Tables } from '../../store/schema.ts'
import { hasRow } from '../../store/store.ts'
import { DAY_MS } from '../../vocabulary/clock.ts'
import { addMicros, type Micros, micros } from '../../vocabulary/money.ts'

/** The most payments by card that an account may have open. */
const OPEN_PURCHASES_MAX = 5

const NEW_ACCOUNT_MS = 7 * DAY_MS

/** The most credit that an account may begin to buy by card in 24 hours, in its first seven days. */
const NEW_ACCOUNT_DAILY_MICROS = micros(50_000_000)

/** Why an account may not begin a payment by card now. */
export type CardRefusal =
  | { readonly kind: 'unknownAccount' | 'disputed' }
  | BeyondBalance
  | {
      readonly kind: 'tooManyOpen'
      /** When it may begin the next. */
      readonly nextAtMs: number
    }
  | {
      readonly kind: 'newAccount'
      readonly limitMicros: Micros
      /** When it may begin this one; null: this payment alone is above the limit. */
      readonly nextAtMs: number | null
    }

/** A payment that an account asks to begin. */
interface AskedPayment {
  readonly accountId: string
  readonly creditMicros: Micros
  readonly chargesCards: boolean
  readonly nowMs: number
}

/** The most that an account may begin to buy, which other gateways may reach after {@link refusalOf} has looked. */
export async function mostOf(
  db: Kysely<Tables>,
  asked: Pick<AskedPayment, 'accountId' | 'chargesCards' | 'nowMs'>,
): Promise<NonNullable<PostPurchaseInput['most']>> {
  const account = asked.chargesCards ? await getAccount(db, asked.accountId) : null
  const isNew = account !== null && isNewAccount(account, asked.nowMs)
  return { open: OPEN_PURCHASES_MAX, dailyMicros: isNew ? NEW_ACCOUNT_DAILY_MICROS : null }
}

function isNewAccount({ createdAtMs }: Pick<AccountRow, 'createdAtMs'>, nowMs: number): boolean {
  return createdAtMs + NEW_ACCOUNT_MS > nowMs
}

/**
 * Whether an account may begin a payment now; null: it may. Cards that are charged may be stolen ones, so a new
 * account buys little with them, and one whose payment is disputed nothing.
 */
export async function refusalOf(
  db: Kysely<Tables>,
  { accountId, creditMicros, chargesCards, nowMs }: AskedPayment,
): Promise<CardRefusal | null> {
  const account = await getAccount(db, accountId)
  if (account === null) return { kind: 'unknownAccount' }
  const mostMicros = roomForCredit(account, nowMs)
  if (creditMicros > mostMicros) return { kind: 'beyondBalance', change: 'added', mostMicros }
  const begun = await begunSince(db, { accountId, sinceMs: nowMs - DAY_MS })
  const open = begun.filter(
    ({ state, expiresAtMs }) => state === 'open' && (expiresAtMs ?? 0) > nowMs,
  )
  if (open.length >= OPEN_PURCHASES_MAX) {
    return {
      kind: 'tooManyOpen',
      nextAtMs: Math.min(...open.map((row) => row.expiresAtMs ?? nowMs)),
    }
  }
  if (!chargesCards) return null
  if (await isDisputed(db, accountId)) return { kind: 'disputed' }
  if (!isNewAccount(account, nowMs)) return null
  const counted = begun.filter(({ state }) => state !== 'expired' && state !== 'dismissed')
  return newAccountRefusal(creditMicros, counted)
}

/** The newest purchases by card of an account. */
async function begunSince(
  db: Kysely<Tables>,
  { accountId, sinceMs }: { readonly accountId: string; readonly sinceMs: number },
) {
  return PURCHASES.readAll(
    db
      .selectFrom('purchases')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('created_at_ms', '>', sinceMs)
      .where('price_units', 'is not', null),
  )
}

function isDisputed(db: Kysely<Tables>, accountId: string): Promise<boolean> {
  const purchases = db.selectFrom('purchases').select('id').where('account_id', '=', accountId)
  return hasRow(purchases.where('dispute', 'in', ['open', 'lost']).limit(1))
}

function newAccountRefusal(
  creditMicros: Micros,
  begun: readonly { readonly creditMicros: Micros; readonly createdAtMs: number }[],
): CardRefusal | null {
  const refusal = { kind: 'newAccount', limitMicros: NEW_ACCOUNT_DAILY_MICROS } as const
  if (creditMicros > NEW_ACCOUNT_DAILY_MICROS) return { ...refusal, nextAtMs: null }
  let restMicros: number = begun.reduce(
    (sum, row) => addMicros(sum, row.creditMicros),
    creditMicros,
  )
  for (const row of begun.toSorted((a, b) => a.createdAtMs - b.createdAtMs)) {
    if (restMicros <= NEW_ACCOUNT_DAILY_MICROS) return null
    restMicros -= row.creditMicros
    if (restMicros <= NEW_ACCOUNT_DAILY_MICROS) {
      return { ...refusal, nextAtMs: row.createdAtMs + DAY_MS }
    }
  }
  return null
}
