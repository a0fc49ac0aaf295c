import type { Upstream } from './upstream.ts'

const PAGE_LIMITS = { timeoutMs: 30_000, bytesMax: 64 * 1024 * 1024 }

/** The upstream refuses our own account: its key is wrong, or its credit is used up. */
export class UpstreamRefusesAccount extends Error {
  override readonly name = 'UpstreamRefusesAccount'
}

/** All models, of whatever output. Rejects for any answer but a 200. */
export async function fetchModels(upstream: Upstream): Promise<unknown> {
  const { httpStatus, json } = await upstream.getJson('/models?output_modalities=all', PAGE_LIMITS)
  if (httpStatus === 401 || httpStatus === 402) {
    throw new UpstreamRefusesAccount(
      `the upstream answers ${httpStatus}: check UPSTREAM_API_KEY and the account behind it`,
    )
  }
  if (httpStatus !== 200)
    throw new Error(`the upstream answers ${httpStatus} to its list of models`)
  return json
}

/** Where a model's image prices are listed; null where the upstream has no such page for it. */
export async function fetchImageEndpoints(upstream: Upstream, modelId: string): Promise<unknown> {
  const path = modelId.split('/').map(encodeURIComponent).join('/')
  const { httpStatus, json } = await upstream.getJson(
    `/images/models/${path}/endpoints`,
    PAGE_LIMITS,
  )
  if (httpStatus === 404) return null
  if (httpStatus !== 200)
    throw new Error(`the upstream answers ${httpStatus} to an image model's prices`)
  return json
}
