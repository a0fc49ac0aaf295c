import type { Attributes } from '@opentelemetry/api'
import type { EndedRequest } from '../http/inference.ts'
import type { TokenUsage } from '../vocabulary/outcome.ts'

/** What every span says beside its request. */
export interface SpanSurroundings {
  /** Who runs the models, as far as the gateway knows: the upstream's host. */
  readonly providerName: string
}

const MS_PER_SECOND = 1_000

/** The name of a request's span: what is done, and by which model, where that was learned. */
export function spanName({ format, record }: EndedRequest): string {
  const { operation } = format.telemetry
  return record.modelId === null ? operation : `${operation} ${record.modelId}`
}

/** Why a request failed; null: it did not, or its client left. */
export function failureOf({ problem, record }: EndedRequest): string | null {
  return problem?.code ?? record.errorCode
}

/**
 * What a request's span says, by the semantic conventions of HTTP and of GenAI: figures and ids, never
 * what was asked or answered, nor a name that a client chose.
 */
export function spanAttributes(ended: EndedRequest, around: SpanSurroundings): Attributes {
  const { format, record, httpStatus, requestId } = ended
  return {
    'http.request.method': 'POST',
    'http.route': format.path,
    'http.response.status_code': httpStatus,
    'gen_ai.operation.name': format.telemetry.operation,
    'gen_ai.provider.name': around.providerName,
    'gen_ai.request.model': record.modelId ?? undefined,
    'gen_ai.request.stream': record.stream,
    'gen_ai.output.type': format.telemetry.outputType ?? undefined,
    'gen_ai.response.id': record.generationId ?? undefined,
    'gen_ai.response.time_to_first_chunk': timeToFirstChunk(ended),
    ...usageAttributes(record.usage),
    'error.type': failureOf(ended) ?? undefined,
    'tollgate.request.id': requestId,
    'tollgate.account.id': record.accountId ?? undefined,
    'tollgate.api_key.id': record.apiKeyId ?? undefined,
    'tollgate.charge.state': record.state ?? undefined,
    'tollgate.charge.micros': record.chargeMicros ?? undefined,
    'tollgate.hold.micros': record.holdMicros ?? undefined,
  }
}

/** Seconds; only streams have chunks. */
function timeToFirstChunk({ record, startedAtMs }: EndedRequest): number | undefined {
  const { stream, firstByteAtMs } = record
  if (!stream || firstByteAtMs === null) return undefined
  return Math.max(0, firstByteAtMs - startedAtMs) / MS_PER_SECOND
}

// The convention's input counts have what was read from or written to a cache within them.
function usageAttributes(usage: TokenUsage | null): Attributes {
  if (usage === null) return {}
  const cacheWriteTokens = usage.cacheWriteTokens + usage.cacheWriteLongTokens
  return {
    'gen_ai.usage.input_tokens': usage.inputTokens + usage.cacheReadTokens + cacheWriteTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheReadTokens,
    'gen_ai.usage.cache_write.input_tokens': cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
  }
}
