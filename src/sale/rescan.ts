import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { RescanFailed } from './chain/terms.ts'
import { hasMoreToScan, type Waiting } from './chain-look.ts'
import type { ChainWatch } from './chain-watch.ts'
import { addDepositAddresses } from './deposit-rows.ts'

/** The result of a rescan. */
interface Rescanned {
  /** How many accounts' addresses were searched. */
  readonly addresses: number
  /** How many deposits it has added to the store. */
  readonly added: number
  /** The newest final block, which was scanned last. */
  readonly to: number
  /** Tokens that the gateway scans later. */
  readonly waiting: Waiting
}

const ACCOUNTS_AT_ONCE = 200

/**
 * Scans the chain again from a block, for the address of every account: a restored backup lacks addresses that were
 * handed out after it. Deposits that are in the store already stay as they are. Throws `RescanFailed`.
 */
export async function rescanChain({
  db,
  clock,
  chainId,
  addressOf,
  watch,
  fromBlock,
}: {
  readonly db: Kysely<Tables>
  readonly clock: Clock
  readonly chainId: number
  readonly addressOf: (accountId: string) => string
  readonly watch: Pick<ChainWatch, 'look' | 'rewind'>
  readonly fromBlock: number
}): Promise<Rescanned> {
  let addresses = 0
  for (let after: string | undefined = ''; after !== undefined; ) {
    const accounts = await db
      .selectFrom('accounts')
      .select('id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(ACCOUNTS_AT_ONCE)
      .execute()
    const createdAtMs = clock.nowMs()
    const rows = accounts.map(({ id: accountId }) => {
      const address = addressOf(accountId).toLowerCase()
      return { chainId, address, accountId, createdAtMs }
    })
    await addDepositAddresses(db, rows)
    addresses += rows.length
    after = accounts.at(-1)?.id
  }
  await watch.rewind(fromBlock)
  for (let added = 0; ; ) {
    const look = await watch.look()
    if ('reason' in look) throw new RescanFailed(`${look.kind}: ${look.reason}`)
    added += look.added
    const { to, waiting } = look
    if (!hasMoreToScan(look)) return { addresses, added, to, waiting }
  }
}
