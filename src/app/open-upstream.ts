import { EndpointPrices, type EndpointRead } from '../catalog/endpoint-prices.ts'
import { Upstream } from '../upstreams/upstream.ts'
import type { Wiring } from './wiring.ts'

/** The connections of this process to the provider. */
export function openUpstream({ config, dialect, address, closing }: Wiring): Upstream {
  const upstream = new Upstream({
    dialect,
    baseUrl: address.baseUrl,
    apiKey: address.apiKey,
    connectTimeoutMs: config.TOLLGATE_CONNECT_TIMEOUT_MS,
  })
  closing.defer(() => upstream.destroy())
  return upstream
}

/** What models cost at any of their providers. By position: the wiring, and the connections to read it over. */
export function openEndpointPrices(
  { config, clock, log, telemetry, closing }: Wiring,
  upstream: Upstream,
): EndpointPrices {
  const endpoints = new EndpointPrices({
    clock,
    firstReadTimeoutMs: config.TOLLGATE_ENDPOINTS_TIMEOUT_MS,
    fetchDearestPrices: (modelId, bounds) =>
      upstream.dialect.fetchDearestPrices(upstream, modelId, bounds),
    onRead: (read) => {
      logRead(log, read)
      telemetry.endpointsRead(read)
    },
  })
  closing.defer(() => endpoints.stop())
  return endpoints
}

/** Only where it goes otherwise than before: it is read every few minutes. */
function logRead(log: Wiring['log'], { modelId, failure, isChange }: EndpointRead): void {
  if (!isChange) return
  if (failure === null) log.info({ modelId }, "the prices of a model's providers can be read again")
  else {
    log.warn(
      { modelId, cause: String(failure.cause) },
      "the prices of a model's providers could not be read: its listed prices are held",
    )
  }
}
