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
  async catchUp({
    nodes,
    to,
    range,
  }: {
    readonly nodes: readonly ChainNode[]
    readonly to: Block
    readonly range: BlockRange
  }): Promise<{
    /** Tokens that still wait. Any other has been scanned as far as the rest. */
    readonly waits: ReadonlyMap<Stablecoin, WaitingToken>
    /** How many deposits were added to the store. */
    readonly added: number
    /** How many deposits were worth less than a cent. */
    readonly dust: number
  }> {
    const { db, chain, clock } = this.#input
    const rows = await this.#rows(to)
    const waits = new Map<Stablecoin, WaitingToken>()
    let added = 0
    let dust = 0
    const rates = rows.size === 0 ? new Map() : await readRates(db, chain.chainId)
    for (const coin of chain.tokens) {
      let row = rows.get(coin.method)
      if (row === undefined) continue
      const { price } = coin
      const usable = usableRate(rates.get(coin.address) ?? null, { nowMs: clock.nowMs(), price })
      let why: WaitReason | null =
        usable.kind === 'unusable' ? { kind: 'noRate', reason: usable.reason } : null
      if (why === null && Number(row.position) < to.number) {
        const block = Number(row.position)
        const part = { nodes, from: block + 1, coins: [coin] }
        const scanned = await range.fit({
          blocks: to.number - block,
          ask: (blocks) => this.#scan.scan({ ...part, to: block + blocks }),
          isRefused: ({ kind }) => kind === 'tooFew',
        })
        if ('added' in scanned) added += scanned.added
        if (scanned.kind === 'scanned') {
          dust += scanned.dust
          const { number, hash: blockHash } = scanned.last
          const next = { ...row, position: String(number), blockHash, lookedAtMs: clock.nowMs() }
          const hasMoved = await moveCursor(db, { from: row, to: next })
          if (hasMoved) row = next
          // If another gateway has moved it, the next look sees how far.
          if (!hasMoved || number < to.number) why = CATCHING_UP
        } else {
          why = waitReasonOf(scanned, coin)
        }
      }
      if (why !== null) waits.set(coin, { ...why, block: Number(row.position) })
    }
    return { waits, added, dust }
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
