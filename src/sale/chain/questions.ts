import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { slicesOf } from '../../vocabulary/slices.ts'
import { type ChainNode, NodeFailure, type RpcCall } from './node.ts'

/** The confirmation that a block needs before its deposits count: a tag of the node, or so many blocks above it. */
export type Confirm = 'finalized' | 'safe' | number

/** A block by its number and hash. */
export interface Block {
  readonly number: number
  readonly hash: string
}

/** A transfer of a token to a deposit address. */
export interface Transfer {
  readonly block: number
  readonly blockHash: string
  readonly txHash: string
  /** The number of its log in the block. It changes when the transaction is mined again. */
  readonly logIndex: number
  /** Addresses are in lower case. */
  readonly token: string
  readonly from: string
  readonly to: string
  readonly units: bigint
}

/** The newest block of a node, and its block at the place where the watch has stopped. */
export interface Head {
  /** The newest block that is confirmed. */
  readonly top: number
  /** The hash of the block at the cursor; null: the node does not have it. */
  readonly hashAtCursor: string | null
}

/** The blocks and addresses in which transfers are searched. */
interface Search {
  readonly from: number
  readonly to: number
  readonly tokens: ReadonlySet<string>
  readonly addresses: ReadonlySet<string>
}

/** keccak256('Transfer(address,address,uint256)'). */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

// Nodes refuse more than a thousand topics in one question.
const ADDRESSES_A_CALL = 500

const lowered = (pattern: RegExp) =>
  z
    .string()
    .regex(pattern)
    .transform((text) => text.toLowerCase())
const hash = lowered(/^0x[\da-f]{64}$/i)
const address = lowered(/^0x[\da-f]{40}$/i)
/** A topic that holds an address. */
const addressTopic = lowered(/^0x0{24}[\da-f]{40}$/i).transform((text) => `0x${text.slice(26)}`)
/** Up to 2^52, so that it is exact as a number. */
const quantity = z
  .string()
  .regex(/^0x[\da-f]{1,13}$/i)
  .transform(Number)

const blockShape = z.object({ number: quantity, hash }).nullable()

const logShape = z
  .object({
    address,
    topics: z.tuple([z.literal(TRANSFER), addressTopic, addressTopic]),
    data: lowered(/^0x[\da-f]{64}$/i),
    blockNumber: quantity,
    blockHash: hash,
    transactionHash: hash,
    logIndex: quantity,
    removed: z.literal(false).optional(),
  })
  .transform(
    (log): Transfer => ({
      block: log.blockNumber,
      blockHash: log.blockHash,
      txHash: log.transactionHash,
      logIndex: log.logIndex,
      token: log.address,
      from: log.topics[1],
      to: log.topics[2],
      units: BigInt(log.data),
    }),
  )

const receiptShape = z
  .object({
    status: z.string(),
    blockHash: hash,
    blockNumber: quantity,
    transactionHash: hash,
    // Logs of other contracts may have any shape.
    logs: z.array(z.unknown()),
  })
  .nullable()

/** How far a node is. Rejects if it is of another chain, or has no block that is confirmed. */
export async function askHead(
  node: ChainNode,
  {
    chainId,
    confirm,
    cursor,
  }: { readonly chainId: number; readonly confirm: Confirm; readonly cursor: number },
): Promise<Head> {
  const depth = typeof confirm === 'number' ? confirm : 0
  const [chain, newest, at] = await node.ask([
    { method: 'eth_chainId', params: [] },
    blockCall(typeof confirm === 'number' ? 'latest' : confirm),
    blockCall(cursor),
  ])
  const found = read(node, quantity, chain)
  if (found !== chainId)
    throw new NodeFailure(`${node.name} answers for chain ${found}, not ${chainId}`)
  const top = read(node, blockShape, newest)
  if (top === null) throw new NodeFailure(`${node.name} has no block that is ${confirm}`)
  return { top: top.number - depth, hashAtCursor: read(node, blockShape, at)?.hash ?? null }
}

/** A block by its number or tag. Rejects if the node does not have it. */
export async function askBlock(node: ChainNode, at: number | 'latest'): Promise<Block> {
  const [answer] = await node.ask([blockCall(at)])
  return requireBlock(node, answer, at)
}

/**
 * The last block of a search, and every transfer in it. Rejects if the node does not have that block, since
 * its list would lack transfers, and if it answers with anything else.
 */
export async function askTransfers(
  node: ChainNode,
  search: Search,
): Promise<{ readonly last: Block; readonly transfers: readonly Transfer[] }> {
  const { from, to, tokens, addresses } = search
  // Nodes take an empty list of tokens for all contracts.
  const chunks = tokens.size === 0 ? [] : [...slicesOf([...addresses], ADDRESSES_A_CALL)]
  const calls = chunks.map((chunk): RpcCall => {
    const topics = [TRANSFER, null, chunk.map((one) => `0x${one.slice(2).padStart(64, '0')}`)]
    const blocks = { fromBlock: hexOf(from), toBlock: hexOf(to) }
    return { method: 'eth_getLogs', params: [{ ...blocks, address: [...tokens], topics }] }
  })
  const [block, ...lists] = await node.ask([blockCall(to), ...calls])
  const last = requireBlock(node, block, to)
  const transfers = lists.flatMap((list) => read(node, z.array(logShape), list))
  for (const { block: number, blockHash, token, to: receiver } of transfers) {
    const isInside = from <= number && number <= to && (number < to || blockHash === last.hash)
    if (!isInside || !tokens.has(token) || !addresses.has(receiver)) {
      throw new NodeFailure(`${node.name} returned a log that was not requested`)
    }
  }
  return {
    last,
    transfers: transfers.toSorted(
      (one, other) => one.block - other.block || one.logIndex - other.logIndex,
    ),
  }
}

/**
 * Finds transfers again by their receipts, through another index of the node than the list's. Answers the
 * place of each among the logs of its transaction, which stays the same when the transaction is mined again.
 * Null: the chain of this node does not have it.
 */
export async function askPlaces(
  node: ChainNode,
  transfers: readonly Transfer[],
): Promise<readonly (number | null)[]> {
  // Each once: a transaction may have thousands of transfers, and its receipt all of them.
  const txHashes = [...new Set(transfers.map(({ txHash }) => txHash))]
  const blocks = [...new Set(transfers.map(({ block }) => block))]
  const answers = await node.ask([...txHashes.map(receiptCall), ...blocks.map(blockCall)])
  const receipts = new Map(
    txHashes.map((txHash, index) => [txHash, read(node, receiptShape, answers[index])]),
  )
  const headers = new Map(
    blocks.map((block, index) => [block, read(node, blockShape, answers[txHashes.length + index])]),
  )
  return transfers.map((transfer) => {
    const receipt = receipts.get(transfer.txHash) ?? null
    const block = headers.get(transfer.block) ?? null
    if (receipt === null || receipt.status !== '0x1') return null
    if (receipt.blockHash !== transfer.blockHash || block?.hash !== transfer.blockHash) return null
    const place = receipt.logs.findIndex((log) => isSame(log, transfer))
    return place < 0 ? null : place
  })
}

/** A transfer, and its place among the logs of its transaction. */
export interface PlacedTransfer {
  readonly place: number
  readonly transfer: Transfer
}

/** The transfers of a token to some addresses in a transaction, as the node's chain has them now, by their places. */
export async function askTransfersIn(
  node: ChainNode,
  {
    txHash,
    token,
    addresses,
  }: {
    readonly txHash: string
    readonly token: string
    readonly addresses: ReadonlySet<string>
  },
): Promise<readonly PlacedTransfer[]> {
  const [answer] = await node.ask([receiptCall(txHash)])
  const receipt = read(node, receiptShape, answer)
  if (receipt === null || receipt.status !== '0x1') return []
  const { blockNumber, blockHash, logs } = receipt
  const [header] = await node.ask([blockCall(blockNumber)])
  if (read(node, blockShape, header)?.hash !== blockHash) return []
  return logs.flatMap((log, place) => {
    const transfer = logShape.safeParse(log).data
    const isAsked =
      transfer?.txHash === txHash &&
      transfer.block === blockNumber &&
      transfer.blockHash === blockHash &&
      transfer.token === token &&
      addresses.has(transfer.to)
    return isAsked ? [{ place, transfer }] : []
  })
}

/** Whether a log of a receipt is that of a transfer, to the last field. */
function isSame(log: unknown, transfer: Transfer): boolean {
  const parsed = logShape.safeParse(log)
  return parsed.success && isDeepStrictEqual(parsed.data, transfer)
}

function requireBlock(node: ChainNode, answer: unknown, at: number | string): Block {
  const block = read(node, blockShape, answer)
  if (block === null || (typeof at === 'number' && block.number !== at)) {
    throw new NodeFailure(`${node.name} is behind: it has no block ${at}`)
  }
  return block
}

/** By position: the node that has answered, the schema of an answer, and the answer. */
export function read<Shape extends z.ZodType>(
  node: ChainNode,
  shape: Shape,
  answer: unknown,
): z.output<Shape> {
  const parsed = shape.safeParse(answer)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') ?? ''
  throw new NodeFailure(`${node.name} gave an impossible answer ${where}`.trim())
}

function blockCall(at: number | string): RpcCall {
  return {
    method: 'eth_getBlockByNumber',
    params: [typeof at === 'number' ? hexOf(at) : at, false],
  }
}

function receiptCall(txHash: string): RpcCall {
  return { method: 'eth_getTransactionReceipt', params: [txHash] }
}

function hexOf(number: number): string {
  return `0x${number.toString(16)}`
}
