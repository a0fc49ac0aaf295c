import type { Kysely } from 'kysely'
import { findPurchase, findPurchaseOfPayment, listDisputed, listOpen } from '../ledger/purchases.ts'
import { Passes } from '../store/passes.ts'
import type { PurchaseRow, SaleCursorRow } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import { type Clock, DAY_MS } from '../vocabulary/clock.ts'
import type { CardMethod } from './card/card-method.ts'
import { type CardChange, PaymentUnavailable } from './card/provider.ts'
import { moveCursor, readCursor } from './cursors.ts'
import { LookContradicted, type Sale } from './sale.ts'

const POLL_MS = 60_000

/** The shortest time between two looks, even if many messages arrive. */
const REST_MS = 1_000

/** How long a payment with an open dispute needs no look: reports name its end, but only for 30 days. */
const DISPUTED_LOOK_MS = DAY_MS

/** Reports may become visible later than others that are newer. */
const REPORTS_LATE_SECONDS = 10 * 60

interface CardPollInput {
  readonly db: Kysely<Tables>
  readonly sale: Pick<Sale, 'look' | 'postUnknown'>
  readonly method: CardMethod
  readonly clock: Clock
  /**
   * Called with each purchase that could not be looked at, and with null if the provider could not be asked
   * for what changed; the next pass tries again.
   */
  readonly onFailure: (source: string | null, cause: unknown) => void
}

/**
 * Looks once a minute, and after a call of `ring`, at open payments and at payments whose change the provider reports, so
 * that a payment is found without any message; once a day at those with an open dispute. Several gateways repeat the work,
 * which does no harm.
 */
export class CardPoll {
  readonly #input: CardPollInput
  readonly #passes: Passes
  /** Reports that a look has followed, with their positions. */
  readonly #followed = new Map<string, number>()
  /** The position that this process has stored last; null: none. */
  #storedPosition: number | null = null
  /** When each open or disputed purchase was last looked at. */
  readonly #lookedAtMs = new Map<string, number>()
  #isPassing = false
  #isRequested = false

  constructor(input: CardPollInput) {
    this.#input = input
    this.#passes = new Passes({
      intervalMs: POLL_MS,
      pass: () => this.#pass(),
      onFailure: (cause) => input.onFailure(null, cause),
    })
  }

  start(): void {
    this.#passes.start()
  }

  stop(): Promise<void> {
    return this.#passes.stop()
  }

  /** Begins a look soon: at once, or a second after the running one. */
  ring(): void {
    this.#isRequested = true
    if (!this.#isPassing) this.#passes.wake()
  }

  async #pass(): Promise<void> {
    this.#isPassing = true
    try {
      do {
        this.#isRequested = false
        await this.look()
        await this.#passes.wait(REST_MS)
      } while (this.#isRequested && !this.#passes.stopped)
    } finally {
      this.#isPassing = false
    }
  }

  /** Looks at all payments that changed, and at those that are open. Rejects if the provider can't list changes. */
  async look(): Promise<void> {
    try {
      await this.#followReports()
    } finally {
      await this.#lookAtOpen()
    }
  }

  async #followReports(): Promise<void> {
    const { db, method, clock } = this.#input
    const { name } = method.provider
    const cursor = await readCursor(db, name)
    // The store went back, as when a backup was restored: it may have lost the results of reports since then.
    if (Number(cursor?.position ?? 0) < (this.#storedPosition ?? 0)) this.#followed.clear()
    const lookedAtMs = clock.nowMs()
    const position = (await this.#followFrom(cursor)) ?? cursor?.position ?? '0'
    const to: SaleCursorRow = { source: name, position, blockHash: null, lookedAtMs }
    if (await moveCursor(db, { from: cursor, to })) this.#storedPosition = Number(position)
  }

  /** Returns the position up to which each report was followed; null: there was none. */
  async #followFrom(cursor: SaleCursorRow | null): Promise<string | null> {
    const { provider } = this.#input.method
    if (provider.changedSince === undefined) return null
    const from =
      cursor === null ? null : Math.max(0, Number(cursor.position) - REPORTS_LATE_SECONDS)
    let newest = Number(cursor?.position ?? 0)
    let oldestFailed = Number.POSITIVE_INFINITY
    for await (const change of provider.changedSince(from)) {
      if (this.#passes.stopped) return null
      if (this.#followed.has(change.id) || (await this.#follow(change))) {
        this.#followed.set(change.id, change.position)
        newest = Math.max(newest, change.position)
      } else {
        oldestFailed = Math.min(oldestFailed, change.position)
      }
    }
    const position = Math.min(newest, oldestFailed)
    for (const [reportId, at] of this.#followed) {
      if (at < position - REPORTS_LATE_SECONDS) this.#followed.delete(reportId)
    }
    return String(position)
  }

  /** Whether a change needs no further look. */
  async #follow({ of }: CardChange): Promise<boolean> {
    const { sale, method, onFailure } = this.#input
    const row = await this.#rowOf(of)
    const source = row?.source ?? ('source' in of ? of.source : null)
    // A payment of something else that the operator sells.
    if (source === null) return true
    try {
      if (row !== null) await sale.look(source)
      // The store began it and does not know it: a backup was restored.
      else if ('source' in of) await sale.postUnknown(method, of)
      return true
    } catch (cause) {
      onFailure(source, cause)
      // Another look would find the same.
      return (
        cause instanceof LookContradicted ||
        (cause instanceof PaymentUnavailable && cause.lasting !== null)
      )
    }
  }

  async #rowOf(of: CardChange['of']): Promise<PurchaseRow | null> {
    const { db } = this.#input
    return 'source' in of ? findPurchase(db, of.source) : findPurchaseOfPayment(db, of.paymentRef)
  }

  async #lookAtOpen(): Promise<void> {
    const { db, sale, method, clock, onFailure } = this.#input
    const waiting = [...(await listOpen(db)), ...(await listDisputed(db))]
    const open = waiting.filter(({ source }) => method.has(source))
    const sources = new Set(open.map(({ source }) => source))
    for (const source of this.#lookedAtMs.keys()) {
      if (!sources.has(source)) this.#lookedAtMs.delete(source)
    }
    for (const row of open) {
      if (this.#passes.stopped) return
      const nowMs = clock.nowMs()
      if (!this.#isDue(row, nowMs)) continue
      try {
        await sale.look(row.source)
        this.#lookedAtMs.set(row.source, nowMs)
      } catch (cause) {
        onFailure(row.source, cause)
      }
    }
  }

  #isDue({ source, state, expiresAtMs }: PurchaseRow, nowMs: number): boolean {
    const lookedAtMs = this.#lookedAtMs.get(source)
    if (lookedAtMs === undefined) return true
    // Also where the clock was set back.
    const agoMs = Math.abs(nowMs - lookedAtMs)
    const { lookIntervalMs } = this.#input.method.provider
    if (agoMs >= (state === 'open' ? lookIntervalMs : DISPUTED_LOOK_MS)) return true
    if (state !== 'open') return false
    return expiresAtMs !== null && lookedAtMs < expiresAtMs && nowMs >= expiresAtMs
  }
}
