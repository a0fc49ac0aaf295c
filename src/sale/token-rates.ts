import type { Kysely } from 'kysely'
import { TOKEN_RATES } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { agreementOf, askEach } from './chain/agreement.ts'
import { askToken, type TokenReading } from './chain/feed.ts'
import type { ChainNode } from './chain/node.ts'
import type { ChainTerms, Stablecoin } from './chain/terms.ts'
import type { TokenRate } from './deposit-value.ts'

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

/** The rates of a chain's tokens, by the address of the token. */
export async function readRates(
  db: Kysely<Tables>,
  chainId: number,
): Promise<ReadonlyMap<string, TokenRate>> {
  const rows = await db
    .selectFrom('token_rates')
    .selectAll()
    .where('chain_id', '=', chainId)
    .execute()
  return new Map(rows.map((row) => [row.token, TOKEN_RATES.read(row)]))
}

/** Writes a rate that nodes agree on. */
async function writeRate(db: Kysely<Tables>, row: TokenRate): Promise<void> {
  const { rate8, feedAtMs, readAtMs } = row
  await db
    .insertInto('token_rates')
    .values(TOKEN_RATES.record(row))
    .onConflict((conflict) =>
      conflict
        .columns(['chain_id', 'token'])
        .doUpdateSet({ rate8, feed_at_ms: feedAtMs, read_at_ms: readAtMs }),
    )
    .execute()
}

/** Closes a token: nothing is quoted or credited of it until a look agrees on a rate again. */
async function removeRate(
  db: Kysely<Tables>,
  { chainId, token }: Pick<TokenRate, 'chainId' | 'token'>,
): Promise<void> {
  await db
    .deleteFrom('token_rates')
    .where('chain_id', '=', chainId)
    .where('token', '=', token)
    .execute()
}
