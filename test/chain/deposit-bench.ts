import { createHash } from 'node:crypto'
import { HDKey } from 'viem/accounts'
import { createPostgresBench } from '../../src/ledger/testing/postgres-bench.ts'
import { createSqliteBench } from '../../src/ledger/testing/sqlite-bench.ts'
import type { StoreBench } from '../../src/ledger/testing/store-bench.ts'
import type { ChainTerms, Stablecoin } from '../../src/sale/chain/terms.ts'
import type { ChainLook, Waiting } from '../../src/sale/chain-look.ts'
import type { ChainWatch } from '../../src/sale/chain-watch.ts'
import type { TokenDeposits } from '../../src/sale/deposit-method.ts'
import type { DepositTerms } from '../../src/sale/deposit-value.ts'
import { openDeposits } from '../../src/sale/open-deposits.ts'
import type { CeilingSettings } from '../../src/sale/sale.ts'
import { Sale } from '../../src/sale/sale.ts'
import { micros } from '../../src/vocabulary/money.ts'
import { ANVIL_CHAIN_ID, type Anvil } from './anvil.ts'

/** The seed, which no gateway has, and the public key below which accounts have their addresses. */
export const SEED = createHash('sha256').update('a seed for tests').digest()
const DEPOSIT_KEY = HDKey.fromMasterSeed(SEED).derive("m/44'/60'/0'")
export const XPUB = DEPOSIT_KEY.publicExtendedKey

export const DEPOSIT_TERMS: DepositTerms = { minimumMicros: micros(1_000_000), feeBps: 0 }

export const DEPOSIT_CEILINGS: CeilingSettings = {
  holdAboveMicros: micros(5_000_000_000),
  holdAboveDailyMicros: micros(100_000_000_000),
}

/** A dollar a token, as an operator may say. */
const ONE_DOLLAR = { kind: 'fixed', rate8: 100_000_000n } as const

export function usdcOf(anvil: Anvil): Stablecoin {
  const address = anvil.usdc.toLowerCase()
  return { symbol: 'USDC', method: 'anvil-usdc', address, decimals: 6, price: ONE_DOLLAR }
}

interface DepositBenchInput {
  readonly anvil: Anvil
  readonly rpcUrls: readonly string[]
  readonly quorum?: number
  readonly tokens?: readonly Stablecoin[]
  readonly ceilings?: CeilingSettings
  readonly engine?: 'sqlite' | 'postgres'
}

/** Accounts `A`, `B` and `C` with deposit addresses on a store, and gateways' watches of the chain. */
export class DepositBench implements AsyncDisposable {
  readonly bench: StoreBench & { readonly file?: string; readonly url?: string }
  readonly events: string[] = []
  readonly addresses: Readonly<Record<string, string>>
  nowMs = Date.now()
  readonly #input: DepositBenchInput
  #ids = 0

  private constructor(
    bench: StoreBench,
    input: DepositBenchInput,
    addresses: Readonly<Record<string, string>>,
  ) {
    this.bench = bench
    this.#input = input
    this.addresses = addresses
  }

  /** Opens a store whose cursor stands at the newest final block. */
  static async open(input: DepositBenchInput): Promise<DepositBench> {
    const create = input.engine === 'postgres' ? createPostgresBench : createSqliteBench
    const bench = await create()
    const addresses: Record<string, string> = {}
    const opened = new DepositBench(bench, input, addresses)
    bench.nowMs = opened.nowMs
    const { methods, watch } = opened.gateway()
    for (const account of ['A', 'B', 'C']) {
      await bench.createAccount(account)
      const deposit = await methods[0]?.depositAddress(account)
      addresses[account] = deposit?.address ?? ''
    }
    await watch.look()
    return opened
  }

  /** The parts that a gateway opens for the chain. */
  gateway(): {
    readonly methods: readonly TokenDeposits[]
    readonly watch: ChainWatch
    readonly sale: Sale
    readonly rescan: (
      fromBlock: number,
    ) => Promise<{ readonly added: number; readonly waiting: Waiting }>
  } {
    const { anvil, rpcUrls, quorum = 2, tokens = [usdcOf(anvil)] } = this.#input
    const { ceilings = DEPOSIT_CEILINGS } = this.#input
    const { store, ledger } = this.bench
    const { events } = this
    const { db } = store
    const ids = { next: () => `pur_${String(++this.#ids).padStart(6, '0')}` }
    const clock = { nowMs: () => this.nowMs }
    const opened = openDeposits({
      settings: {
        chain: { chainId: ANVIL_CHAIN_ID, tokens, confirm: 'finalized', quorum },
        rpcUrls,
        xpub: XPUB,
        typedAddresses: [],
      },
      terms: DEPOSIT_TERMS,
      db,
      clock,
      onNodeFailure: (_node, cause) => void events.push(String(cause)),
    })
    const { methods } = opened
    const sale = new Sale({
      methods,
      db,
      ledger,
      ids,
      clock,
      ceilings,
      seller: null,
      onCreditChanged: async (accountId) => void events.push(`credit of ${accountId}`),
    })
    const follow = {
      post: sale.post.bind(sale),
      ids,
      onTokenClosed: ({ symbol }: { symbol: string }, decimals: number) =>
        void events.push(`${symbol} has ${decimals}`),
      onContradicted: (purchaseId: string) => void events.push(`${purchaseId} contradicted`),
      onFoundLate: (deposits: number) => void events.push(`${deposits} found late`),
      onDust: (deposits: number) => void events.push(`${deposits} of dust`),
    }
    const rescan = (fromBlock: number) => opened.rescan(follow, fromBlock)
    return { methods, watch: opened.watch(follow), sale, rescan }
  }

  addressOf(account: string): string {
    return this.addresses[account] ?? ''
  }

  /** Looks until nothing moves any more; returns the last look. */
  async drain(watch = this.gateway().watch): Promise<ChainLook> {
    let look = await watch.look()
    while (look.kind === 'advanced') look = await watch.look()
    return look
  }

  async balance(account: string): Promise<number> {
    return (await this.bench.account(account)).backedBalanceMicros
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bench.auditAndClose()
  }
}

/** The input of a process that looks once. */
export interface KilledLook {
  readonly databaseUrl: string
  readonly rpcUrls: readonly string[]
  readonly chain: ChainTerms
  /** Before which of its changes it kills itself. */
  readonly killAt: number
}
