import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { readSetting, settingOnce } from '../store/settings.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { CardMethod, type CardMethodInput } from './card/card-method.ts'
import { PlayCard } from './card/play.ts'
import { StripeCard, type StripeSettings } from './card/stripe.ts'

/** How credit is sold, by the settings. */
export interface SaleSettings {
  /** What one purchase by card may be. */
  readonly terms: Omit<CardMethodInput, 'provider'>
  /** Null: no card is charged. */
  readonly stripe: StripeSettings | null
}

/** The sale by card, and its provider by its kind; null: nothing is sold by card. */
export type OpenedCard =
  | { readonly kind: 'play'; readonly method: CardMethod; readonly play: PlayCard }
  | { readonly kind: 'stripe'; readonly method: CardMethod; readonly stripe: StripeCard }
  | null

/** Opens the sale by card: at Stripe where its key is set, else with play money where the simulator answers. */
export function openCard(
  { terms, stripe: settings }: SaleSettings,
  {
    db,
    clock,
    ids,
    publicUrl,
    isSimulator,
  }: {
    readonly db: Kysely<Tables>
    readonly clock: Clock
    readonly ids: IdSource
    /** Where browsers reach the gateway. */
    readonly publicUrl: string
    readonly isSimulator: boolean
  },
): OpenedCard {
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
