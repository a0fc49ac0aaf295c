import type { ResponseBounds } from '../buffered-request.ts'
import { type Upstream, UpstreamRefusesAccount } from '../upstream.ts'

const PAGE_LIMITS = { timeoutMs: 30_000, bytesMax: 64 * 1024 * 1024 }

const MODELS_QUERY = 'output_modalities=all'

// The largest page has a thousand models. A provider that lists more than this repeats itself.
const MODEL_PAGES_MAX = 20

/** All models, of whatever output and on however many pages. Rejects for any answer but a 200. */
export async function fetchModels(upstream: Upstream): Promise<unknown> {
  const models: unknown[] = []
  let query: string | null = MODELS_QUERY
  for (let pages = 0; query !== null; pages++) {
    if (pages === MODEL_PAGES_MAX) throw new Error("the upstream's list of models does not end")
    const answer = await fetchModelPage(upstream, query)
    const rows = memberOf(answer, 'data')
    query = nextQuery(answer)
    if (pages === 0 && query === null) return answer
    if (!Array.isArray(rows)) throw new Error("a page of the upstream's list of models has none")
    for (const row of rows) models.push(row)
  }
  return { data: models }
}

async function fetchModelPage(upstream: Upstream, query: string): Promise<unknown> {
  const { httpStatus, json } = await upstream.getJson(`/models?${query}`, PAGE_LIMITS)
  if (httpStatus === 401 || httpStatus === 402) {
    throw new UpstreamRefusesAccount(
      `the upstream answers ${httpStatus}: check UPSTREAM_API_KEY and the account behind it`,
    )
  }
  if (httpStatus !== 200)
    throw new Error(`the upstream answers ${httpStatus} to its list of models`)
  return json
}

// Of the next page's address only the query is taken: our key goes to no other host. Null: no more pages.
function nextQuery(answer: unknown): string | null {
  const next = memberOf(memberOf(answer, 'links'), 'next') ?? null
  if (next === null) return null
  const at = typeof next === 'string' ? URL.parse(next, 'http://upstream') : null
  if (at === null || at.search === '') {
    throw new Error("the upstream's list of models goes on at no address")
  }
  if (!at.searchParams.has('output_modalities')) at.searchParams.set('output_modalities', 'all')
  return at.searchParams.toString()
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

// A model has some dozen providers, of a kilobyte or two each.
const ENDPOINTS_BYTES_MAX = 1024 * 1024

/** Where a model's providers and their prices are listed. Rejects for any answer but a 200. */
export async function fetchEndpoints(
  upstream: Upstream,
  modelId: string,
  bounds: Omit<ResponseBounds, 'bytesMax'>,
): Promise<unknown> {
  const path = modelId.split('/').map(encodeURIComponent).join('/')
  const { httpStatus, json } = await upstream.getJson(`/models/${path}/endpoints`, {
    ...bounds,
    bytesMax: ENDPOINTS_BYTES_MAX,
  })
  if (httpStatus !== 200)
    throw new Error(`the upstream answers ${httpStatus} to a model's list of endpoints`)
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
