import { type Kysely, sql } from 'kysely'
import type { Ledger } from '../ledger/commands.ts'
import type { OperatorAction } from '../ledger/operator-actions.ts'
import { findPurchase } from '../ledger/purchases.ts'
import {
  isApprovable,
  type PostPurchaseInput,
  type PurchaseVerdict,
} from '../ledger/rules/post-purchase.ts'
import { isPostgres } from '../store/is-postgres.ts'
import type { PurchaseRow } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { type Clock, DAY_MS } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { type Micros, showMicros } from '../vocabulary/money.ts'
import type { PurchaseFact, TokenDecimals } from '../vocabulary/purchase.ts'
import { type CardRefusal, mostOf, refusalOf } from './card/account-limits.ts'
import type { CardMethod } from './card/card-method.ts'
import type { CardPayment } from './card/provider.ts'
import type { SaleMethod } from './method.ts'

// A look that changed something is followed by another, so that the last one is newer than every change.
const LOOKS_MAX = 10

/** A purchase after its provider was looked at. */
interface Looked {
  readonly purchase: PurchaseRow
  /** Whether the look has changed it. */
  readonly isChanged: boolean
}

/** A purchase that has begun, or why the account may not begin it. */
type Begun =
  | { readonly kind: 'begun'; readonly purchase: PurchaseRow; readonly url: string }
  | CardRefusal

/** A look found a payment that can't belong to the purchase; nothing was changed, and another look finds the same. */
export class LookContradicted extends Error {
  override readonly name = 'LookContradicted'
}

/** The seller of the credit. */
export interface Seller {
  readonly name: string
  readonly taxId: string | null
}

/** Above which credit a payment is held, in micro-dollars. */
export interface CeilingSettings {
  /** The ceiling of one payment. */
  readonly holdAboveMicros: Micros
  /** The ceiling of all payments within 24 hours that no admin has approved. */
  readonly holdAboveDailyMicros: Micros
}

/** The parts of the sale. */
export interface SaleInput {
  /** In the order in which they are offered. */
  readonly methods: readonly SaleMethod[]
  readonly db: Kysely<Tables>
  readonly ledger: Pick<Ledger, 'postPurchase'>
  readonly ids: IdSource
  readonly clock: Clock
  readonly ceilings: CeilingSettings
  /** The seller that receipts name; null: it is not set. */
  readonly seller: Seller | null
  /** Called when the credit of an account has changed. */
  readonly onCreditChanged: (accountId: string) => Promise<void>
}

/** The sale of credit: begins payments, and looks at them. */
export class Sale {
  readonly #input: SaleInput
  /** The latest beginning of each account, so that those of one account follow each other. */
  readonly #beginnings = new Map<string, Promise<unknown>>()

  readonly #ceilings: Ceilings

  constructor(input: SaleInput) {
    this.#input = input
    this.#ceilings = new Ceilings({ ...input.ceilings, db: input.db, clock: input.clock })
  }

  /** How credit can be bought, in the order in which it is offered. */
  get methods(): readonly SaleMethod[] {
    return this.#input.methods
  }

  /** The decimal places of the tokens that are taken. */
  get tokenDecimals(): TokenDecimals {
    return new Map(
      this.methods.flatMap((each) =>
        each.kind === 'deposit' ? [[each.id, each.token.decimals] as const] : [],
      ),
    )
  }

  /**
   * Begins a purchase by card. Its row is durable before its payment page is shown. Rejects with
   * `PaymentUnavailable` where the provider can't be asked.
   */
  async begin(asked: {
    readonly method: CardMethod
    readonly accountId: string
    readonly creditMicros: Micros
  }): Promise<Begun> {
    const { accountId } = asked
    const earlier = this.#beginnings.get(accountId) ?? Promise.resolve()
    const beginning = earlier.then(() => this.#begin(asked))
    const settled = beginning.catch(() => {})
    this.#beginnings.set(accountId, settled)
    try {
      return await beginning
    } finally {
      if (this.#beginnings.get(accountId) === settled) this.#beginnings.delete(accountId)
    }
  }

  async #begin({ method, accountId, creditMicros }: Parameters<Sale['begin']>[0]): Promise<Begun> {
    const { db, ids, clock } = this.#input
    const nowMs = clock.nowMs()
    const { chargesCards } = method.provider
    const asked = { accountId, creditMicros, chargesCards, nowMs }
    const refusal = await refusalOf(db, asked)
    if (refusal !== null) return refusal
    const purchaseId = ids.next('pur')
    const begun = await method.begin({ purchaseId, accountId, creditMicros })
    const { source, url, expiresAtMs, priceUnits } = begun
    const verdict = await this.post({
      id: purchaseId,
      accountId,
      method: method.id,
      source,
      creditMicros,
      priceUnits,
      seenReversals: 0,
      fact: { kind: 'open', expiresAtMs },
      approved: false,
      most: await mostOf(db, asked),
    })
    switch (verdict.kind) {
      case 'posted':
      case 'unchanged':
        return { kind: 'begun', purchase: verdict.purchase, url }
      case 'unknownAccount':
        return verdict
      // Another gateway has begun some meanwhile. Nobody is shown the page of this one, so that it is never paid.
      case 'tooMany':
        return (await refusalOf(db, asked)) ?? { kind: 'tooManyOpen', nextAtMs: nowMs }
      case 'stale':
      case 'conflict':
        throw new Error(`the provider gave a new payment the ID of an earlier one: ${source}`)
      default:
        return assertNever(verdict)
    }
  }

  /**
   * The page on which a purchase by card can still be paid; null: it can't. Rejects with `PaymentUnavailable` if
   * the provider can't be asked.
   */
  async openPage(purchase: PurchaseRow): Promise<string | null> {
    const method = this.methods.find((each) => each.has(purchase.source))
    if (purchase.state !== 'open' || method?.kind !== 'card') return null
    return method.provider.openPage(purchase)
  }

  get seller(): Seller | null {
    return this.#input.seller
  }

  /**
   * Posts the totals that a look found; held, if the payment is above a ceiling and was not credited before. Callers of
   * the account hear of its new credit.
   */
  async post(input: PostPurchaseInput, by: OperatorAction | null = null): Promise<PurchaseVerdict> {
    const { db, ledger, onCreditChanged } = this.#input
    const { source, fact, approved } = input
    const post = (judged: PostPurchaseInput) => ledger.postPurchase(judged, by)
    const isCredit = fact.kind === 'paid' && fact.judgment.kind === 'credit' && !approved
    const isNew = isCredit && (await findPurchase(db, source))?.state !== 'credited'
    const verdict = await (isNew ? this.#ceilings.post(input, post) : post(input))
    if (verdict.kind === 'posted' && verdict.purchase.state === 'credited') {
      await onCreditChanged(input.accountId)
    }
    return verdict
  }

  /**
   * Looks at a purchase until nothing changes. Null: no method here has it. Throws if the provider
   * can't be asked, or contradicts earlier credit; nothing is changed then.
   */
  look(source: string): Promise<Looked | null> {
    return this.#look(source, null)
  }

  /** Like `look`, and credits the paid part of a purchase that is held or below the minimum. */
  approve(source: string, by: OperatorAction | null): Promise<Looked | null> {
    return this.#look(source, { by })
  }

  /**
   * Posts a payment that this store began and has no row of, held, if it is paid. Rejects with
   * `PaymentUnavailable` where the provider can't be asked.
   */
  async postUnknown(method: CardMethod, payment: CardPayment): Promise<void> {
    const { purchaseId, cents, ...asked } = payment
    const fact = await method.lookAtUnknown(payment)
    if (fact.kind !== 'paid') return
    const row = { ...asked, id: purchaseId, method: method.id, priceUnits: cents }
    const verdict = await this.post({ ...row, seenReversals: 0, fact, approved: false })
    if (!('purchase' in verdict)) {
      throw new LookContradicted(
        `${row.source} is of the account ${row.accountId}, which is not in the store`,
      )
    }
  }

  async #look(
    source: string,
    approval: { readonly by: OperatorAction | null } | null,
  ): Promise<Looked | null> {
    const { db, methods } = this.#input
    const method = methods.find((each) => each.has(source))
    if (method === undefined) return null
    let isChanged = false
    for (let looks = 1; looks <= LOOKS_MAX; looks++) {
      // Read before the look, so that a reversal which is posted meanwhile makes this one stale.
      const row = await findPurchase(db, source)
      if (row === null) return null
      const fact = await method.look(row)
      // The decision counts once: later looks are posted as usual, and so is a look that adds no credit.
      const decision = isChanged || !isApprovable(row.state, fact) ? null : approval
      const verdict = await this.post(
        { ...row, seenReversals: row.reversals, fact, approved: decision !== null },
        decision?.by ?? null,
      )
      switch (verdict.kind) {
        case 'posted':
          isChanged = true
          break
        case 'stale':
          break
        case 'unchanged':
          return { purchase: verdict.purchase, isChanged }
        case 'conflict':
        case 'unknownAccount':
        case 'tooMany':
          throw new LookContradicted(`a look at ${source} contradicts its purchase`)
        default:
          return assertNever(verdict)
      }
    }
    throw new Error(`${source} changed at each of ${LOOKS_MAX} looks`)
  }
}

/** Any number that no other lock of the gateway has. */
const CEILING_LOCK = 7_265_221_002

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
class Ceilings {
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
