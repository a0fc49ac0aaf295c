import { type Kysely, sql } from 'kysely'
import { SALE_CURSORS, type SaleCursorRow } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import type { BlockRange } from './block-range.ts'
import type { ChainNode } from './chain/node.ts'
import type { Block } from './chain/questions.ts'
import type { Stablecoin } from './chain/terms.ts'
import type { WaitReason } from './chain-look.ts'
import { moveCursor } from './cursors.ts'
import { waitingCursorOf } from './deposit-rows.ts'
import type { DepositScan, DepositScanInput, Scanned } from './deposit-scan.ts'
import { usableRate } from './deposit-value.ts'
import { readRates } from './token-rates.ts'

const CATCHING_UP: WaitReason = { kind: 'catchingUp', reason: 'it is being scanned' }

/** A token that was not scanned as far as the others of its chain. */
export interface WaitingToken extends WaitReason {
  /** The last block in which it was scanned. */
  readonly block: number
}

/** How far tokens are scanned that wait, and by which nodes. */
interface ScanTo {
  readonly nodes: readonly ChainNode[]
  readonly to: Block
  readonly range: BlockRange
}

/**
 * Tokens that have a deposit and no rate. Each has a cursor of its own from there on, so that the other tokens of
 * its chain do not wait, and is scanned from that cursor once it has a rate.
 */
export class WaitingTokens {
  readonly #input: DepositScanInput
  readonly #scan: DepositScan

  constructor(input: DepositScanInput, scan: DepositScan) {
    this.#input = input
    this.#scan = scan
  }

  /** Lets tokens wait at the block that all were scanned to. One that waits already waits at the lower block. */
  async add(coins: readonly Stablecoin[], block: Block): Promise<void> {
    const { db, chain, clock } = this.#input
    for (const { method } of coins) {
      const source = waitingCursorOf(chain.chainId, method)
      const lookedAtMs = clock.nowMs()
      const to = { source, position: String(block.number), blockHash: block.hash, lookedAtMs }
      await moveCursor(db, { from: null, to })
    }
    await this.lower(db, block)
  }

  /** Lets tokens that wait above a block wait at it: the chain is scanned again from there. */
  async lower(db: Kysely<Tables>, { number, hash }: Block): Promise<void> {
    const { chain, clock } = this.#input
    const sources = chain.tokens.map(({ method }) => waitingCursorOf(chain.chainId, method))
    await db
      .updateTable('sale_cursors')
      .set({ position: String(number), block_hash: hash, looked_at_ms: clock.nowMs() })
      .where('source', 'in', sources)
      .where(sql<boolean>`cast(position as bigint) > ${number}`)
      .execute()
  }

  /** Ends the waiting of tokens that were scanned up to a block, or further. */
  async remove(
    db: Kysely<Tables>,
    { coins, block }: { readonly coins: readonly Stablecoin[]; readonly block: number },
  ): Promise<void> {
    const { chain } = this.#input
    for (const { method } of coins) {
      await db
        .deleteFrom('sale_cursors')
        .where('source', '=', waitingCursorOf(chain.chainId, method))
        .where(sql<boolean>`cast(position as bigint) >= ${block}`)
        .execute()
    }
  }

  /**
   * Scans the next blocks of the tokens that wait and have a rate now, at most to the block that the others were scanned
   * to. The others do not wait until a token is there: the next looks continue with it.
   */
  async catchUp(scan: ScanTo): Promise<{
    /** Tokens that still wait. Any other has been scanned as far as the rest. */
    readonly waits: ReadonlyMap<Stablecoin, WaitingToken>
    /** How many deposits were added to the store. */
    readonly added: number
    /** How many deposits were worth less than a cent. */
    readonly dust: number
  }> {
    const { db, chain, clock } = this.#input
    const rows = await this.#rows(scan.to)
    const waits = new Map<Stablecoin, WaitingToken>()
    let added = 0
    let dust = 0
    const rates = rows.size === 0 ? new Map() : await readRates(db, chain.chainId)
    for (const coin of chain.tokens) {
      const row = rows.get(coin.method)
      if (row === undefined) continue
      const { price } = coin
      const usable = usableRate(rates.get(coin.address) ?? null, { nowMs: clock.nowMs(), price })
      if (usable.kind === 'unusable') {
        waits.set(coin, { kind: 'noRate', reason: usable.reason, block: Number(row.position) })
        continue
      }
      const scanned = await this.#scanOn(row, { ...scan, coin })
      added += scanned.added
      dust += scanned.dust
      if (scanned.wait !== null) waits.set(coin, scanned.wait)
    }
    return { waits, added, dust }
  }

  /** Scans the next blocks of one token, from its cursor on. */
  async #scanOn(
    row: SaleCursorRow,
    { coin, nodes, to, range }: ScanTo & { readonly coin: Stablecoin },
  ): Promise<{
    /** Null: it has been scanned as far as the others. */
    readonly wait: WaitingToken | null
    readonly added: number
    readonly dust: number
  }> {
    const { db, clock } = this.#input
    const block = Number(row.position)
    if (block >= to.number) return { wait: null, added: 0, dust: 0 }
    const part = { upTo: to.number, range, nodes, coins: [coin] }
    const scanned = await this.#scan.scanAfter(block, part)
    const added = 'added' in scanned ? scanned.added : 0
    if (scanned.kind !== 'scanned') {
      return { wait: { ...waitReasonOf(scanned, coin), block }, added, dust: 0 }
    }
    const { dust, last } = scanned
    const lookedAtMs = clock.nowMs()
    const next = { ...row, position: String(last.number), blockHash: last.hash, lookedAtMs }
    const hasMoved = await moveCursor(db, { from: row, to: next })
    if (hasMoved && last.number >= to.number) return { wait: null, added, dust }
    // If another gateway has moved it, the next look sees how far.
    return { wait: { ...CATCHING_UP, block: hasMoved ? last.number : block }, added, dust }
  }

  /** The cursors of tokens that wait, by their methods. */
  async #rows(to: Block): Promise<Map<string, SaleCursorRow>> {
    const { db, chain } = this.#input
    const methods = chain.tokens.map(({ method }) => method)
    const sources = methods.map((method) => waitingCursorOf(chain.chainId, method))
    const rows = await db
      .selectFrom('sale_cursors')
      .selectAll()
      .where('source', 'in', sources)
      .execute()
    // Another gateway may have let one wait while a rescan went back.
    if (rows.some(({ position }) => Number(position) > to.number)) {
      await this.lower(db, to)
      return this.#rows(to)
    }
    const bySource = new Map(rows.map((row) => [row.source, SALE_CURSORS.read(row)]))
    return new Map(
      methods.flatMap((method, index) => {
        const row = bySource.get(sources[index] ?? '')
        return row === undefined ? [] : [[method, row] as const]
      }),
    )
  }
}

/** Why a scan of a token has not come further. */
function waitReasonOf(
  scanned: Exclude<Scanned, { kind: 'scanned' }>,
  coin: Stablecoin,
): WaitReason {
  switch (scanned.kind) {
    case 'tooFew':
      return { kind: 'nodes', reason: `too few nodes answer: ${scanned.reason}` }
    case 'disagreed':
      return { kind: 'nodes', reason: `nodes disagree: ${scanned.reason}` }
    case 'unpriced':
      return { kind: 'noRate', reason: scanned.reasons.get(coin) ?? 'it has no rate' }
    default:
      return assertNever(scanned)
  }
}
