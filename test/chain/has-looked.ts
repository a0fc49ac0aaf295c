import { expect } from 'vitest'
import type { ServeProcess } from '../tollgate-process.ts'

/** The `METRICS_TOKEN` of a server whose looks are waited for. */
export const METRICS_TOKEN = 'metrics-token'

/** Resolves once a server has ended a look at the chain that succeeded. */
export async function hasLooked({ address }: Pick<ServeProcess, 'address'>): Promise<void> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
  const readMetrics = async () => (await fetch(`${address}/metrics`, { headers })).text()
  await expect
    .poll(readMetrics, { interval: 10 })
    .toMatch(/^tollgate_chain_looks_total\{outcome="(advanced|idle)"\} [1-9]/m)
}
