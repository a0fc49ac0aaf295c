import { type Kysely, sql } from 'kysely'
import type { PostPurchaseInput, PurchaseVerdict } from '../ledger/rules/post-purchase.ts'
import { isPostgres } from '../store/is-postgres.ts'
import type { Tables } from '../store/schema.ts'
import { type Clock, DAY_MS } from '../vocabulary/clock.ts'
import { type Micros, showMicros } from '../vocabulary/money.ts'
import type { PurchaseFact } from '../vocabulary/purchase.ts'

/** Any number that no other lock of the gateway has. */
const CEILING_LOCK = 7_265_221_002

/** Above which credit a payment is held, in micro-dollars. */
export interface CeilingSettings {
  /** The ceiling of one payment. */
  readonly holdAboveMicros: Micros
  /** The ceiling of all payments within 24 hours that no admin has approved. */
  readonly holdAboveDailyMicros: Micros
}

interface CeilingsInput extends CeilingSettings {
  readonly db: Kysely<Tables>
  readonly clock: Clock
}

type Post = (input: PostPurchaseInput) => Promise<PurchaseVerdict>

/**
 * Holds payments above the ceilings. A lie of a provider or a node can cost at most a day's
 * ceiling. Payments are counted and posted one after the other: in this process, and on PostgreSQL in all
 * processes of the store.
 */
export class Ceilings {
  readonly #input: CeilingsInput
  #latest: Promise<unknown> = Promise.resolve()

  constructor(input: CeilingsInput) {
    this.#input = input
  }

  /** Posts a payment that would be credited, or holds it. */
  post(input: PostPurchaseInput, post: Post): Promise<PurchaseVerdict> {
    const posted = this.#latest.then(() => this.#post(input, post))
    this.#latest = posted.catch(() => {})
    return posted
  }

  #post(input: PostPurchaseInput, post: Post): Promise<PurchaseVerdict> {
    const { db, holdAboveMicros } = this.#input
    if (input.creditMicros > holdAboveMicros) {
      return post(
        held(input, `above the ceiling of ${showMicros(holdAboveMicros)} for one purchase`),
      )
    }
    if (!isPostgres(db)) return this.#postUnderDaily(db, { input, post })
    // Until this transaction ends, no other process counts: the payment is committed by then.
    return db.transaction().execute(async (locked) => {
      await sql`select pg_advisory_xact_lock(${CEILING_LOCK})`.execute(locked)
      return this.#postUnderDaily(locked, { input, post })
    })
  }

  async #postUnderDaily(
    db: Kysely<Tables>,
    { input, post }: { readonly input: PostPurchaseInput; readonly post: Post },
  ): Promise<PurchaseVerdict> {
    const { clock, holdAboveDailyMicros } = this.#input
    const creditedMicros = await creditedSince(db, clock.nowMs() - DAY_MS)
    if (creditedMicros + input.creditMicros <= holdAboveDailyMicros) return post(input)
    const reason = `above the ceiling of ${showMicros(holdAboveDailyMicros)} for 24 hours, with ${showMicros(creditedMicros)} before it`
    return post(held(input, reason))
  }
}

/** The credit of payments that were credited without an admin; held payments have a note. */
async function creditedSince(db: Kysely<Tables>, sinceMs: number): Promise<number> {
  const row = await db
    .selectFrom('purchases')
    .select(({ fn }) => fn.sum<number | string | null>('credit_micros').as('sum'))
    .where('credited_at_ms', '>', sinceMs)
    .where('note', 'is', null)
    .executeTakeFirst()
  return Number(row?.sum ?? 0)
}

function held(input: PostPurchaseInput, reason: string): PostPurchaseInput {
  const { fact, creditMicros } = input
  if (fact.kind !== 'paid') return input
  const judgment = { kind: 'hold', reason, worthMicros: creditMicros } as const
  const heldFact: PurchaseFact = { ...fact, judgment }
  return { ...input, fact: heldFact }
}
