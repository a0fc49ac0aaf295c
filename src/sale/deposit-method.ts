import { isDeepStrictEqual } from 'node:util'
import type { Kysely } from 'kysely'
import { listDepositsOf } from '../ledger/purchases.ts'
import type { PurchaseRow } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import { type Clock, MINUTE_MS } from '../vocabulary/clock.ts'
import type { Micros } from '../vocabulary/money.ts'
import type { PaymentJudgment, PurchaseFact } from '../vocabulary/purchase.ts'
import { PaymentUnavailable } from './card/provider.ts'
import { checksummed } from './chain/addresses.ts'
import { agreementOf, askEach } from './chain/agreement.ts'
import { askBalances } from './chain/feed.ts'
import type { ChainNode } from './chain/node.ts'
import { askTransfersIn, type PlacedTransfer, type Transfer } from './chain/questions.ts'
import { type ChainTerms, depositOfSource, type Stablecoin } from './chain/terms.ts'
import { readCursor } from './cursors.ts'
import {
  addDepositAddresses,
  cursorOf,
  type HandedOut,
  readAddressesOf,
  waitingCursorOf,
} from './deposit-rows.ts'
import { type DepositTerms, usableRate } from './deposit-value.ts'
import type { DepositMethod, DepositTermsNow } from './method.ts'
import { readRates } from './token-rates.ts'

interface TokenDepositsInput {
  readonly chain: ChainTerms
  readonly coin: Stablecoin
  readonly terms: DepositTerms
  readonly nodes: readonly ChainNode[]
  readonly handedOut: HandedOut
  readonly db: Kysely<Tables>
  readonly clock: Clock
  /** Called with each node that did not answer, or answered something impossible. */
  readonly onNodeFailure: (node: ChainNode, cause: unknown) => void
  /** The address of an account, with its checksum. */
  readonly addressOf: (accountId: string) => string
}

const UNCHECKED =
  'Add it to CHAIN_TOKENS again; or add the credit with `tollgate credit add`, and dismiss the purchase if it is on hold.'

const LOOK_STALE_AFTER_MS = 2 * MINUTE_MS

/** Deposits of one token. Clients' questions are answered from rows that the watch keeps. */
export class TokenDeposits implements DepositMethod {
  readonly kind = 'deposit'
  readonly id: string
  readonly minimumMicros: Micros
  readonly feeBps: number
  readonly chainId: number
  readonly token: DepositMethod['token']
  readonly confirm: string
  readonly #input: TokenDepositsInput

  constructor(input: TokenDepositsInput) {
    const { chain, coin, terms } = input
    this.id = coin.method
    this.minimumMicros = terms.minimumMicros
    this.feeBps = terms.feeBps
    this.chainId = chain.chainId
    this.token = { ...coin, address: checksummed(coin.address) }
    this.confirm = String(chain.confirm)
    this.#input = input
  }

  /** Whether its chain has the payment of a source. */
  has(source: string): boolean {
    return depositOfSource(source)?.chainId === this.chainId
  }

  /**
   * Asks the nodes for a deposit again: an admin decides on its present state. Rejects with `PaymentUnavailable`, for
   * good if its token is no longer accepted.
   */
  async look(row: PurchaseRow): Promise<PurchaseFact> {
    const { chain, db } = this.#input
    const transfer = await this.#find(row)
    const cursor = await readCursor(db, cursorOf(chain.chainId))
    if (transfer === null || row.paid === null) return { kind: 'expired' }
    if (transfer.block > Number(cursor?.position ?? -1)) return { kind: 'expired' }
    const { paidCurrency: currency, paidUnits } = row.paid
    const judgment: PaymentJudgment =
      transfer.units === paidUnits
        ? { kind: 'credit' }
        : { kind: 'hold', reason: 'its transaction has another amount now', worthMicros: null }
    return {
      kind: 'paid',
      paid: { currency, units: transfer.units },
      reversedUnits: 0n,
      paymentRef: null,
      dispute: null,
      judgment,
    }
  }

  /** The transfer of a deposit. Null: the nodes agree that it is not there. */
  async #find(row: PurchaseRow): Promise<Transfer | null> {
    const { chain, nodes, db, onNodeFailure } = this.#input
    const { source, accountId, paid } = row
    const deposit = depositOfSource(source)
    const coin = chain.tokens.find(({ symbol }) => symbol === paid?.paidCurrency)
    if (deposit === null) return null
    if (coin === undefined) {
      const symbol = paid?.paidCurrency
      throw new PaymentUnavailable(`${symbol} is not accepted now`, {
        lasting: `${symbol} is no longer accepted, so its deposits can't be checked on the chain. ${UNCHECKED}`,
      })
    }
    const addresses = await readAddressesOf(db, { ...chain, accountId })
    const asked = { txHash: deposit.txHash, token: coin.address, addresses }
    const answers = await askEach(nodes, (node) => askTransfersIn(node, asked), onNodeFailure)
    const agreement = agreementOf(answers, chain.quorum)
    if (agreement.kind === 'agreed') {
      return transferOf(row, { found: agreement.answer, beside: await listDepositsOf(db, row) })
    }
    throw new PaymentUnavailable(`the nodes of the chain do not agree on ${source}`)
  }

  async balances(addresses: readonly string[]): Promise<readonly bigint[]> {
    const { chain, coin, nodes, db, onNodeFailure } = this.#input
    const { chainId, quorum } = chain
    const cursor =
      (await readCursor(db, waitingCursorOf(chainId, coin.method))) ??
      (await readCursor(db, cursorOf(chainId)))
    if (cursor === null) throw new PaymentUnavailable('the chain was not searched yet')
    const block = Number(cursor.position)
    const asked = { token: coin.address, addresses, block }
    const answers = await askEach(nodes, (node) => askBalances(node, asked), onNodeFailure)
    const agreement = agreementOf(answers, quorum)
    if (agreement.kind === 'agreed') return agreement.answer
    throw new PaymentUnavailable(
      `the nodes do not agree on balances in block ${block}, or have forgotten them`,
    )
  }

  /** How deposits become credit now. Asks no node. */
  async terms(): Promise<DepositTermsNow> {
    const { chain, coin, terms, db, clock } = this.#input
    const nowMs = clock.nowMs()
    const cursor = await readCursor(db, cursorOf(chain.chainId))
    // A look of later than now is from before the clock was set back.
    if (cursor === null || Math.abs(nowMs - cursor.lookedAtMs) > LOOK_STALE_AFTER_MS) {
      return { kind: 'chain_unavailable' }
    }
    const rates = await readRates(db, chain.chainId)
    const usable = usableRate(rates.get(coin.address) ?? null, { nowMs, price: coin.price })
    if (usable.kind === 'unusable' || usable.isBelowFloor) return { kind: 'quote_unavailable' }
    const { decimals } = coin
    return {
      kind: 'known',
      terms: { decimals, rate8: usable.rate8, feeBps: terms.feeBps },
      asOfMs: usable.readAtMs,
    }
  }

  addressOf(accountId: string): string {
    return this.#input.addressOf(accountId)
  }

  /** The address of an account, once the watch will find deposits there. */
  async depositAddress(accountId: string): Promise<{ address: string; uri: string }> {
    const { chain, db, clock, addressOf, handedOut } = this.#input
    const address = addressOf(accountId)
    const { chainId } = chain
    const createdAtMs = clock.nowMs()
    const row = { chainId, address: address.toLowerCase(), accountId, createdAtMs }
    await addDepositAddresses(db, [row])
    handedOut.note(row)
    // EIP-681.
    const uri = `ethereum:${this.token.address}@${chainId}/transfer?address=${address}`
    return { address, uri }
  }
}

/**
 * The transfer of a deposit: at its place, or, if a final block was replaced and its transaction was mined again with its
 * logs in other places, at one that no other deposit of the same amount has. Otherwise the one at its place, of another
 * amount; null: there is none.
 */
function transferOf(
  row: PurchaseRow,
  {
    found,
    beside,
  }: { readonly found: readonly PlacedTransfer[]; readonly beside: readonly PurchaseRow[] },
): Transfer | null {
  const { paid } = row
  const same = found.filter(({ transfer }) => transfer.units === paid?.paidUnits)
  const ofAmount = beside.filter((each) => isDeepStrictEqual(each.paid, paid))
  const isAt = (each: PurchaseRow) => same.some(({ place }) => place === placeOf(each))
  const taken = new Set(ofAmount.map(placeOf))
  const free = same.filter(({ place }) => !taken.has(place))
  const moved = ofAmount
    .filter((each) => !isAt(each))
    .toSorted((one, other) => placeOf(one) - placeOf(other))
  const inPlace = found.find(({ place }) => place === placeOf(row))
  const own = isAt(row) ? inPlace : free[moved.findIndex(({ id }) => id === row.id)]
  return (own ?? inPlace)?.transfer ?? null
}

/** The place of a deposit in its transaction when it was found. */
function placeOf({ source }: PurchaseRow): number {
  return depositOfSource(source)?.place ?? -1
}
