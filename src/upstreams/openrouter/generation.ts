import { parseAnswer } from '../../json/body.ts'
import { numberSource } from '../../json/edit.ts'
import { isJsonObject, type JsonBody, type JsonObject, type JsonValue } from '../../json/walk.ts'
import { addDecimals, type Decimal, isNegative, parseDecimal } from '../../vocabulary/money.ts'
import type { TokenUsage } from '../../vocabulary/outcome.ts'
import type { FetchGenerationInput, GenerationAnswer, Upstream } from '../upstream.ts'

const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 1024 * 1024

const UNKNOWN: GenerationAnswer = { kind: 'unknown' }

/** Looks a generation up in the upstream's own records. Never rejects. */
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

interface LookupAnswer {
  readonly httpStatus: number
  /** Null where it is no JSON object. */
  readonly body: JsonBody | null
}

function readAnswer(generationId: string, { httpStatus, body }: LookupAnswer): GenerationAnswer {
  switch (httpStatus) {
    case 200:
      return body === null
        ? unavailable('200 without a JSON object')
        : readRecord(body, generationId)
    case 404:
      return saysNotFound(body) ? UNKNOWN : { kind: 'noEndpoint' }
    // Verdicts on this one id, which asking again would not change: they hold up no other look-up.
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

/**
 * Whether a 404 is about the id. The aggregator says 404 in its error body; a server or a proxy that
 * does not know the path says something else, or nothing.
 */
function saysNotFound(body: JsonBody | null): boolean {
  const error = body?.root['error']
  return isJsonObject(error) && (error['code'] === 404 || error['http_status'] === 404)
}

function readRecord(body: JsonBody, generationId: string): GenerationAnswer {
  const record = body.root['data']
  if (!isJsonObject(record)) return UNKNOWN
  // A record of something else must never become this request's charge.
  if (record['id'] !== generationId) return { kind: 'otherGeneration' }
  const costUsd = readCost(body, record)
  return costUsd === null ? UNKNOWN : { kind: 'found', costUsd, usage: readUsage(record) }
}

/** The counts of the model's own tokenizer, which are the ones billed; cached input is within the prompt. */
function readUsage(record: JsonObject): TokenUsage | null {
  const prompt = tokenCount(record['native_tokens_prompt'])
  const completion = tokenCount(record['native_tokens_completion'])
  if (prompt === null && completion === null) return null
  const cacheReadTokens = tokenCount(record['native_tokens_cached']) ?? 0
  return {
    inputTokens: Math.max(0, (prompt ?? 0) - cacheReadTokens),
    cacheReadTokens,
    cacheWriteTokens: 0,
    cacheWriteLongTokens: 0,
    outputTokens: completion ?? 0,
    reasoningTokens: tokenCount(record['native_tokens_reasoning']) ?? 0,
    imageOutputTokens: tokenCount(record['native_tokens_completion_images']) ?? 0,
    searches: 0,
  }
}

function tokenCount(value: JsonValue | undefined): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}

/** As in an answer's usage: on the account's own provider keys, the provider's share stands apart. */
function readCost(body: JsonBody, record: JsonObject): Decimal | null {
  const costUsd = decimalAt(body, 'total_cost')
  if (record['is_byok'] !== true || costUsd === null) return costUsd
  const shareUsd = decimalAt(body, 'upstream_inference_cost')
  return shareUsd === null ? null : addDecimals(costUsd, shareUsd)
}

function decimalAt(body: JsonBody, name: string): Decimal | null {
  const source = numberSource(body, ['data', name])
  const decimal = source === null ? null : parseDecimal(source)
  return decimal === null || isNegative(decimal) ? null : decimal
}
