import type { PlayPageInput } from '../http/play-page.ts'
import type { WebhookInput } from '../http/sale-webhook.ts'
import type { Authenticator } from '../journey/gate/authenticator.ts'
import type { BatchedLedger } from '../ledger/engines/batched-ledger.ts'
import { isSignedByStripe } from '../sale/card/stripe.ts'
import { CardPoll } from '../sale/card-poll.ts'
import { makeSale, type OpenedCard } from '../sale/open-methods.ts'
import type { Sale } from '../sale/sale.ts'
import type { Store } from '../store/store.ts'
import { openChain } from './open-chain.ts'
import { saleSettingsOf } from './settings/sale-settings.ts'
import { running, type Wiring } from './wiring.ts'

/** The sale of credit, and its routes that are no operations; null if nothing is sold. */
export async function openSale(
  wiring: Wiring,
  {
    store,
    ledger,
    authenticator,
    pageUrl: publicUrl,
  }: {
    readonly store: Store
    readonly ledger: BatchedLedger
    readonly authenticator: Authenticator
    readonly pageUrl: () => string
  },
): Promise<{
  readonly sale: Sale
  readonly playPage: PlayPageInput | null
  readonly webhook: WebhookInput | null
} | null> {
  const { config, configured, clock, ids } = wiring
  const { db } = store
  const settings = saleSettingsOf(config)
  const chain = await openChain(wiring, { db, settings })
  const sold = makeSale(settings, {
    db,
    ledger,
    ids,
    clock,
    publicUrl,
    isSimulator: configured.mode === 'simulator',
    deposits: chain?.methods ?? [],
    onCreditChanged: async (accountId) => authenticator.forget({ accountId }),
  })
  if (sold === null) return null
  const { sale, card } = sold
  // The package that a setting needs is missed at the start, not at the first purchase.
  if (card?.kind === 'stripe') await card.stripe.load()
  const poll = card && startPoll(wiring, { db, sale, card })
  chain?.follow(sale)
  return {
    sale,
    playPage:
      card?.kind === 'play'
        ? { card: card.play, onPaid: (source: string) => sale.look(source), pageUrl: publicUrl }
        : null,
    webhook: card?.kind === 'stripe' && poll !== null ? webhookOf(wiring, poll) : null,
  }
}

function startPoll(
  { clock, log, closing }: Wiring,
  {
    db,
    sale,
    card: { method },
  }: {
    readonly db: Store['db']
    readonly sale: Sale
    readonly card: OpenedCard
  },
): CardPoll {
  const poll = new CardPoll({
    db,
    sale,
    method,
    clock,
    onFailure: (source, cause) =>
      log.warn(
        { source, cause: String(cause) },
        'payments by card could not be looked up and will be tried again',
      ),
  })
  return running({ closing }, poll)
}

/** A message of Stripe only makes the poll look; null: without a secret no message can be trusted even to do that. */
function webhookOf({ config, clock }: Wiring, poll: CardPoll): WebhookInput | null {
  const { STRIPE_WEBHOOK_SECRET: secret } = config
  if (secret === null) return null
  return {
    path: '/v1/credit/webhooks/stripe',
    bodyTimeoutMs: config.TOLLGATE_BODY_READ_TIMEOUT_MS,
    isGenuine: (body, { 'stripe-signature': header }) =>
      typeof header === 'string' &&
      isSignedByStripe(body, { header, secret, nowMs: clock.nowMs() }),
    onMessage: () => poll.ring(),
  }
}
