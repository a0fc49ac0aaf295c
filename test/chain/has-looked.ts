import type { ServeProcess } from '../tollgate-process.ts'

/** The `METRICS_TOKEN` of a server whose looks are waited for. */
export const METRICS_TOKEN = 'metrics-token'

/** Resolves once a server has ended a look at the chain that succeeded. */
export async function hasLooked({ address }: Pick<ServeProcess, 'address'>): Promise<void> {
  for (;;) {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
    const metrics = await (await fetch(`${address}/metrics`, { headers })).text()
    if (/^tollgate_chain_looks_total\{outcome="(advanced|idle)"\} [1-9]/m.test(metrics)) return
  }
}
