import { parseAnswer } from '../../json/body.ts'
import { decimalAt } from '../../json/edit.ts'
import { isJsonObject, type JsonBody, type JsonObject, tokenCount } from '../../json/walk.ts'
import { addDecimals, type Decimal } from '../../vocabulary/money.ts'
import type { TokenUsage } from '../../vocabulary/outcome.ts'
import {
  type FetchGenerationInput,
  type GenerationAnswer,
  type KeyUsageAnswer,
  UpstreamRefusesAccount,
} from '../provider-records.ts'
import type { Dialect, Upstream } from '../upstream.ts'
import {
  fetchEndpoints,
  fetchImageEndpoints,
  fetchModels,
  parseEndpointTerms,
  parseFlatImagePrice,
  parseModels,
} from './catalog.ts'
import { chat, completions, embeddings, images } from './chat.ts'
import { messages } from './messages.ts'
import { believedUsage } from './reported.ts'
import { responses } from './responses.ts'

/** OpenRouter, and servers of its layout. */
export const openrouter: Dialect = {
  baseUrl: 'https://openrouter.ai/api/v1',
  parsesFiles: true,
  billsLeftCalls: true,
  hasCatalogIds: true,
  headers: (apiKey) => (apiKey === null ? [] : ['authorization', `Bearer ${apiKey}`]),
  wires: new Map(Object.entries({ chat, completions, embeddings, images, messages, responses })),
  usualFormats: null,
  fetchModels: async (upstream, settings) => parseModels(await fetchModels(upstream), settings),
  fetchHighestTerms: async (upstream, modelId, bounds) =>
    parseEndpointTerms(await fetchEndpoints(upstream, modelId, bounds)),
  async fetchFlatImagePrice(upstream, modelId) {
    const page = await fetchImageEndpoints(upstream, modelId)
    return page === null ? 0n : parseFlatImagePrice(page)
  },
  fetchGeneration,
  fetchKeyUsage,
}

// The provider's own records: the cost of a generation, and the usage of our key.

const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 1024 * 1024

const UNKNOWN: GenerationAnswer = { kind: 'unknown' }

/** Looks up a generation in the upstream's own records. Never rejects. */
export async function fetchGeneration(
  upstream: Upstream,
  { generationId, signal }: FetchGenerationInput,
): Promise<GenerationAnswer> {
  try {
    const { httpStatus, bytes } = await upstream.getBytes(
      `/generation?id=${encodeURIComponent(generationId)}`,
      {
        timeoutMs: TIMEOUT_MS,
        bytesMax: ANSWER_BYTES_MAX,
        ...(signal === undefined ? {} : { signal }),
      },
    )
    return readAnswer(generationId, { httpStatus, body: parseAnswer(bytes) })
  } catch (cause) {
    return { kind: 'unavailable', cause }
  }
}

function readAnswer(
  generationId: string,
  { httpStatus, body }: { readonly httpStatus: number; readonly body: JsonBody | null },
): GenerationAnswer {
  switch (httpStatus) {
    case 200:
      return body === null
        ? unavailable('200 without a JSON object')
        : readRecord(body, generationId)
    case 404:
      return isAboutId(body) ? UNKNOWN : { kind: 'noEndpoint' }
    // Statuses that are answers about this ID, which a repetition would not change: they delay no other look-up.
    case 400:
    case 410:
    case 422:
      return UNKNOWN
    case 405:
    case 501:
      return { kind: 'noEndpoint' }
    default:
      return unavailable(httpStatus)
  }
}

function unavailable(answered: string | number): GenerationAnswer {
  return {
    kind: 'unavailable',
    cause: new Error(`the upstream answers ${answered} to a look-up of a generation`),
  }
}

/** Whether a 404 is about the id: OpenRouter repeats the 404 in its error body; an unknown path does not. */
function isAboutId(body: JsonBody | null): boolean {
  const error = body?.root['error']
  return isJsonObject(error) && (error['code'] === 404 || error['http_status'] === 404)
}

function readRecord(body: JsonBody, generationId: string): GenerationAnswer {
  const record = body.root['data']
  if (!isJsonObject(record)) return UNKNOWN
  // A record of another generation must never become this request's charge.
  if (record['id'] !== generationId) return { kind: 'otherGeneration' }
  const costUsd = readCost(body, record)
  return costUsd === null ? UNKNOWN : { kind: 'found', costUsd, usage: readUsage(record) }
}

/** The counts of the model's own tokenizer, which are billed; the prompt count includes cached input. */
function readUsage(record: JsonObject): TokenUsage | null {
  return believedUsage({
    promptTokens: tokenCount(record['native_tokens_prompt']),
    outputTokens: tokenCount(record['native_tokens_completion']),
    totalTokens: null,
    cacheReadTokens: tokenCount(record['native_tokens_cached']),
    cacheWriteTokens: null,
    reasoningTokens: tokenCount(record['native_tokens_reasoning']),
    imageOutputTokens: tokenCount(record['native_tokens_completion_images']),
    searches: 0,
  })
}

/**
 * With the account's own provider keys, the provider's share is a separate field. Null without the share, unlike in an
 * answer: a part of the cost must not become the final charge.
 */
function readCost(body: JsonBody, record: JsonObject): Decimal | null {
  const costUsd = decimalAt(body, ['data', 'total_cost'])
  if (record['is_byok'] !== true || costUsd === null) return costUsd
  const shareUsd = decimalAt(body, ['data', 'upstream_inference_cost'])
  return shareUsd === null ? null : addDecimals(costUsd, shareUsd)
}

const REFUSALS = [401, 402, 403]

const NO_FIGURE: KeyUsageAnswer = { kind: 'noFigure' }

/**
 * Reads the usage of our key since it was made, including the account's own keys at providers, and the rest of its
 * limit. Never rejects.
 */
async function fetchKeyUsage(upstream: Upstream): Promise<KeyUsageAnswer> {
  try {
    const { httpStatus, bytes } = await upstream.getBytes('/key', {
      timeoutMs: TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
    })
    if (httpStatus === 404 || httpStatus === 405 || httpStatus === 501) return NO_FIGURE
    // A public list of models does not show whether a key is valid.
    if (REFUSALS.includes(httpStatus)) {
      return { kind: 'refused', cause: new UpstreamRefusesAccount(httpStatus) }
    }
    const body = httpStatus === 200 ? parseAnswer(bytes) : null
    if (body === null) {
      const cause = new Error(`the upstream answers ${httpStatus} to a question about its key`)
      return { kind: 'unavailable', cause }
    }
    const usageUsd = decimalAt(body, ['data', 'usage'])
    if (usageUsd === null) return NO_FIGURE
    const byokUsd = decimalAt(body, ['data', 'byok_usage'])
    return {
      kind: 'found',
      usageUsd: byokUsd === null ? usageUsd : addDecimals(usageUsd, byokUsd),
      leftUsd: decimalAt(body, ['data', 'limit_remaining']),
    }
  } catch (cause) {
    return { kind: 'unavailable', cause }
  }
}
