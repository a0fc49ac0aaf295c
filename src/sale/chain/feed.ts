import { decodeFunctionResult, encodeFunctionData, getAddress, parseAbi } from 'viem'
import { z } from 'zod'
import { countedRate } from '../../vocabulary/purchase.ts'
import type { ChainNode, RpcCall } from './node.ts'
import { read } from './questions.ts'
import type { Stablecoin } from './terms.ts'

/** A node's reading of a token and of its price. */
export interface TokenReading {
  /** The decimals that the contract has. */
  readonly decimals: number
  /** Dollars for one token, times 10^8; 0: the feed has no price. */
  readonly rate8: bigint
  /** The time of the feed's price; null: the price is fixed. */
  readonly feedAtMs: number | null
}

const MS_PER_SECOND = 1_000n
const FEED_DECIMALS = 8

// From ERC-20, and from Chainlink's AggregatorV3Interface.
const ABI = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function decimals() view returns (uint8)',
  'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
])

const bytes = z.templateLiteral(['0x', z.string().regex(/^(?:[\da-f]{64})+$/i)])

/**
 * Reads a token's decimals and its price. Rejects if the address is not a feed, or the feed does not have 8 decimals.
 */
export async function askToken(
  node: ChainNode,
  { address, price }: Stablecoin,
): Promise<TokenReading> {
  if (price.kind === 'fixed') {
    const [decimals] = await node.ask([contractCall(address, 'decimals')])
    return { decimals: readDecimals(node, decimals), rate8: price.rate8, feedAtMs: null }
  }
  const [decimals, feedDecimals, round] = await node.ask([
    contractCall(address, 'decimals'),
    contractCall(price.feed, 'decimals'),
    contractCall(price.feed, 'latestRoundData'),
  ])
  if (readDecimals(node, feedDecimals) !== FEED_DECIMALS) {
    throw new Error(
      `the price feed ${price.feed} has a number of decimals other than ${FEED_DECIMALS}`,
    )
  }
  const [, answer, , updatedAt] = decodeFunctionResult({
    abi: ABI,
    functionName: 'latestRoundData',
    data: read(node, bytes, round),
  })
  return {
    decimals: readDecimals(node, decimals),
    rate8: answer < 0n ? 0n : countedRate(answer),
    feedAtMs: Number(BigInt.asUintN(52, updatedAt * MS_PER_SECOND)),
  }
}

/**
 * The balances of addresses in a token at the end of a block, in their order. Rejects if the node has forgotten
 * it.
 */
export async function askBalances(
  node: ChainNode,
  {
    token,
    addresses,
    block,
  }: { readonly token: string; readonly addresses: readonly string[]; readonly block: number },
): Promise<readonly bigint[]> {
  const answers = await node.ask(
    addresses.map((address) => {
      const args = [getAddress(address)] as const
      const asked = encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args })
      return {
        method: 'eth_call',
        params: [{ to: token, data: asked }, `0x${block.toString(16)}`],
      }
    }),
  )
  return answers.map((answer) =>
    decodeFunctionResult({ abi: ABI, functionName: 'balanceOf', data: read(node, bytes, answer) }),
  )
}

/** By position: the contract's address, and the function that is called without parameters. */
function contractCall(to: string, functionName: 'decimals' | 'latestRoundData'): RpcCall {
  return {
    method: 'eth_call',
    params: [{ to, data: encodeFunctionData({ abi: ABI, functionName }) }, 'latest'],
  }
}

function readDecimals(node: ChainNode, answer: unknown): number {
  return decodeFunctionResult({
    abi: ABI,
    functionName: 'decimals',
    data: read(node, bytes, answer),
  })
}
