import { readSetting, settingOnce } from '../store/settings.ts'
import { CardMethod, type CardMethodInput } from './card/card-method.ts'
import { PlayCard } from './card/play.ts'
import { StripeCard, type StripeSettings } from './card/stripe.ts'
import { ChainSettingsFault } from './chain/terms.ts'
import type { SaleMethod } from './method.ts'
import type { ChainSettings, OpenDepositsInput, OpenedDeposits } from './open-deposits.ts'
import { Sale, type SaleInput } from './sale.ts'

/** How credit is sold, by the settings. */
export interface SaleSettings extends Pick<SaleInput, 'ceilings' | 'seller'> {
  /** The terms of one purchase by card. */
  readonly terms: Omit<CardMethodInput, 'provider'>
  /** Null: no card is charged. */
  readonly stripe: StripeSettings | null
  /** Null: no deposits are taken. */
  readonly chain: ChainSettings | null
}

/** The parts of the sale, in any process. */
interface SaleParts extends Pick<SaleInput, 'db' | 'ledger' | 'ids' | 'clock' | 'onCreditChanged'> {
  /** The address of the gateway for browsers. */
  readonly publicUrl: () => string
  readonly isSimulator: boolean
  /** The methods by which deposits on a chain are sold. */
  readonly deposits: readonly SaleMethod[]
}

/** The sale by card, with its provider by its kind. */
export type OpenedCard =
  | { readonly kind: 'play'; readonly method: CardMethod; readonly play: PlayCard }
  | { readonly kind: 'stripe'; readonly method: CardMethod; readonly stripe: StripeCard }

/** The sale by the methods that the settings have; null: nothing is sold. */
export function makeSale(
  { ceilings, seller, ...settings }: Omit<SaleSettings, 'chain'>,
  parts: SaleParts,
): { readonly sale: Sale; readonly card: OpenedCard | null } | null {
  const card = makeCard(settings, parts)
  const methods = [...(card === null ? [] : [card.method]), ...parts.deposits]
  if (methods.length === 0) return null
  return { card, sale: new Sale({ ...parts, methods, ceilings, seller }) }
}

/** Opens Stripe if its key is set, else play money if the simulator answers; null: cards are not taken. */
function makeCard(
  { terms, stripe: settings }: Pick<SaleSettings, 'terms' | 'stripe'>,
  { db, ids, clock, publicUrl, isSimulator }: SaleParts,
): OpenedCard | null {
  if (settings !== null) {
    const storeId = async () =>
      (await readSetting(db, 'sale_store')) ??
      settingOnce(db, { name: 'sale_store', value: ids.next('store') })
    const stripe = new StripeCard({ ...settings, clock, publicUrl, storeId })
    return { kind: 'stripe', stripe, method: new CardMethod({ ...terms, provider: stripe }) }
  }
  if (!isSimulator) return null
  const play = new PlayCard({ db, clock, publicUrl })
  return { kind: 'play', play, method: new CardMethod({ ...terms, provider: play }) }
}

/**
 * The sale on a chain; null: no chain is configured, and nothing of it is loaded then. Throws `ChainSettingsFault`.
 */
export async function openChainSale(
  { chain, terms }: Pick<SaleSettings, 'chain' | 'terms'>,
  parts: Omit<OpenDepositsInput, 'settings' | 'terms'>,
): Promise<OpenedDeposits | null> {
  if (chain === null) return null
  const { openDeposits } = await import('./open-deposits.ts').catch(explainMissing)
  return openDeposits({ ...parts, settings: chain, terms })
}

const MODULE_MISSING = 'ERR_MODULE_NOT_FOUND'

/** Loading fails only where the package is not there. */
function explainMissing(cause: unknown): never {
  const isMissing = cause instanceof Error && 'code' in cause && cause.code === MODULE_MISSING
  if (!isMissing) throw cause
  throw new ChainSettingsFault(
    'CHAIN_ID is set, but the package viem is not installed: npm install viem (in the folder of tollgate; with --global if tollgate was installed so)',
    { cause },
  )
}
