import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import { isAddress } from 'viem'
import type { Tables } from '../store/schema.ts'
import { readSetting, settingOnce, writeSetting } from '../store/settings.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { messageOf } from '../vocabulary/message-of.ts'
import { depositAddresses } from './chain/addresses.ts'
import { httpNode } from './chain/node.ts'
import { ChainSettingsFault, type ChainTerms, RescanFailed } from './chain/terms.ts'
import { hasMoreToScan } from './chain-look.ts'
import { ChainWatch, type ChainWatchInput } from './chain-watch.ts'
import { TokenDeposits } from './deposit-method.ts'
import { addDepositAddresses, HandedOut } from './deposit-rows.ts'

/** The settings of a chain. */
export interface ChainSettings {
  readonly chain: ChainTerms
  readonly rpcUrls: readonly string[]
  /** The extended public key below which each account has its address. */
  readonly xpub: string
  /** The addresses of contracts as they were typed: the case of their letters is a checksum. */
  readonly typedAddresses: readonly string[]
}

export interface OpenDepositsInput
  extends Pick<ChainWatchInput, 'terms' | 'db' | 'clock' | 'onNodeFailure'> {
  readonly settings: ChainSettings
}

/** The other parts of a watch: the sale that it posts to, and the listeners for its findings. */
type FollowInput = Omit<ChainWatchInput, 'chain' | 'nodes' | 'handedOut' | keyof OpenDepositsInput>

/** The sale on a chain, of which every part that needs `viem` is loaded with this file. */
export interface OpenedDeposits {
  readonly methods: readonly TokenDeposits[]
  readonly watch: (follow: FollowInput) => ChainWatch
  /** Binds the store to the public key. Rejects with `ChainSettingsFault` if it is bound to another. */
  readonly claimKey: () => Promise<void>
  /** Binds the store to the public key in place of the one that it had before. */
  readonly replaceKey: () => Promise<void>
  readonly rescan: (follow: FollowInput, fromBlock: number) => ReturnType<typeof rescanChain>
}

/** Opens the sale on a chain. Asks no node. Throws `ChainSettingsFault`. */
export function openDeposits({ settings, ...input }: OpenDepositsInput): OpenedDeposits {
  const { chain, rpcUrls, xpub, typedAddresses } = settings
  for (const address of typedAddresses) {
    if (isAddress(address)) continue
    throw new ChainSettingsFault(
      `CHAIN_TOKENS or CHAIN_PRICE_FEEDS has ${address}, which is mistyped: its checksum is wrong`,
    )
  }
  const addressOf = remembering(derivation(xpub))
  const nodes = rpcUrls.map((url) => httpNode({ url }))
  const handedOut = new HandedOut()
  const methods = chain.tokens.map(
    (coin) => new TokenDeposits({ ...input, chain, coin, nodes, addressOf, handedOut }),
  )
  const watch = (follow: FollowInput) =>
    new ChainWatch({ ...input, ...follow, chain, nodes, handedOut })
  const value = createHash('sha256').update(xpub).digest('hex')
  const setting = { name: 'sale_key', value } as const
  const claimKey = async () => {
    if ((await readSetting(input.db, setting.name)) === value) return
    if ((await settingOnce(input.db, setting)) !== value) throw new ChainSettingsFault(OTHER_KEY)
  }
  const rescan = async (follow: FollowInput, fromBlock: number) => {
    const { chainId } = chain
    await claimKey()
    return rescanChain({ ...input, chainId, addressOf, fromBlock, watch: watch(follow) })
  }
  return { methods, watch, rescan, claimKey, replaceKey: () => writeSetting(input.db, setting) }
}

const ACCOUNTS_AT_ONCE = 200

/**
 * Scans the chain again from a block, for the address of every account: a restored backup lacks addresses that were
 * handed out after it. Deposits that are in the store already stay as they are. Returns how many accounts' addresses were
 * searched, how many deposits were added, the last block, and the tokens that the gateway scans later. Throws `RescanFailed`.
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
}) {
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

const OTHER_KEY =
  "CHAIN_DEPOSIT_XPUB is another key than the one that this store's deposit addresses were made with: set that one again, or, to give out addresses of the new key from now on, run `tollgate sale replace-key`"

function derivation(xpub: string): (accountId: string) => string {
  try {
    return depositAddresses(xpub)
  } catch (cause) {
    throw new ChainSettingsFault(`CHAIN_DEPOSIT_XPUB cannot be used: ${messageOf(cause)}`, {
      cause,
    })
  }
}

const REMEMBERED_MAX = 10_000

/** A derivation takes milliseconds of the thread that serves requests: it is made once an account. */
function remembering(derive: (accountId: string) => string): (accountId: string) => string {
  const known = new Map<string, string>()
  return (accountId) => {
    const found = known.get(accountId)
    if (found !== undefined) return found
    if (known.size >= REMEMBERED_MAX) known.clear()
    const address = derive(accountId)
    known.set(accountId, address)
    return address
  }
}
