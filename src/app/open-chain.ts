import { ChainJob, type ChainLook, type Waiting } from '../sale/chain-look.ts'
import type { SaleMethod } from '../sale/method.ts'
import { openChainSale, type SaleSettings } from '../sale/open-methods.ts'
import type { Sale } from '../sale/sale.ts'
import type { Store } from '../store/store.ts'
import { fewNodesWarning } from './settings/chain-settings.ts'
import { running, type Wiring } from './wiring.ts'

/** The sale on a chain. */
interface OpenedChain {
  readonly methods: readonly SaleMethod[]
  /** Follows the chain until the process closes, and posts its deposits to the sale. */
  readonly follow: (sale: Sale) => void
}

/** Opens the sale on a chain; null: none is configured. Rejects with `ChainSettingsFault`. */
export async function openChain(
  { log, clock, ids, closing, telemetry }: Wiring,
  { db, settings }: { readonly db: Store['db']; readonly settings: SaleSettings },
): Promise<OpenedChain | null> {
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
