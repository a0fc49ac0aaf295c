import { createHash } from 'node:crypto'
import type { Confirm } from './questions.ts'

/** Settings of a chain that can't be used; the message says what to do. */
export class ChainSettingsFault extends Error {
  override readonly name = 'ChainSettingsFault'
}

/** The nodes do not let a rescan begin or end; its findings until then are in the store. */
export class RescanFailed extends Error {
  override readonly name = 'RescanFailed'
}

/** A stablecoin that deposits are paid in. */
export interface Stablecoin {
  /** Such as `USDC`. */
  readonly symbol: string
  /** The id of the method on sale: `base-usdc`. */
  readonly method: string
  /** The address of its contract, in lower case: any contract can have the name. */
  readonly address: string
  readonly decimals: number
  readonly price: TokenPrice
}

/** The source of a token's price in dollars. */
export type TokenPrice =
  | {
      readonly kind: 'fixed'
      /** Dollars for one token, times 10^8. */
      readonly rate8: bigint
    }
  | {
      readonly kind: 'feed'
      /** The address of the feed's contract. */
      readonly feed: string
      /** The age from which the feed's price counts as stale. */
      readonly staleAfterMs: number
    }

/** How deposits on a chain are found. */
export interface ChainTerms {
  readonly chainId: number
  readonly tokens: readonly Stablecoin[]
  readonly confirm: Confirm
  /** So many nodes must say the same. */
  readonly quorum: number
}

const CHAIN_NAMES: Readonly<Record<number, string>> = {
  1: 'ethereum',
  10: 'optimism',
  56: 'bsc',
  100: 'gnosis',
  137: 'polygon',
  8453: 'base',
  42161: 'arbitrum',
  43114: 'avalanche',
}

/** The id of a method on sale. */
export function methodOf(chainId: number, symbol: string): string {
  return `${CHAIN_NAMES[chainId] ?? `chain-${chainId}`}-${symbol.toLowerCase()}`
}

/** The source of a deposit: its transaction, and its place among the logs of that transaction. */
export function sourceOfDeposit({
  chainId,
  txHash,
  place,
}: {
  readonly chainId: number
  readonly txHash: string
  readonly place: number
}): string {
  return `chain:${chainId}:${txHash}:${place}`
}

/** The deposit that a source names; null: it is the source of another payment. */
export function depositOfSource(
  source: string,
): { readonly chainId: number; readonly txHash: string; readonly place: number } | null {
  const [, chainId, txHash, place] =
    /^chain:(\d{1,15}):(0x[\da-f]{64}):(\d{1,9})$/.exec(source) ?? []
  if (chainId === undefined || txHash === undefined || place === undefined) return null
  return { chainId: Number(chainId), txHash, place: Number(place) }
}

const TOP_BIT_CLEAR = 0x7f_ff_ff_ff

/** The steps below the public key at which an account's deposits arrive. */
export function depositPath(accountId: string): readonly [number, number] {
  const digest = createHash('sha256').update(`tollgate deposit 1\n${accountId}`).digest()
  return [digest.readUInt32BE(0) & TOP_BIT_CLEAR, digest.readUInt32BE(4) & TOP_BIT_CLEAR]
}
