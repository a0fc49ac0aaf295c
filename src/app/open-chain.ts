import type { Ledger } from '../ledger/ledger.ts'
import { ChainSettingsFault } from '../sale/chain/terms.ts'
import { ChainJob } from '../sale/chain-job.ts'
import type { ChainLook } from '../sale/chain-watch.ts'
import type { SaleMethod } from '../sale/method.ts'
import type { Store } from '../store/open-store.ts'
import { chainSettingsOf } from './chain-settings.ts'
import { depositTermsOf } from './sale-settings.ts'
import type { Wiring } from './wiring.ts'

/**
 * The sale on a chain, and the watch of it; no method where no chain is configured, and nothing of it is loaded then.
 * Throws `ChainSettingsFault`.
 */
export async function openChain(
  { config, log, clock, ids, closing }: Wiring,
  parts: {
    readonly db: Store['db']
    readonly ledger: Pick<Ledger, 'postPurchase'>
    readonly onCreditChanged: (accountId: string) => Promise<void>
  },
): Promise<readonly SaleMethod[]> {
  const settings = chainSettingsOf(config)
  if (settings === null) return []
  const { openDeposits } = await import('../sale/open-deposits.ts').catch(explainMissing)
  const { methods, watch } = openDeposits({
    ...parts,
    settings,
    terms: depositTermsOf(config),
    ids,
    clock,
    onNodeFailure: ({ name }, cause) =>
      log.warn({ node: name, cause: String(cause) }, 'a node of the chain did not answer'),
    onTokenClosed: ({ symbol, decimals: configured }, decimals) =>
      log.error(
        { token: symbol, configured, decimals },
        'a token is closed: its contract has other decimals than CHAIN_TOKENS',
      ),
    onFoundLate: (deposits) =>
      log.warn({ deposits }, 'the nightly scan found deposits that nodes had left out before'),
    onDust: (deposits) => log.info({ deposits }, 'deposits under a cent get no credit'),
  })
  let latest: ChainLook['kind'] = 'idle'
  const job = new ChainJob({
    watch,
    onLook: (look) => {
      // One line when it begins, not at every look.
      if ('reason' in look && look.kind !== latest) {
        const level = look.kind === 'unavailable' ? 'warn' : 'error'
        log[level]({ look: look.kind, reason: look.reason }, 'deposits are not followed now')
      } else if (!('reason' in look) && latest !== 'idle' && latest !== 'advanced') {
        log.info('deposits are followed again')
      }
      latest = look.kind
    },
    onFailure: (cause) => log.error({ cause: String(cause) }, 'a look at the chain failed'),
  })
  closing.defer(() => job.stop())
  job.start()
  return methods
}

const MODULE_MISSING = 'ERR_MODULE_NOT_FOUND'

/** Loading fails only where the package is not there. */
function explainMissing(cause: unknown): never {
  const isMissing = cause instanceof Error && 'code' in cause && cause.code === MODULE_MISSING
  if (!isMissing) throw cause
  throw new ChainSettingsFault(
    'CHAIN_ID is set, but the package viem is not installed: npm install viem',
    { cause },
  )
}
