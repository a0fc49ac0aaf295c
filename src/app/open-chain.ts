import { ChainJob } from '../sale/chain-job.ts'
import type { ChainLook } from '../sale/chain-watch.ts'
import type { SaleMethod } from '../sale/method.ts'
import { openChainSale, type SaleSettings } from '../sale/open-methods.ts'
import type { Sale } from '../sale/sale.ts'
import type { Store } from '../store/open-store.ts'
import type { Wiring } from './wiring.ts'

/** The sale on a chain. */
interface OpenedChain {
  readonly methods: readonly SaleMethod[]
  /** Follows the chain until the process closes, and posts what it finds to the sale. */
  readonly follow: (sale: Sale) => void
}

/** Opens the sale on a chain; null: none is configured. Throws `ChainSettingsFault`. */
export async function openChain(
  { log, clock, ids, closing }: Wiring,
  { db, settings }: { readonly db: Store['db']; readonly settings: SaleSettings },
): Promise<OpenedChain | null> {
  const opened = await openChainSale(settings, {
    db,
    clock,
    onNodeFailure: ({ name }, cause) =>
      log.warn({ node: name, cause: String(cause) }, 'a node of the chain did not answer'),
  })
  if (opened === null) return null
  const follow = (sale: Sale): void => {
    const watch = opened.watch({
      post: (input) => sale.post(input),
      ids,
      onTokenClosed: ({ symbol, decimals: configured }, decimals) =>
        log.error(
          { token: symbol, configured, decimals },
          'a token is closed: its contract has other decimals than CHAIN_TOKENS',
        ),
      onFoundLate: (deposits) =>
        log.warn({ deposits }, 'the nightly scan found deposits that nodes had left out before'),
      onDust: (deposits) => log.info({ deposits }, 'deposits under a cent get no credit'),
    })
    const job = new ChainJob({
      watch,
      onLook: lookLog(log),
      onFailure: (cause) => log.error({ cause: String(cause) }, 'a look at the chain failed'),
    })
    closing.defer(() => job.stop())
    job.start()
  }
  return { methods: opened.methods, follow }
}

/** Logs one line when looks begin to fail, and when they succeed again. */
function lookLog(log: Wiring['log']): (look: ChainLook) => void {
  let latest: ChainLook['kind'] = 'idle'
  return (look) => {
    if ('reason' in look && look.kind !== latest) {
      const level = look.kind === 'unavailable' ? 'warn' : 'error'
      log[level]({ look: look.kind, reason: look.reason }, 'deposits are not followed now')
    } else if (!('reason' in look) && latest !== 'idle' && latest !== 'advanced') {
      log.info('deposits are followed again')
    }
    latest = look.kind
  }
}
