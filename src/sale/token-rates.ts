import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { agreementOf, askEach } from './chain/agreement.ts'
import { askToken, type TokenReading } from './chain/feed.ts'
import type { ChainNode } from './chain/node.ts'
import type { ChainTerms, Stablecoin } from './chain/terms.ts'
import { readRates, removeRate, writeRate } from './deposit-rows.ts'

/** The parts that read the rates of tokens. */
export interface RatesInput {
  readonly chain: ChainTerms
  readonly nodes: readonly ChainNode[]
  readonly db: Kysely<Tables>
  readonly clock: Clock
  /** Called with each node that did not answer, or answered something impossible. */
  readonly onNodeFailure: (node: ChainNode, cause: unknown) => void
  /** Called when nodes agree that a token has other decimals than its setting. It is closed then. */
  readonly onTokenClosed: (coin: Stablecoin, decimals: number) => void
}

// Rows that say when they were read are not written at every look that finds nothing else, but at once where the clock
// was set back.
const REWRITE_AFTER_MS = 30_000

/** Asks the nodes for the rate of each token, and stores a rate on which a quorum agrees. */
export async function refreshRates(input: RatesInput): Promise<void> {
  const { chain, nodes, onNodeFailure } = input
  await Promise.all(
    chain.tokens.map(async (coin) => {
      const answers = await askEach(nodes, (node) => askToken(node, coin), onNodeFailure)
      // Nodes a block apart may have different prices: the rate before stands until it is too old.
      const agreement = agreementOf(answers, chain.quorum)
      if (agreement.kind === 'agreed') await keepRate(input, { coin, reading: agreement.answer })
    }),
  )
}

async function keepRate(
  { chain, db, clock, onTokenClosed }: RatesInput,
  { coin, reading }: { readonly coin: Stablecoin; readonly reading: TokenReading },
): Promise<void> {
  const { decimals, rate8, feedAtMs } = reading
  const named = { chainId: chain.chainId, token: coin.address }
  if (decimals !== coin.decimals) {
    onTokenClosed(coin, decimals)
    await removeRate(db, named)
    return
  }
  const readAtMs = clock.nowMs()
  const row = { ...named, rate8: Number(rate8), feedAtMs: feedAtMs ?? readAtMs, readAtMs }
  const earlier = (await readRates(db, chain.chainId)).get(coin.address)
  const isChange =
    earlier?.rate8 !== row.rate8 || (feedAtMs ?? earlier.feedAtMs) !== earlier.feedAtMs
  if (isChange || Math.abs(readAtMs - earlier.readAtMs) >= REWRITE_AFTER_MS)
    await writeRate(db, row)
}
