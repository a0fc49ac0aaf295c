import type { ChainNode, RpcCall } from '../chain/node.ts'

/** A transaction of a model chain: transfers of its tokens, which are named by their places in the list. */
interface Transaction {
  readonly hash: string
  readonly logs: readonly { readonly to: string; readonly units: bigint; readonly token: number }[]
}

/** How a node of a model chain behaves. */
export type NodeState =
  | 'honest'
  /** It does not answer. */
  | 'down'
  /** It knows neither the newest blocks nor that it lacks them. */
  | 'behind'
  /** It leaves transfers out. */
  | 'drops'
  /** It makes a transfer up, with its receipt. */
  | 'forges'

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const NODE_LAG_BLOCKS = 3

/** The tokens of the model chains. The second may be without a rate. */
export const MODEL_TOKENS = [`0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`] as const

const [MODEL_TOKEN, RATED_TOKEN] = MODEL_TOKENS
const DECIMALS = 6
const OTHER_DECIMALS = 18

let hashes = 0
const newHash = () => `0x${(++hashes).toString(16).padStart(64, '0')}`

/** A chain in memory: transactions wait until they are mined, and blocks can be replaced until they are final. */
export class ModelChain {
  readonly blocks: { readonly hash: string; readonly mined: readonly Transaction[] }[] = [
    { hash: newHash(), mined: [] },
  ]
  finalBlock = 0
  /** The first block that was final and was replaced; null: none was. */
  replacedFrom: number | null = null
  /** Whether the second token has a rate. Otherwise its contract says other decimals than its setting, which closes it. */
  hasRate = true
  #waiting: Transaction[] = []
  #highestBlock = 0
  /** Every transaction that was ever in a final block, by its hash. */
  readonly #everFinal = new Map<string, Transaction>()

  pay(logs: Transaction['logs']): void {
    this.#waiting.push({ hash: newHash(), logs })
  }

  /** Mines a block of so many waiting transactions, the oldest or the newest first. */
  mine({ most, isReversed }: { readonly most: number; readonly isReversed: boolean }): void {
    const order = isReversed ? this.#waiting.toReversed() : this.#waiting
    const mined = order.slice(0, most)
    this.#waiting = this.#waiting.filter((waiting) => !mined.includes(waiting))
    this.blocks.push({ hash: newHash(), mined })
    this.#highestBlock = Math.max(this.#highestBlock, this.blocks.length - 1)
  }

  /** Mines what waits, three transactions to a block, until there are more blocks than there ever were. */
  mineAll(): void {
    const highestBlock = this.#highestBlock
    while (this.#waiting.length > 0 || this.blocks.length - 1 <= highestBlock) {
      this.mine({ most: 3, isReversed: false })
    }
  }

  /** Forgets the newest blocks down to the final one. Their transactions wait again; one may be lost. */
  reorg({ depth, isLossy }: { readonly depth: number; readonly isLossy: boolean }): void {
    const most = Math.min(depth, this.blocks.length - 1 - this.finalBlock)
    const gone = this.blocks.splice(this.blocks.length - most).flatMap(({ mined }) => mined)
    this.#waiting.push(...(isLossy ? gone.slice(1) : gone))
  }

  /**
   * Forgets so many blocks that were final, and all above. Their transactions wait again, the newest first. By position:
   * how many, and the transfers of a transaction when it is mined again; default: the same.
   */
  replaceFinal(
    depth: number,
    mineAgain: (logs: Transaction['logs']) => Transaction['logs'] = (logs) => logs,
  ): void {
    const from = Math.max(1, this.finalBlock + 1 - depth)
    const gone = this.blocks.splice(from).flatMap(({ mined }) => mined)
    const again = gone.map(({ hash, logs }) => ({ hash, logs: mineAgain(logs) }))
    this.#waiting.push(...again.toReversed())
    this.finalBlock = Math.min(this.finalBlock, from - 1)
    this.replacedFrom = Math.min(from, this.replacedFrom ?? from)
  }

  finalize(blocks: number): void {
    this.finalBlock = Math.min(this.blocks.length - 1, this.finalBlock + blocks)
    for (const { mined } of this.blocks.slice(0, this.finalBlock + 1)) {
      for (const transaction of mined) this.#everFinal.set(transaction.hash, transaction)
    }
  }

  /** Every transfer in final blocks. */
  get finalLogs(): Transaction['logs'] {
    const blocks = this.blocks.slice(0, this.finalBlock + 1)
    return blocks.flatMap(({ mined }) => mined.flatMap(({ logs }) => logs))
  }

  /** Every transfer that was ever in a final block, even if the block was replaced. */
  get everFinalLogs(): Transaction['logs'] {
    return [...this.#everFinal.values()].flatMap(({ logs }) => logs)
  }
}

/** A node of a model chain, whose state a test sets. `forgedTo` is the address that it makes transfers to up. */
export class ModelNode implements ChainNode {
  readonly name: string
  state: NodeState = 'honest'
  /** The most blocks that it searches at a time. */
  logBlocksMax = Number.POSITIVE_INFINITY
  /** How often it refused to search so many. */
  refused = 0
  /** How often it was asked. */
  asked = 0
  readonly #chain: ModelChain
  readonly #chainId: number
  readonly #forgedTo: string
  readonly #forgedHash = newHash()
  /** The block in which it has made the latest transfer up. */
  #forgedAt = 0

  constructor(
    chain: ModelChain,
    input: { readonly name: string; readonly chainId: number; readonly forgedTo: string },
  ) {
    this.name = input.name
    this.#chain = chain
    this.#chainId = input.chainId
    this.#forgedTo = input.forgedTo
  }

  async ask(calls: readonly RpcCall[]): Promise<readonly unknown[]> {
    this.asked++
    if (this.state === 'down') throw new Error(`${this.name} is down`)
    return calls.map((call) => this.#answer(call))
  }

  get #top(): number {
    const newest = this.#chain.blocks.length - 1
    return this.state === 'behind' ? Math.max(0, newest - NODE_LAG_BLOCKS) : newest
  }

  #answer({ method, params: [first] }: RpcCall): unknown {
    switch (method) {
      case 'eth_chainId':
        return hexOf(this.#chainId)
      case 'eth_getBlockByNumber':
        return this.#block(String(first))
      case 'eth_getLogs':
        return this.#logs(first)
      case 'eth_getTransactionReceipt':
        return this.#receipt(String(first))
      case 'eth_call': {
        const { to } = first as { to: string }
        const isClosed = to === RATED_TOKEN && !this.#chain.hasRate
        const decimals = isClosed ? OTHER_DECIMALS : DECIMALS
        return `0x${decimals.toString(16).padStart(64, '0')}`
      }
      default:
        throw new Error(`the model has no ${method}`)
    }
  }

  #block(at: string) {
    const { finalBlock, blocks } = this.#chain
    const tags: Record<string, number> = {
      latest: this.#top,
      finalized: Math.min(finalBlock, this.#top),
    }
    const number = tags[at] ?? Number(at)
    const block = number <= this.#top ? blocks[number] : undefined
    return block === undefined ? null : { number: hexOf(number), hash: block.hash }
  }

  #logs(asked: unknown) {
    const { address, fromBlock, toBlock, topics } = asked as {
      address: string[]
      fromBlock: string
      toBlock: string
      topics: [string, null, string[]]
    }
    if (Number(toBlock) - Number(fromBlock) >= this.logBlocksMax) {
      this.refused++
      throw new Error(`${this.name} searches at most ${this.logBlocksMax} blocks`)
    }
    if (this.state === 'drops') return []
    const to = Math.min(this.#top, Number(toBlock))
    const found = this.#range(Number(fromBlock), to).filter(
      ({ address: token, topics: [, , receiver] }) =>
        address.includes(token) && topics[2].includes(receiver),
    )
    if (this.state !== 'forges' || !address.includes(MODEL_TOKEN)) return found
    if (!topics[2].includes(topicOf(this.#forgedTo))) return found
    this.#forgedAt = to
    return [...found, this.#forgedLog(to)]
  }

  #range(from: number, to: number) {
    const numbers = Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
    return numbers.flatMap((number) => this.#logsOf(number))
  }

  #logsOf(number: number) {
    const block = this.#chain.blocks[number]
    let index = 0
    return (block?.mined ?? []).flatMap(({ hash, logs }) =>
      logs.map(({ to, units, token }) => ({
        address: MODEL_TOKENS[token] ?? MODEL_TOKEN,
        topics: [TRANSFER, topicOf(MODEL_TOKEN), topicOf(to)] as const,
        data: `0x${units.toString(16).padStart(64, '0')}`,
        blockNumber: hexOf(number),
        blockHash: block?.hash ?? '',
        transactionHash: hash,
        logIndex: hexOf(index++),
        removed: false,
      })),
    )
  }

  #forgedLog(number: number) {
    return {
      address: MODEL_TOKEN,
      topics: [TRANSFER, topicOf(MODEL_TOKEN), topicOf(this.#forgedTo)] as const,
      data: `0x${(9_000_000).toString(16).padStart(64, '0')}`,
      blockNumber: hexOf(number),
      blockHash: this.#chain.blocks[number]?.hash ?? '',
      transactionHash: this.#forgedHash,
      logIndex: hexOf(1_000),
      removed: false,
    }
  }

  #receipt(hash: string) {
    const found = this.#chain.blocks
      .slice(0, this.#top + 1)
      .findIndex(({ mined }) => mined.some((one) => one.hash === hash))
    const isForged = this.state === 'forges' && hash === this.#forgedHash
    if (found < 0 && !isForged) return null
    const number = isForged ? this.#forgedAt : found
    const logs = isForged
      ? [this.#forgedLog(number)]
      : this.#logsOf(number).filter(({ transactionHash }) => transactionHash === hash)
    return {
      status: '0x1',
      blockHash: this.#chain.blocks[number]?.hash,
      blockNumber: hexOf(number),
      transactionHash: hash,
      logs,
    }
  }
}

function topicOf(address: string): string {
  return `0x${address.slice(2).padStart(64, '0')}`
}

function hexOf(number: number): string {
  return `0x${number.toString(16)}`
}
