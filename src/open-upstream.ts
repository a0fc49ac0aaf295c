import { Upstream } from './upstream/upstream.ts'
import type { Wiring } from './wiring.ts'

/** The connections of one thread to the provider. */
export function openUpstream({ config, address, closing }: Wiring): Upstream {
  const upstream = new Upstream({
    baseUrl: address.baseUrl,
    apiKey: address.apiKey,
    connectTimeoutMs: config.TOLLGATE_CONNECT_TIMEOUT_MS,
  })
  closing.defer(() => upstream.destroy())
  return upstream
}
