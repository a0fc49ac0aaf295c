import { member } from '../../formats/fields.ts'
import type { ProviderError } from '../../formats/provider-error.ts'
import { parseAnswer } from '../../json/body.ts'
import { isJsonObject, type JsonObject, type JsonValue, objectAt } from '../../json/walk.ts'
import type { StreamEventReading } from '../wire.ts'

// Phrases are matched within this much text: they are at the start of an error message.
const MATCHED_CHARS = 2_000

// A longer text is not parsed: an error is short.
const RELAYED_CHARS_MAX = 50_000

/**
 * The error in an answer with a status of success, or in an event, in any of the known layouts; null if there is
 * none.
 */
export function readSaidError(root: JsonObject): ProviderError | null {
  const isError =
    root['type'] === 'error' ||
    root['object'] === 'error' ||
    // Z.ai's gateway and Cloudflare's.
    root['success'] === false ||
    member(root, 'error') !== undefined ||
    miniMaxError(root) !== undefined
  return isError ? readProviderError(root, null) : null
}

/** Reads the error object of an answer, in any of the known layouts. */
export function readProviderError(
  root: JsonObject | null,
  httpStatus: number | null,
): ProviderError {
  const error = root === null ? undefined : errorIn(root)
  if (!isJsonObject(error)) {
    const message = typeof error === 'string' ? error.slice(0, MATCHED_CHARS) : ''
    return { httpStatus, kinds: [], messagesType: null, message }
  }
  const metadata = isJsonObject(error['metadata']) ? error['metadata'] : {}
  const kinds = [
    error['type'],
    error['code'],
    error['error_type'],
    metadata['error_type'],
    root?.['error_type'],
  ].filter((kind): kind is string => typeof kind === 'string')
  return {
    httpStatus:
      httpStatus ??
      statusOf(error['code']) ??
      statusOf(error['http_status']) ??
      statusOfKinds(kinds),
    kinds,
    messagesType: messagesTypeOf(root, error),
    ...(typeof error['param'] === 'string' ? { param: error['param'] } : {}),
    message: [error['message'], relayedMessage(metadata['raw'])]
      .filter((text) => typeof text === 'string')
      .map((text) => text.slice(0, MATCHED_CHARS))
      .join('\n'),
  }
}

/**
 * The error of an answer: the member `error`, or the whole answer, as Mistral and SGLang write it, or the text `detail` of
 * FastAPI.
 */
function errorIn(root: JsonObject): JsonValue | undefined {
  const whole = typeof root['message'] === 'string' ? root : root['detail']
  return root['error'] ?? miniMaxError(root) ?? whole
}

// platform.minimax.io/docs/api-reference/errorcode, read on 2026-11-28.
const MINIMAX_CODES: Readonly<Record<number, string>> = {
  1002: 'rate_limit_exceeded',
  1004: 'authentication_error',
  1008: 'insufficient_quota',
  1026: 'content_filter',
  1027: 'content_filter',
}

/** The error that MiniMax writes beside an answer's members, with the status 200; undefined: none. */
function miniMaxError(root: JsonObject): JsonObject | undefined {
  const { status_code: code, status_msg: message = '' } = objectAt(root, 'base_resp')
  if (typeof code !== 'number' || code === 0) return undefined
  return { code: MINIMAX_CODES[code] ?? '', message }
}

/**
 * The type of an error of the messages format, which says that it is one or has nothing of another layout; null for
 * other layouts, whose types are other words.
 */
function messagesTypeOf(root: JsonObject | null, error: JsonObject): string | null {
  const { type } = error
  if (typeof type !== 'string' || error === root) return null
  const isOther = root?.['type'] !== 'error' && ('code' in error || 'param' in error)
  return isOther ? null : type
}

/** The message of a provider's answer to OpenRouter, which passes it on as text, mostly of JSON; null for no text. */
function relayedMessage(raw: JsonValue | undefined): string | null {
  if (typeof raw !== 'string') return null
  const root = raw.length > RELAYED_CHARS_MAX ? undefined : parseAnswer(Buffer.from(raw))?.root
  if (root === undefined) return raw
  const error = isJsonObject(root['error']) ? root['error'] : root
  return typeof error['message'] === 'string' ? error['message'] : null
}

function statusOf(code: JsonValue | undefined): number | null {
  const httpStatus = typeof code === 'string' && /^\d{3}$/.test(code) ? Number(code) : code
  return typeof httpStatus === 'number' && httpStatus >= 400 && httpStatus <= 599
    ? httpStatus
    : null
}

/** Statuses of machine-readable words, for errors without a status: in a stream or in a 200. */
const STATUS_OF_KIND: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_request: 400,
  invalid_prompt: 400,
  context_length_exceeded: 400,
  max_tokens_exceeded: 400,
  token_limit_exceeded: 400,
  string_too_long: 400,
  content_policy_violation: 400,
  content_filter: 400,
  image_content_policy_violation: 400,
  invalid_image: 400,
  image_too_large: 400,
  image_too_small: 400,
  unsupported_image_format: 400,
  image_not_found: 400,
  image_download_failed: 400,
  authentication_error: 401,
  authentication: 401,
  invalid_api_key: 401,
  billing_error: 402,
  payment_required: 402,
  insufficient_quota: 402,
  permission_error: 403,
  permission_denied: 403,
  not_found_error: 404,
  not_found: 404,
  conflict_error: 409,
  request_too_large: 413,
  payload_too_large: 413,
  unprocessable: 422,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
}

// A word about the service's own account has precedence over other words.
function statusOfKinds(kinds: readonly string[]): number | null {
  const statuses = kinds
    .filter((kind) => Object.hasOwn(STATUS_OF_KIND, kind))
    .map((kind) => STATUS_OF_KIND[kind])
  const ofOwnAccount = statuses.find((status) => status === 401 || status === 402)
  return ofOwnAccount ?? statuses[0] ?? null
}

/** The reading of an event whose data is no JSON object: an error without any detail. */
export const UNREADABLE_EVENT: StreamEventReading = {
  kind: 'error',
  error: readProviderError(null, null),
}
