import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import { BlockRange } from './block-range.ts'
import { agreementOf, askEach, type NodeAnswer, reachedByQuorum } from './chain/agreement.ts'
import type { ChainNode } from './chain/node.ts'
import {
  askBlock,
  askHead,
  askTransfers,
  type Block,
  type Head,
  type Transfer,
} from './chain/questions.ts'
import { RescanFailed, type Stablecoin } from './chain/terms.ts'
import { type ChainLook, replacedAt, unavailable, type Waiting } from './chain-look.ts'
import { moveCursor, readCursor } from './cursors.ts'
import {
  type ConfirmingDeposit,
  cursorOf,
  readDepositAddresses,
  replaceConfirming,
} from './deposit-rows.ts'
import { DepositScan, type DepositScanInput } from './deposit-scan.ts'
import { creditOfUnits } from './deposit-value.ts'
import { type RatesInput, readRates, refreshRates } from './token-rates.ts'
import { type WaitingToken, WaitingTokens } from './waiting-tokens.ts'

type Waits = ReadonlyMap<Stablecoin, WaitingToken>

/** The parts of a watch. */
export interface ChainWatchInput extends DepositScanInput, RatesInput {
  /** Called when the nightly scan has found deposits that the first one had not. */
  readonly onFoundLate: (deposits: number) => void
  /** Called with a number of deposits that are worth less than a cent, which get no credit. */
  readonly onDust: (deposits: number) => void
  /** The most blocks that are scanned at a time; default 2,000. */
  readonly blocksAtOnceMax?: number
}

/** The block that a scan of the chain has reached, as the store has it. */
interface Place {
  readonly source: string
  readonly block: number
  readonly hash: string
  readonly lookedAtMs: number
}

const BLOCKS_AT_ONCE_MAX = 2_000
// Rows that say when they were read are not written at every look that finds nothing else, but at once where the clock
// was set back.
const REWRITE_AFTER_MS = 30_000
/**
 * Follows a chain. Each look moves the cursor over final blocks that a quorum of nodes describes in the same way, after their
 * deposits are in the store. Several gateways repeat the work, harmlessly.
 */
export class ChainWatch {
  readonly #input: ChainWatchInput
  readonly #scan: DepositScan
  readonly #waits: WaitingTokens
  readonly #source: string
  readonly #range: BlockRange

  constructor(input: ChainWatchInput) {
    this.#input = input
    this.#scan = new DepositScan(input)
    this.#waits = new WaitingTokens(input, this.#scan)
    this.#source = cursorOf(input.chain.chainId)
    const { db, clock, blocksAtOnceMax: blocksMax = BLOCKS_AT_ONCE_MAX } = input
    this.#range = new BlockRange({ blocksMax, source: this.#source, db, clock })
  }

  /** One look. Rejects if the store fails, or the chain contradicts it. */
  async look(): Promise<ChainLook> {
    const { chain, db } = this.#input
    await this.#range.read()
    const place = await readPlace(db, this.#source)
    const [heads] = await Promise.all([this.#heads(place?.block ?? 0), refreshRates(this.#input)])
    if (heads.length < chain.quorum) {
      return unavailable(`too few nodes answer: ${heads.length} of the ${chain.quorum} needed`)
    }
    if (place === null) return this.#begin(heads)
    const there = heads.filter(({ answer }) => answer.hashAtCursor === place.hash)
    const elsewhere = heads.filter(
      ({ answer }) => answer.hashAtCursor !== null && answer.hashAtCursor !== place.hash,
    )
    if (elsewhere.length >= chain.quorum) {
      // Two quorums at once are a choice that no program makes.
      return there.length >= chain.quorum
        ? { kind: 'disagreed', reason: `block ${place.block}` }
        : replacedAt(place.block)
    }
    if (there.length < chain.quorum) return this.#lookBelow(place, heads)
    return this.#advance(place, there)
  }

  #heads(block: number): Promise<readonly NodeAnswer<Head>[]> {
    const { chain, nodes, onNodeFailure } = this.#input
    const { chainId, confirm } = chain
    const ask = (node: ChainNode) => askHead(node, { chainId, confirm, cursor: block })
    return askEach(nodes, ask, onNodeFailure)
  }

  /**
   * The reason why too few nodes have the block of the last look. If an earlier block has changed too, a shorter chain has
   * replaced the chain. By position: the place where the last look ended, and the nodes.
   */
  async #lookBelow(place: Place, heads: readonly NodeAnswer<Head>[]): Promise<ChainLook> {
    const again = await readPlace(this.#input.db, againOf(this.#source))
    const below = again === null || again.block >= place.block ? null : again
    const block = below && (await this.#agreedBlock(nodesOf(heads), below.block))
    if (block !== null && block.hash !== below?.hash) return replacedAt(block.number)
    const top = topOf(heads, this.#input.chain.quorum)
    const behind = `the newest final block is ${top}, below block ${place.block}, where the last look ended: the nodes are behind, or the chain was replaced by a shorter one`
    return unavailable(
      top < place.block
        ? behind
        : `too few nodes have block ${place.block}, where the last look ended`,
    )
  }

  /** The first look: deposits are searched in the blocks above the newest that is final. */
  async #begin(heads: readonly NodeAnswer<Head>[]): Promise<ChainLook> {
    const top = topOf(heads, this.#input.chain.quorum)
    if (top < 0) return unavailable('the chain has no block that is final')
    const block = await this.#agreedBlock(nodesOf(heads), top)
    if (block === null) return unavailable(`nodes do not agree on block ${top}`)
    await this.#move(null, { source: this.#source, block: top, hash: block.hash })
    return { kind: 'idle', to: top, added: 0, waiting: {} }
  }

  /**
   * Goes back, so that the next looks scan again from a block. It is also the way on after the chain has
   * replaced final blocks. Rejects with `RescanFailed` if nodes do not agree on the block before it, or if blocks would be left out.
   */
  async rewind(fromBlock: number): Promise<void> {
    const { chain, db } = this.#input
    const source = this.#source
    const place = await readPlace(db, source)
    if (place !== null && fromBlock > place.block + 1) {
      throw new RescanFailed(
        `blocks ${place.block + 1} to ${fromBlock - 1} would never be scanned: begin at ${place.block + 1} or below`,
      )
    }
    const last = Math.max(0, fromBlock - 1)
    const heads = await this.#heads(last)
    const block = await this.#agreedBlock(nodesOf(heads), last)
    if (block === null) {
      throw new RescanFailed(`nodes do not agree on block ${last}, or too few answer`)
    }
    const to = { source, block: last, hash: block.hash }
    if (!(await this.#moveOn(place, { to, coins: chain.tokens }))) {
      throw new RescanFailed('a running gateway has searched further meanwhile: try again')
    }
  }

  /** By position: the nodes to ask, and the block's number. Null: they do not agree. */
  async #agreedBlock(nodes: readonly ChainNode[], number: number): Promise<Block | null> {
    const { chain, onNodeFailure } = this.#input
    const answers = await askEach(nodes, (node) => askBlock(node, number), onNodeFailure)
    const agreement = agreementOf(answers, chain.quorum)
    return agreement.kind === 'agreed' ? agreement.answer : null
  }

  async #advance(place: Place, heads: readonly NodeAnswer<Head>[]): Promise<ChainLook> {
    const { chain } = this.#input
    const nodes = nodesOf(heads)
    const top = topOf(heads, chain.quorum)
    const caughtUp = await this.#waits.catchUp({
      nodes,
      to: { number: place.block, hash: place.hash },
      range: this.#range,
    })
    const { waits, added } = caughtUp
    if (caughtUp.dust > 0) this.#input.onDust(caughtUp.dust)
    if (top > place.block) return this.#scanTo({ nodes, place, top, waits, added })
    const nowMs = this.#input.clock.nowMs()
    if (Math.abs(nowMs - place.lookedAtMs) >= REWRITE_AFTER_MS) await this.#move(place, place)
    await this.#showConfirming(nodes, { above: place.block, waits })
    await this.#scanAgain(nodes, { place, waits })
    return { kind: 'idle', to: place.block, added, waiting: waitingOf(waits) }
  }

  /** Scans the next blocks, without the tokens that wait. */
  async #scanTo({
    nodes,
    place,
    top,
    waits,
    added,
  }: {
    readonly nodes: readonly ChainNode[]
    readonly place: Place
    readonly top: number
    readonly waits: Waits
    readonly added: number
  }): Promise<ChainLook> {
    const { chain, onDust } = this.#input
    const coins = chain.tokens.filter((coin) => !waits.has(coin))
    const range = this.#range
    const scanned = await this.#scan.scanAfter(place.block, { upTo: top, range, nodes, coins })
    switch (scanned.kind) {
      case 'tooFew':
        return unavailable(`too few nodes answer: ${scanned.reason}`)
      case 'disagreed':
        return { kind: 'disagreed', reason: scanned.reason }
      case 'unpriced': {
        const { reasons } = scanned
        await this.#waits.add([...reasons.keys()], { number: place.block, hash: place.hash })
        const all = new Map(waits)
        for (const [coin, reason] of reasons) {
          all.set(coin, { kind: 'noRate', block: place.block, reason })
        }
        // Their dust is counted once they have a rate.
        return this.#scanTo({ nodes, place, top, waits: all, added: added + scanned.added })
      }
      case 'scanned':
        break
      default:
        return assertNever(scanned)
    }
    if (scanned.dust > 0) onDust(scanned.dust)
    const { number: to, hash } = scanned.last
    const moved: Place = { ...place, block: to, hash }
    // If another gateway has moved it, the blocks were scanned twice.
    await this.#moveOn(place, { to: moved, coins })
    if (to === top) {
      await this.#showConfirming(nodes, { above: to, waits })
      await this.#scanAgain(nodes, { place: moved, waits })
    }
    const waiting = waitingOf(waits)
    return { kind: 'advanced', to, top, added: added + scanned.added, waiting }
  }

  /** By position: where the place was read, null for none, and where it is now. */
  #move(
    from: Place | null,
    to: Omit<Place, 'lookedAtMs'>,
    db: Kysely<Tables> = this.#input.db,
  ): Promise<boolean> {
    const { clock } = this.#input
    return moveCursor(db, {
      from: from === null ? null : rowOf(from),
      to: rowOf({ ...to, lookedAtMs: clock.nowMs() }),
    })
  }

  /** Like `#move`; tokens that waited at the block are scanned with the others from now on, in one transaction. */
  #moveOn(
    from: Place | null,
    {
      to,
      coins,
    }: { readonly to: Omit<Place, 'lookedAtMs'>; readonly coins: readonly Stablecoin[] },
  ): Promise<boolean> {
    return this.#input.db.transaction().execute(async (transaction) => {
      if (!(await this.#move(from, to, transaction))) return false
      // Going back ends no waiting: a running look may leave out a token that waits.
      const isAhead = from !== null && to.block > from.block
      if (isAhead) await this.#waits.remove(transaction, { coins, block: from.block })
      else await this.#waits.lower(transaction, { number: to.block, hash: to.hash })
      return true
    })
  }

  /**
   * Once a day, scans the blocks since the last time again: a node may have listed a transfer late. While a token waits,
   * it does nothing: the one cursor is of all tokens, and would pass blocks of the one that waits.
   */
  async #scanAgain(
    nodes: readonly ChainNode[],
    { place, waits }: { readonly place: Place; readonly waits: Waits },
  ): Promise<void> {
    const { chain, db, clock, onFoundLate } = this.#input
    const source = againOf(this.#source)
    let again = await readPlace(db, source)
    if (again === null) {
      await this.#move(null, { ...place, source })
      return
    }
    // A clock that was far ahead, and is set back, puts no night off.
    if (waits.size > 0 || Math.abs(clock.nowMs() - again.lookedAtMs) < DAY_MS) return
    let found = 0
    while (again.block < place.block) {
      const scanned = await this.#scan.scanAfter(again.block, {
        upTo: place.block,
        range: this.#range,
        nodes,
        coins: chain.tokens,
      })
      if ('added' in scanned) found += scanned.added
      if (scanned.kind !== 'scanned') break
      const { number: to } = scanned.last
      const isDone = to === place.block
      const lookedAtMs = isDone ? clock.nowMs() : again.lookedAtMs
      const next: Place = { source, block: to, hash: scanned.last.hash, lookedAtMs }
      if (!(await moveCursor(db, { from: rowOf(again), to: rowOf(next) }))) break
      again = next
    }
    if (found > 0) onFoundLate(found)
  }

  /** Shows deposits on their way, as one node reports them: they are worth nothing until they are final. */
  async #showConfirming(
    [node]: readonly ChainNode[],
    { above, waits }: { readonly above: number; readonly waits: Waits },
  ): Promise<void> {
    const { chain, db, clock, terms, onNodeFailure } = this.#input
    const { chainId } = chain
    const accountOf = await readDepositAddresses(db, chainId)
    if (node === undefined || accountOf.size === 0) return
    const tokens = new Map(chain.tokens.map((coin) => [coin.address, coin]))
    const addresses = new Set(accountOf.keys())
    try {
      const { number: newest } = await askBlock(node, 'latest')
      const all = { after: above, to: newest, coins: chain.tokens }
      // Deposits of waiting tokens are final, and have no credit yet.
      const behind = [...waits].map(([coin, { block }]) => ({
        after: block,
        to: above,
        coins: [coin],
      }))
      const transfers: Transfer[] = []
      for (const { after, to: last, coins } of [all, ...behind]) {
        const to = Math.min(last, after + this.#range.blocks)
        const search = { from: after + 1, to, tokens: addressesOf(coins), addresses }
        if (to > after) transfers.push(...(await askTransfers(node, search)).transfers)
      }
      const rates = await readRates(db, chainId)
      const rows = transfers.flatMap((transfer): ConfirmingDeposit[] => {
        const { txHash, logIndex, block, units } = transfer
        const [coin, accountId] = [tokens.get(transfer.token), accountOf.get(transfer.to)]
        const rate8 = rates.get(transfer.token)?.rate8 ?? 0
        if (coin === undefined || accountId === undefined || rate8 <= 0) return []
        const { method, symbol: currency, decimals } = coin
        const creditMicros = creditOfUnits(units, {
          decimals,
          rate8: BigInt(rate8),
          feeBps: terms.feeBps,
        })
        if (creditMicros === null) return []
        const named = { chainId, txHash, logIndex, accountId, method, block, currency, units }
        return [{ ...named, creditMicros, seenAtMs: clock.nowMs() }]
      })
      await replaceConfirming(db, { chainId, rows })
    } catch (cause) {
      onNodeFailure(node, cause)
    }
  }
}

/** The cursor of the nightly scan. */
function againOf(source: string): string {
  return `${source}:again`
}

/** By position: the store, and the source. Null if it was never scanned. */
async function readPlace(db: Kysely<Tables>, source: string): Promise<Place | null> {
  const row = await readCursor(db, source)
  if (row === null) return null
  const { position, blockHash, lookedAtMs } = row
  return { source, block: Number(position), hash: blockHash ?? '', lookedAtMs }
}

function rowOf({ source, block, hash, lookedAtMs }: Place) {
  return { source, position: String(block), blockHash: hash, lookedAtMs }
}

function topOf(heads: readonly NodeAnswer<Head>[], quorum: number): number {
  return (
    reachedByQuorum(
      heads.map(({ answer }) => answer.top),
      quorum,
    ) ?? -1
  )
}

function addressesOf(coins: readonly Stablecoin[]): ReadonlySet<string> {
  return new Set(coins.map(({ address }) => address))
}

function waitingOf(waits: Waits): Waiting {
  return Object.fromEntries(
    [...waits].map(([{ symbol }, { kind, reason }]) => [symbol, { kind, reason }]),
  )
}

function nodesOf(heads: readonly NodeAnswer<Head>[]): readonly ChainNode[] {
  return heads.map(({ node }) => node)
}
