import type { PlayPageInput } from '../http/play-page.ts'
import type { WebhookInput } from '../http/sale-webhook.ts'
import { isSignedByStripe } from '../sale/card/stripe.ts'
import { CardPoll } from '../sale/card-poll.ts'
import { ChainJob, type ChainLook, type Waiting } from '../sale/chain-look.ts'
import type { SaleMethod } from '../sale/method.ts'
import {
  makeSale,
  type OpenedCard,
  openChainSale,
  type SaleSettings,
} from '../sale/open-methods.ts'
import type { Sale } from '../sale/sale.ts'
import type { Store } from '../store/store.ts'
import type { HttpParts } from './serving-parts.ts'
import { fewNodesWarning } from './settings/chain-settings.ts'
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
  }: HttpParts & { readonly pageUrl: () => string },
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
        ? {
            card: card.play,
            onPaid: (source: string) => sale.look(source),
            pageUrl: publicUrl,
            serviceName: config.TOLLGATE_NAME,
          }
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

/** Opens the sale on a chain; null: none is configured. Rejects with `ChainSettingsFault`. */
async function openChain(
  { log, clock, ids, closing, telemetry }: Wiring,
  { db, settings }: { readonly db: Store['db']; readonly settings: SaleSettings },
): Promise<{
  readonly methods: readonly SaleMethod[]
  /** Follows the chain until the process closes, and posts its deposits to the sale. */
  readonly follow: (sale: Sale) => void
} | null> {
  const nodes = new NodeLog(log)
  const opened = await openChainSale(settings, {
    db,
    clock,
    onNodeFailure: ({ name }, cause) => {
      telemetry.metrics?.chainNodeFailed(name)
      nodes.failed(name, cause)
    },
  })
  if (opened === null) return null
  await opened.claimKey()
  const warning = fewNodesWarning(settings)
  if (warning !== null) log.warn(warning)
  const logLook = lookLog(log)
  const closed = new Set<string>()
  const follow = (sale: Sale): void => {
    const watch = opened.watch({
      post: (input) => sale.post(input),
      ids,
      onTokenClosed: ({ symbol, decimals: configured }, decimals) => {
        // Every look finds it closed.
        if (closed.has(symbol)) return
        closed.add(symbol)
        log.error(
          { token: symbol, configured, decimals },
          'deposits of a token are not credited: its contract has other decimals than CHAIN_TOKENS says. Correct CHAIN_TOKENS, and restart',
        )
      },
      onContradicted: (purchase) =>
        log.error(
          { purchase },
          'the chain has another transfer in place of the deposit of a purchase: the transfer gets no credit. Compare the purchase with an explorer',
        ),
      onFoundLate: (deposits) =>
        log.warn({ deposits }, 'the nightly scan found deposits that nodes had left out before'),
      onDust: (deposits) => log.info({ deposits }, 'deposits under a cent get no credit'),
    })
    const job = new ChainJob({
      watch,
      onPass: (look) => {
        telemetry.metrics?.chainLooked(look)
        nodes.looked()
        logLook(look)
      },
      onFailure: (cause) => {
        telemetry.metrics?.chainLooked(null)
        log.error(
          { cause: String(cause) },
          'a search of the chain for deposits failed and will be tried again',
        )
      },
    })
    running({ closing }, job)
  }
  return { methods: opened.methods, follow }
}

/** Logs one line when a node begins to fail, and one when it answers a whole look again. */
class NodeLog {
  readonly #log: Wiring['log']
  /** The nodes that failed in the look before. */
  #failing: ReadonlySet<string> = new Set()
  /** The nodes that have failed since. */
  #failed = new Set<string>()

  constructor(log: Wiring['log']) {
    this.#log = log
  }

  failed(node: string, cause: unknown): void {
    if (!this.#failing.has(node) && !this.#failed.has(node)) {
      this.#log.warn({ node, cause: String(cause) }, 'a node of the chain does not answer')
    }
    this.#failed.add(node)
  }

  looked(): void {
    for (const node of this.#failing) {
      if (!this.#failed.has(node)) this.#log.info({ node }, 'a node of the chain answers again')
    }
    this.#failing = this.#failed
    this.#failed = new Set()
  }
}

/** Only a rate needs an operator at once. */
const WAIT_LEVELS = { noRate: 'error', nodes: 'warn', catchingUp: 'info' } as const

/** Logs one line when looks or tokens begin to fail, and when they succeed again. */
export function lookLog(log: Wiring['log']): (look: ChainLook) => void {
  let latest: ChainLook['kind'] = 'idle'
  let waited: Waiting = {}
  return (look) => {
    const isFollowed = latest === 'idle' || latest === 'advanced'
    if ('reason' in look) {
      if (look.kind === latest) return
      latest = look.kind
      const level = look.kind === 'unavailable' ? 'warn' : 'error'
      log[level]({ look: look.kind, reason: look.reason }, 'deposits are not followed now')
      return
    }
    latest = look.kind
    if (!isFollowed) log.info('deposits are followed again')
    for (const [symbol, { kind, reason }] of Object.entries(look.waiting)) {
      if (waited[symbol]?.kind === kind) continue
      log[WAIT_LEVELS[kind]]({ token: symbol, reason }, 'deposits of a token wait')
    }
    for (const symbol of Object.keys(waited)) {
      if (symbol in look.waiting) continue
      log.info({ token: symbol }, 'deposits of a token are credited again')
    }
    waited = look.waiting
  }
}
