import type { Kysely } from 'kysely'
import type { PurchaseRow } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { Micros } from '../vocabulary/money.ts'
import type { PurchaseFact } from '../vocabulary/purchase.ts'
import { PaymentUnavailable } from './card/provider.ts'
import { checksummed } from './chain/addresses.ts'
import { agreementOf, askEach } from './chain/agreement.ts'
import { askBalances } from './chain/feed.ts'
import type { ChainNode } from './chain/node.ts'
import { askTransferAt, type Transfer } from './chain/questions.ts'
import { type ChainTerms, depositOfSource, type Stablecoin } from './chain/terms.ts'
import { readCursor } from './cursors.ts'
import type { HandedOut } from './deposit-rows.ts'
import {
  addDepositAddresses,
  cursorOf,
  findDepositAccount,
  readRates,
  waitingCursorOf,
} from './deposit-rows.ts'
import { type DepositTerms, usableRate } from './deposit-value.ts'
import type { DepositMethod, DepositTermsNow } from './method.ts'

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

const LOOK_STALE_AFTER_MS = 2 * 60_000

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

  /** Asks the nodes for a deposit again: an admin decides on its present state. */
  async look({ source, accountId, paid }: PurchaseRow): Promise<PurchaseFact> {
    const { chain, db } = this.#input
    const transfer = await this.#find(source)
    const cursor = await readCursor(db, cursorOf(chain.chainId))
    const isThere =
      transfer !== null &&
      transfer.block <= Number(cursor?.position ?? -1) &&
      (await findDepositAccount(db, { ...chain, address: transfer.to })) === accountId
    const coin = chain.tokens.find(({ address }) => address === transfer?.token)
    if (!isThere || coin === undefined || coin.symbol !== paid?.paidCurrency) {
      return { kind: 'expired' }
    }
    return {
      kind: 'paid',
      paid: { currency: coin.symbol, units: transfer.units },
      reversedUnits: 0n,
      paymentRef: null,
      isDisputed: false,
      judgment: { kind: 'credit' },
    }
  }

  /** The transfer that a source names. Null: the nodes agree that it is not there. */
  async #find(source: string): Promise<Transfer | null> {
    const { chain, nodes, onNodeFailure } = this.#input
    const deposit = depositOfSource(source)
    if (deposit === null) return null
    const said = await askEach(nodes, (node) => askTransferAt(node, deposit), onNodeFailure)
    const agreement = agreementOf(said, chain.quorum)
    if (agreement.kind === 'agreed') return agreement.answer
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
    const said = await askEach(nodes, (node) => askBalances(node, asked), onNodeFailure)
    const agreement = agreementOf(said, quorum)
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
