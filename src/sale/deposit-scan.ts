import type { Kysely } from 'kysely'
import { findPurchase, listDepositsOf } from '../ledger/purchases.ts'
import type { PostPurchaseInput, PurchaseVerdict } from '../ledger/rules/post-purchase.ts'
import type { PurchaseRow } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { ONE_DOLLAR_8 } from '../vocabulary/purchase.ts'
import { slicesOf } from '../vocabulary/slices.ts'
import type { BlockRange } from './block-range.ts'
import { agreementOf, askEach } from './chain/agreement.ts'
import type { ChainNode } from './chain/node.ts'
import { askPlaces, askTransfers, type Block, type Transfer } from './chain/questions.ts'
import { type ChainTerms, type Stablecoin, sourceOfDeposit } from './chain/terms.ts'
import type { HandedOut } from './deposit-rows.ts'
import {
  creditOfUnits,
  type DepositTerms,
  type TokenRate,
  usableRate,
  valueDeposit,
} from './deposit-value.ts'
import { readRates } from './token-rates.ts'

/** The parts of the gateway that a scan of blocks needs. */
export interface DepositScanInput {
  readonly chain: ChainTerms
  readonly terms: DepositTerms
  readonly handedOut: HandedOut
  readonly db: Kysely<Tables>
  /** Posts the deposits that were found. A deposit above a ceiling is held. */
  readonly post: (input: PostPurchaseInput) => Promise<PurchaseVerdict>
  readonly ids: IdSource
  readonly clock: Clock
  /** Called with each node that did not answer, or answered something impossible. */
  readonly onNodeFailure: (node: ChainNode, cause: unknown) => void
  /** Called with a purchase whose deposit the chain has with another account or amount now. The transfer gets no credit. */
  readonly onContradicted: (purchaseId: string) => void
}

/** The result of a scan. Only after `scanned` is every deposit of the blocks in the store. */
export type Scanned =
  | {
      readonly kind: 'scanned'
      readonly last: Block
      /** How many deposits the scan has added to the store. */
      readonly added: number
      /** Deposits that are worth less than a cent. */
      readonly dust: number
    }
  | { readonly kind: 'disagreed' | 'tooFew'; readonly reason: string }
  /** Tokens have a deposit and no usable rate. The deposits of others are in the store, and `added` counts them. */
  | {
      readonly kind: 'unpriced'
      /** Why the rate of each of these tokens is unusable. */
      readonly reasons: ReadonlyMap<Stablecoin, string>
      readonly added: number
    }

/** A deposit that nodes agree on. */
interface Deposit {
  readonly transfer: Transfer
  readonly source: string
  readonly accountId: string
  readonly coin: Stablecoin
}

const TRANSFERS_AT_ONCE = 100

/** Finds the deposits in final blocks, and posts each as a purchase. A repeated scan changes nothing. */
export class DepositScan {
  readonly #input: DepositScanInput
  readonly #tokens: ReadonlyMap<string, Stablecoin>

  constructor(input: DepositScanInput) {
    this.#input = input
    this.#tokens = new Map(input.chain.tokens.map((coin) => [coin.address, coin]))
  }

  /** Scans blocks, which the caller knows to be final, as far as a quorum of these nodes says the same. */
  async scan({
    nodes,
    from,
    to,
    coins,
  }: {
    readonly nodes: readonly ChainNode[]
    readonly from: number
    readonly to: number
    /** The tokens whose deposits are searched. */
    readonly coins: readonly Stablecoin[]
  }): Promise<Scanned> {
    const { chain, db, clock, handedOut, onNodeFailure } = this.#input
    const { chainId } = chain
    // Read after the blocks were final: an address that is handed out later can't have been paid in them.
    const accountOf = await handedOut.readAddresses(db, { chainId, nowMs: clock.nowMs() })
    const search = {
      from,
      to,
      tokens: new Set(coins.map(({ address }) => address)),
      addresses: new Set(accountOf.keys()),
    }
    const lists = await askEach(nodes, (node) => askTransfers(node, search), onNodeFailure)
    const agreement = agreementOf(lists, chain.quorum)
    if (agreement.kind !== 'agreed') {
      return { kind: agreement.kind, reason: `the transfers of blocks ${from} to ${to}` }
    }
    const { last, transfers } = agreement.answer
    // Any sender can log transfers of nothing or next to nothing: they are dust at any rate, and cost no receipt.
    const aboveDust = transfers.filter((transfer) => this.#isAboveDust(transfer))
    const places = await this.#placesOf(agreement.nodes, aboveDust)
    if (places === null) {
      return { kind: 'disagreed', reason: `the receipts of blocks ${from} to ${to}` }
    }
    const deposits = aboveDust.flatMap((transfer, index): Deposit[] => {
      const [place, accountId] = [places[index], accountOf.get(transfer.to)]
      const coin = this.#tokens.get(transfer.token)
      if (place === undefined || accountId === undefined || coin === undefined) return []
      return [
        { transfer, source: sourceOfDeposit({ ...chain, ...transfer, place }), accountId, coin },
      ]
    })
    const dust = transfers.filter(({ units }) => units > 0n).length - aboveDust.length
    return this.#postAll(deposits, { last, dust })
  }

  /** Scans the blocks between two, without the first, or as many of them as nodes answer at a time. */
  scanAfter(
    after: number,
    {
      upTo,
      range,
      ...searched
    }: {
      readonly upTo: number
      readonly range: BlockRange
      readonly nodes: readonly ChainNode[]
      readonly coins: readonly Stablecoin[]
    },
  ): Promise<Scanned> {
    return range.fit({
      blocks: upTo - after,
      ask: (blocks) => this.scan({ ...searched, from: after + 1, to: after + blocks }),
      isRefused: ({ kind }) => kind === 'tooFew',
    })
  }

  #isAboveDust({ token, units }: Transfer): boolean {
    const coin = this.#tokens.get(token)
    if (coin === undefined) return false
    const parTerms = { decimals: coin.decimals, rate8: ONE_DOLLAR_8, feeBps: 0 }
    return creditOfUnits(units, parTerms) !== null
  }

  /** The place of each transfer within its transaction; null if not all of these nodes have it there. */
  async #placesOf(
    nodes: readonly ChainNode[],
    transfers: readonly Transfer[],
  ): Promise<readonly number[] | null> {
    const found: number[] = []
    for (const some of slicesOf(transfers, TRANSFERS_AT_ONCE)) {
      const places = await this.#placesOfSome(nodes, some)
      if (places === null) return null
      found.push(...places)
    }
    return found
  }

  /** Receipts may be large: where nodes fail to answer some together, they are asked for fewer at a time. */
  async #placesOfSome(
    nodes: readonly ChainNode[],
    transfers: readonly Transfer[],
  ): Promise<readonly number[] | null> {
    const ask = (node: ChainNode) => askPlaces(node, transfers)
    const answers = await askEach(nodes, ask, this.#input.onNodeFailure)
    const agreement = agreementOf(answers, nodes.length)
    if (agreement.kind === 'agreed') {
      const places = agreement.answer.flatMap((place) => (place === null ? [] : [place]))
      return places.length === transfers.length ? places : null
    }
    if (agreement.kind === 'disagreed' || transfers.length === 1) return null
    const half = Math.ceil(transfers.length / 2)
    const first = await this.#placesOfSome(nodes, transfers.slice(0, half))
    if (first === null) return null
    const rest = await this.#placesOfSome(nodes, transfers.slice(half))
    return rest && [...first, ...rest]
  }

  async #postAll(
    deposits: readonly Deposit[],
    { last, dust: dustAtPar }: { readonly last: Block; readonly dust: number },
  ): Promise<Scanned> {
    const { chain, db, onContradicted } = this.#input
    let added = 0
    let dust = dustAtPar
    const unpriced = new Map<Stablecoin, string>()
    if (deposits.length === 0) return { kind: 'scanned', last, added, dust }
    const rates = await readRates(db, chain.chainId)
    const now = new Set(deposits.map((deposit) => nameOf(deposit, deposit.transfer.units)))
    for (const deposit of deposits) {
      const posted = (await this.#postedBefore(deposit, now)) ?? (await this.#post(deposit, rates))
      switch (posted.kind) {
        case 'unpriced':
          unpriced.set(deposit.coin, posted.reason)
          break
        case 'dust':
          dust++
          break
        case 'known':
          break
        case 'contradicted':
          onContradicted(posted.purchaseId)
          break
        case 'added':
          added++
          break
        default:
          return assertNever(posted)
      }
    }
    // Deposits that are left out would be lost: these tokens are scanned again once they have a rate.
    if (unpriced.size > 0) return { kind: 'unpriced', reasons: unpriced, added }
    return { kind: 'scanned', last, added, dust }
  }

  /**
   * A deposit that has a purchase, by its source or, if a final block was replaced and its transaction was mined again
   * with its logs in other places, by its account and amount. Null: it has none. By position: a deposit, and what the
   * blocks have now; a deposit that was moved is added, so that it counts once.
   */
  async #postedBefore(
    { transfer, source, accountId, coin }: Deposit,
    now: Set<string>,
  ): Promise<
    | { readonly kind: 'known' }
    | { readonly kind: 'contradicted'; readonly purchaseId: string }
    | null
  > {
    const { db } = this.#input
    const isSame = (row: PurchaseRow) =>
      row.accountId === accountId && row.paid?.paidUnits === transfer.units
    const earlier = await findPurchase(db, source)
    if (earlier !== null && isSame(earlier)) return { kind: 'known' }
    const beside = await listDepositsOf(db, { accountId, source })
    const moved = beside.find(
      (row) => isSame(row) && row.method === coin.method && !now.has(nameOf(row, transfer.units)),
    )
    if (moved !== undefined) {
      now.add(nameOf(moved, transfer.units))
      return { kind: 'known' }
    }
    return earlier && { kind: 'contradicted', purchaseId: earlier.id }
  }

  /** By position: a deposit, and the rates by the address of the token. */
  async #post(
    { transfer, source, accountId, coin }: Deposit,
    rates: ReadonlyMap<string, TokenRate>,
  ): Promise<
    | { readonly kind: 'added' | 'known' | 'dust' }
    | { readonly kind: 'unpriced'; readonly reason: string }
  > {
    const { terms, post, ids, clock } = this.#input
    const { units } = transfer
    const usable = usableRate(rates.get(coin.address) ?? null, {
      nowMs: clock.nowMs(),
      price: coin.price,
    })
    if (usable.kind === 'unusable') return { kind: 'unpriced', reason: usable.reason }
    const { decimals } = coin
    const valued = valueDeposit({ units, decimals, rate: usable, terms })
    if (valued === null) return { kind: 'dust' }
    const { creditMicros, judgment } = valued
    const verdict = await post({
      id: ids.next('pur'),
      accountId,
      method: coin.method,
      source,
      creditMicros,
      priceUnits: null,
      seenReversals: 0,
      fact: {
        kind: 'paid',
        paid: { currency: coin.symbol, units },
        reversedUnits: 0n,
        paymentRef: null,
        dispute: null,
        judgment,
      },
      approved: false,
    })
    switch (verdict.kind) {
      case 'posted':
        return { kind: 'added' }
      case 'unchanged':
        return { kind: 'known' }
      case 'stale':
      case 'conflict':
      case 'unknownAccount':
      case 'tooMany':
        throw new Error(`the deposit ${source} was not posted: ${verdict.kind}`)
      default:
        return assertNever(verdict)
    }
  }
}

/** By position: a deposit or its purchase, and its units. */
function nameOf(
  { source, accountId }: Pick<PurchaseRow, 'source' | 'accountId'>,
  units: bigint,
): string {
  return `${source} ${accountId} ${units}`
}
