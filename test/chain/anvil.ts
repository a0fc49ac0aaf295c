import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { encodeDeployData, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import contracts from './contracts.json' with { type: 'json' }

/** The chain's id. */
export const ANVIL_CHAIN_ID = 31_337

const ABI = parseAbi([
  'constructor(string s, uint8 d)',
  'function transfer(address to, uint256 v)',
  'function transferFrom(address f, address t, uint256 v)',
  'function pay(address t, address[] to, uint256[] v)',
  'function set(int256 a, uint256 t)',
])

const PLATFORMS: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

const receiptShape = z.object({
  contractAddress: z.string().nullable(),
  blockNumber: z.string(),
  transactionHash: z.string(),
  logs: z.array(z.object({ logIndex: z.string() })),
})

/** A transfer of a token. */
export interface Payment {
  readonly to: string
  readonly units: bigint
}

/** A chain in a process of its own: each transaction is mined at once, and final after two more blocks. */
export class Anvil implements AsyncDisposable {
  readonly url: string
  readonly #stop: () => Promise<void>
  #ids = 0
  /** The account that has all tokens. */
  payer: Hex = '0x'
  /** A token of 6 decimals. */
  usdc: Hex = '0x'
  /** A contract that makes several transfers in one transaction. */
  batch: Hex = '0x'

  private constructor(url: string, stop: () => Promise<void>) {
    this.url = url
    this.#stop = stop
  }

  static async start(): Promise<Anvil> {
    const platform = process.platform === 'win32' ? 'win32' : process.platform
    const name = `@foundry-rs/anvil-${platform}-${PLATFORMS[process.arch]}`
    const file = createRequire(
      createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json'),
    ).resolve(`${name}/bin/anvil${platform === 'win32' ? '.exe' : ''}`)
    const words = ['--port', '0', '--slots-in-an-epoch', '1', '--order', 'fifo']
    const child = spawn(file, words, { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(child, 'exit')
    let address = ''
    for await (const line of createInterface({ input: child.stdout })) {
      address = /^Listening on (\S+)$/.exec(line)?.[1] ?? ''
      if (address !== '') break
    }
    child.stdout.resume()
    const anvil = new Anvil(`http://${address}`, async () => {
      child.kill('SIGKILL')
      await ended
    })
    const [payer] = z.array(z.string()).parse(await anvil.rpc('eth_accounts'))
    anvil.payer = hex(payer)
    anvil.usdc = await anvil.deployToken('USDC', 6)
    anvil.batch = await anvil.#deploy(hex(contracts.Batch))
    await anvil.transfer({ to: anvil.batch, units: 10n ** 15n })
    return anvil
  }

  async rpc(method: string, params: readonly unknown[] = []): Promise<unknown> {
    const response = await fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++this.#ids, method, params }),
    })
    const { result, error } = z
      .object({ result: z.unknown(), error: z.object({ message: z.string() }).optional() })
      .parse(await response.json())
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }

  /** Mines empty blocks; three make all before them final. */
  async mine(blocks = 3): Promise<void> {
    await this.rpc('anvil_mine', [`0x${blocks.toString(16)}`])
  }

  /** The number of the newest block, or of the newest that is final. */
  async blockNumber(tag: 'latest' | 'finalized' = 'latest'): Promise<number> {
    const block = z
      .object({ number: z.string() })
      .parse(await this.rpc('eth_getBlockByNumber', [tag, false]))
    return Number(block.number)
  }

  deployToken(symbol: string, decimals: number): Promise<Hex> {
    const args = [symbol, decimals] as const
    return this.#deploy(encodeDeployData({ abi: ABI, bytecode: hex(contracts.Token), args }))
  }

  deployFeed(): Promise<Hex> {
    return this.#deploy(hex(contracts.Feed))
  }

  async #deploy(data: Hex): Promise<Hex> {
    return hex((await this.#send({ data })).contractAddress)
  }

  async #send(transaction: { readonly from?: string; readonly to?: string; readonly data: Hex }) {
    const sent = { from: this.payer, gas: '0x2dc6c0', ...transaction }
    const hash = await this.rpc('eth_sendTransaction', [sent])
    return this.receipt(String(hash))
  }

  /** The receipt of a transaction, as soon as it is mined. */
  async receipt(hash: string) {
    for (;;) {
      const receipt = await this.rpc('eth_getTransactionReceipt', [hash])
      if (receipt !== null) return receiptShape.parse(receipt)
    }
  }

  /** Signs a transfer by a wallet that has tokens, to be sent as often as a test likes. */
  async signTransfer({ to, units }: Payment): Promise<Hex> {
    const wallet = privateKeyToAccount(`0x${'42'.repeat(32)}`)
    await this.rpc('anvil_setBalance', [wallet.address, '0xde0b6b3a7640000'])
    await this.transfer({ to: wallet.address, units })
    return wallet.signTransaction({
      type: 'eip1559',
      chainId: ANVIL_CHAIN_ID,
      nonce: Number(await this.rpc('eth_getTransactionCount', [wallet.address, 'latest'])),
      to: this.usdc,
      gas: 100_000n,
      maxFeePerGas: 5_000_000_000n,
      maxPriorityFeePerGas: 1_000_000_000n,
      data: encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [hex(to), units] }),
    })
  }

  transfer({ to, units }: Payment, token: string = this.usdc) {
    const args = [hex(to), units] as const
    const data = encodeFunctionData({ abi: ABI, functionName: 'transfer', args })
    return this.#send({ to: token, data })
  }

  /** Takes USDC from an address, as its owner. */
  async sweep({ from, units }: { readonly from: string; readonly units: bigint }) {
    await this.rpc('anvil_impersonateAccount', [from])
    await this.rpc('anvil_setBalance', [from, '0xde0b6b3a7640000'])
    const data = encodeFunctionData({
      abi: ABI,
      functionName: 'transfer',
      args: [this.payer, units],
    })
    return this.#send({ from, to: this.usdc, data })
  }

  /** Sends a transfer that waits for a block to be mined; returns the hash of its transaction. */
  async sendUnmined({ to, units }: Payment): Promise<string> {
    const args = [hex(to), units] as const
    const data = encodeFunctionData({ abi: ABI, functionName: 'transfer', args })
    const sent = { from: this.payer, to: this.usdc, gas: '0x2dc6c0', data }
    // Above what the signed transfer offers, so that it comes first.
    const fees = { maxFeePerGas: '0x3b9aca0000', maxPriorityFeePerGas: '0x2540be400' }
    return String(await this.rpc('eth_sendTransaction', [{ ...sent, ...fees }]))
  }

  /** Transfers in one transaction, as exchanges pay out. */
  transferTogether(payments: readonly Payment[]) {
    const to = payments.map((payment) => hex(payment.to))
    const args = [this.usdc, to, payments.map(({ units }) => units)] as const
    return this.#send({
      to: this.batch,
      data: encodeFunctionData({ abi: ABI, functionName: 'pay', args }),
    })
  }

  /** A transfer of nothing from the payer, which any sender can make of USDC. */
  transferNothing(to: string) {
    const args = [this.payer, hex(to), 0n] as const
    const data = encodeFunctionData({ abi: ABI, functionName: 'transferFrom', args })
    return this.#send({ to: this.usdc, data })
  }

  /** Sets what a feed answers: dollars times 10^8, and the time of the price. */
  setFeed(feed: string, { rate8, atS }: { readonly rate8: bigint; readonly atS: number }) {
    const args = [rate8, BigInt(atS)] as const
    return this.#send({
      to: feed,
      data: encodeFunctionData({ abi: ABI, functionName: 'set', args }),
    })
  }

  /** Replaces the newest blocks by empty ones. Their transactions are gone. */
  async reorg(depth: number): Promise<void> {
    await this.rpc('anvil_reorg', [depth, []])
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stop()
  }
}

function hex(text: string | null | undefined): Hex {
  if (text?.startsWith('0x') !== true) throw new TypeError(`${text} is no hexadecimal text`)
  return text as Hex
}
