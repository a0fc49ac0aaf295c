import { expect } from 'vitest'
import type { ServeProcess } from '../tollgate-process.ts'
import { ANVIL_CHAIN_ID, type Anvil } from './anvil.ts'
import { XPUB } from './deposit-bench.ts'

const METRICS_TOKEN = 'metrics-token'

/** The settings of a server that takes USDC on a chain, and whose looks are waited for. */
export const looking = ({ url, usdc }: Anvil) => ({
  CHAIN_ID: String(ANVIL_CHAIN_ID),
  CHAIN_RPC_URLS: `${url},${url}/`,
  CHAIN_TOKENS: `USDC=${usdc}:6`,
  CHAIN_PRICE_FEEDS: 'USDC=1',
  CHAIN_DEPOSIT_XPUB: XPUB,
  TOLLGATE_SALE_MINIMUM: '1',
  METRICS_TOKEN,
})

/** Resolves once a server has ended a look at the chain that succeeded. */
export async function hasLooked({ address }: Pick<ServeProcess, 'address'>): Promise<void> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
  const readMetrics = async () => (await fetch(`${address}/metrics`, { headers })).text()
  await expect
    .poll(readMetrics, { interval: 10 })
    .toMatch(/^tollgate_chain_looks_total\{outcome="(advanced|idle)"\} [1-9]/m)
}
