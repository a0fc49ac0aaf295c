import type { StoreBench } from '../../ledger/testing/store-bench.ts'
import { micros } from '../../vocabulary/money.ts'
import type { ChainTerms } from '../chain/terms.ts'
import { ChainWatch } from '../chain-watch.ts'
import { TokenDeposits } from '../deposit-method.ts'
import { addDepositAddresses, HandedOut } from '../deposit-rows.ts'
import type { DepositTerms } from '../deposit-value.ts'
import type { CeilingSettings } from '../sale.ts'
import { Sale } from '../sale.ts'
import { MODEL_TOKENS, ModelChain, ModelNode } from './model-chain.ts'

/** The parts of the defence that a test weakens. */
export interface ChainWorldInput {
  readonly chain?: Partial<ChainTerms>
  /** How many of the nodes a watch asks; default all three. */
  readonly nodes?: number
  /** The most blocks that a watch scans at a time. */
  readonly blocksAtOnceMax?: number
  /** Called before a watch posts a purchase, and after that: it may throw, as a crash would end a look. */
  readonly onPost?: (moment: 'before' | 'after') => void
}

const TERMS: DepositTerms = { minimumMicros: micros(1_000_000), feeBps: 0 }

const CEILINGS: CeilingSettings = {
  holdAboveMicros: micros(50_000_000),
  holdAboveDailyMicros: micros(Number.MAX_SAFE_INTEGER),
}

let chains = 0

/** Accounts with deposit addresses on a model chain of three nodes, and watches of it on a store. */
export class ChainWorld {
  readonly chainId = ++chains
  readonly model = new ModelChain()
  readonly accounts = [`A${this.chainId}`, `B${this.chainId}`]
  readonly addresses = [`0x${'01'.repeat(20)}`, `0x${'02'.repeat(20)}`]
  readonly nodes: readonly ModelNode[]
  readonly events: string[] = []
  readonly handedOut = new HandedOut()
  nowMs = 1_000_000
  readonly #bench: StoreBench
  readonly #input: ChainWorldInput
  #ids = 0

  private constructor(bench: StoreBench, input: ChainWorldInput) {
    this.#bench = bench
    this.#input = input
    this.nodes = ['one', 'two', 'three'].map(
      (name) =>
        new ModelNode(this.model, {
          name,
          chainId: this.chainId,
          forgedTo: this.addresses[0] ?? '',
        }),
    )
  }

  static async open(bench: StoreBench, input: ChainWorldInput = {}): Promise<ChainWorld> {
    const world = new ChainWorld(bench, input)
    for (const account of world.accounts) await bench.createAccount(account)
    await addDepositAddresses(
      bench.db,
      world.addresses.map((address, index) => ({
        chainId: world.chainId,
        address,
        accountId: world.accounts[index] ?? '',
        createdAtMs: 0,
      })),
    )
    return world
  }

  get chain(): ChainTerms {
    return {
      chainId: this.chainId,
      tokens: MODEL_TOKENS.map((address, index) => ({
        symbol: `USD${index}`,
        method: `model-usd${index}`,
        address,
        decimals: 6,
        price: { kind: 'fixed', rate8: 100_000_000n },
      })),
      confirm: 'finalized',
      quorum: 2,
      ...this.#input.chain,
    }
  }

  /** A watch, as each gateway of the store has one. */
  watch(): ChainWatch {
    const { store, ledger } = this.#bench
    const { onPost, blocksAtOnceMax } = this.#input
    const ids = { next: () => `pur_${this.chainId}_${++this.#ids}` }
    // Time passes between any two moves of a cursor.
    const clock = { nowMs: () => ++this.nowMs }
    const sale = new Sale({
      methods: [],
      db: store.db,
      ledger: {
        async postPurchase(input, by) {
          onPost?.('before')
          const verdict = await ledger.postPurchase(input, by)
          onPost?.('after')
          return verdict
        },
      },
      ids,
      clock,
      ceilings: CEILINGS,
      seller: null,
      onCreditChanged: async (accountId) => void this.events.push(`credit of ${accountId}`),
    })
    return new ChainWatch({
      chain: this.chain,
      terms: TERMS,
      handedOut: this.handedOut,
      nodes: this.nodes.slice(0, this.#input.nodes),
      db: store.db,
      post: (input) => sale.post(input),
      ids,
      clock,
      onNodeFailure: ({ name }) => void this.events.push(`${name} failed`),
      onTokenClosed: ({ symbol }, decimals) =>
        void this.events.push(`${symbol} has ${decimals} decimals`),
      onContradicted: (purchaseId) => void this.events.push(`${purchaseId} contradicted`),
      onFoundLate: (deposits) => void this.events.push(`${deposits} found late`),
      onDust: (deposits) => void this.events.push(`${deposits} of dust`),
      ...(blocksAtOnceMax !== undefined && { blocksAtOnceMax }),
    })
  }

  /** Deposits of the first token, as a gateway sells them. */
  deposits(): TokenDeposits {
    const { chain, nodes, handedOut } = this
    const [coin] = chain.tokens
    if (coin === undefined) throw new Error('the chain has no token')
    return new TokenDeposits({
      ...{ chain, coin, nodes, handedOut, terms: TERMS, db: this.#bench.db },
      clock: { nowMs: () => this.nowMs },
      onNodeFailure: ({ name }) => void this.events.push(`${name} failed`),
      addressOf: (accountId) => this.addresses[this.accounts.indexOf(accountId)] ?? '',
    })
  }

  pay(account: number, units: bigint): void {
    this.model.pay([{ to: this.addresses[account] ?? '', units, token: 0 }])
  }

  /** The balance of each account. */
  async balances(): Promise<readonly number[]> {
    const accounts = await Promise.all(this.accounts.map((account) => this.#bench.account(account)))
    return accounts.map(({ backedBalanceMicros }) => backedBalanceMicros)
  }

  /** The most that each account can have: its final deposits that are neither below the minimum nor above the ceiling. */
  get finalUnits(): readonly number[] {
    return this.#unitsOf(this.model.finalLogs)
  }

  /** As {@link finalUnits}, with the deposits in final blocks that were replaced. */
  get everFinalUnits(): readonly number[] {
    return this.#unitsOf(this.model.everFinalLogs)
  }

  #unitsOf(logs: ModelChain['finalLogs']): readonly number[] {
    return this.addresses.map((address) =>
      logs
        .filter(({ to, units }) => to === address && 1_000_000n <= units && units <= 50_000_000n)
        .reduce((sum, { units }) => sum + Number(units), 0),
    )
  }
}
