import type { Payload } from './delivery.ts'
import { DEFAULT_MARKER, type ErrorKind, type Fault, NO_FAULT } from './faults.ts'
import type { Skin } from './formats/format.ts'
import type { JsonObject } from './json-value.ts'

const MESSAGES_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

const RESPONSES_CODES: Readonly<Record<number, string>> = {
  400: 'invalid_prompt',
  422: 'invalid_prompt',
  429: 'rate_limit_exceeded',
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'authentication',
  402: 'payment_required',
  403: 'permission_denied',
  404: 'not_found',
  408: 'timeout',
  409: 'precondition_failed',
  413: 'payload_too_large',
  422: 'unprocessable',
  429: 'rate_limit_exceeded',
  502: 'provider_unavailable',
  503: 'provider_overloaded',
  524: 'timeout',
  529: 'provider_overloaded',
}

const KIND_TEXTS: Readonly<Record<ErrorKind, { readonly type: string; readonly message: string }>> =
  {
    contextLength: {
      type: 'context_length_exceeded',
      message:
        "This endpoint's maximum context length is 128000 tokens. However, you requested about 204813 tokens",
    },
    contentPolicy: {
      type: 'content_policy_violation',
      message: 'The request was flagged by our content policy and was not run',
    },
    invalidParameter: {
      type: 'invalid_request',
      message: 'Invalid parameter: temperature must be between 0 and 2',
    },
    unsupportedParameter: {
      type: 'invalid_request',
      message: 'Unsupported parameter: this model does not support tools',
    },
    noEndpoints: {
      type: 'not_found',
      message: 'No endpoints found that match your data policy',
    },
  }

/** The Messages wording of a status. */
export function messagesErrorType(httpStatus: number): string {
  return MESSAGES_TYPES[httpStatus] ?? 'api_error'
}

/** The Responses wording of a status. */
export function responsesErrorCode(httpStatus: number): string {
  return RESPONSES_CODES[httpStatus] ?? 'server_error'
}

/** The error type in the metadata for a status. */
export function metadataErrorType(httpStatus: number): string {
  return ERROR_TYPES[httpStatus] ?? 'server'
}

/** A short error body in a skin, for refusals by the simulator itself. */
export function errorBody(skin: Skin, httpStatus: number, message: string): JsonObject {
  switch (skin) {
    case 'messages':
      return {
        type: 'error',
        error: { type: messagesErrorType(httpStatus), message },
        request_id: null,
      }
    case 'responses':
      return httpStatus === 400
        ? { error: { code: 'invalid_prompt', message }, metadata: null }
        : { error: { code: httpStatus, message } }
    case 'chat':
      return { error: { code: httpStatus, message } }
  }
}

/**
 * An error body as a careless aggregator words it: provider names, a key, an account id and an
 * internal address, each with the fault's marker in it.
 */
function leakyErrorBody(skin: Skin, httpStatus: number, fault: Fault): JsonObject {
  const marker = fault.marker ?? DEFAULT_MARKER
  const text = fault.kind === undefined ? null : KIND_TEXTS[fault.kind]
  const errorType = text?.type ?? metadataErrorType(httpStatus)
  const message = `${text?.message ?? 'Provider returned error'} (${marker} at 10.0.4.17:8443)`
  const raw = `{"detail":"key sk-or-v1-${marker} of org-${marker} refused by http://10.0.4.17/${marker}"}`
  const metadata: JsonObject = {
    provider_name: `Provider ${marker}`,
    error_type: errorType,
    provider_code: `code_${marker}`,
    raw,
    flagged_input: `input ${marker}`,
    previous_errors: [{ code: 502, message: `first try at ${marker}` }],
  }
  const account = { user_id: `user_${marker}`, openrouter_metadata: { endpoint: marker } }
  const { errorCostUsd } = fault
  const failed = { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 }
  const cost = errorCostUsd === undefined ? {} : { usage: { ...failed, cost: errorCostUsd } }
  const tooLong = `prompt is too long: 204813 tokens > 128000 maximum (${marker})`
  switch (skin) {
    case 'messages':
      return {
        type: 'error',
        error: {
          type: messagesErrorType(httpStatus),
          message: errorType === 'context_length_exceeded' ? tooLong : message,
          error_type: errorType,
        },
        request_id: `gen-${marker}`,
        metadata,
        ...account,
        ...cost,
      }
    case 'responses':
      return {
        error: { code: responsesErrorCode(httpStatus), message, metadata },
        error_type: errorType,
        metadata,
        ...account,
        ...cost,
      }
    case 'chat':
      return { error: { code: httpStatus, message, metadata }, ...account, ...cost }
  }
}

/** An error page as a proxy in front of the upstream words it. */
function htmlErrorPage(httpStatus: number, marker: string): string {
  return `<html><head><title>${httpStatus}</title></head><body>edge ${marker} at 10.0.4.17</body></html>`
}

/** A request that the simulator refuses by itself, before anything runs. */
export class Refusal extends Error {
  readonly httpStatus: number

  constructor(httpStatus: number, message: string) {
    super(message)
    this.name = 'Refusal'
    this.httpStatus = httpStatus
  }
}

/** A 400 for this reason. */
export function badRequest(message: string): Refusal {
  return new Refusal(400, message)
}

/** The body that the fault sends in place of the answer; null if it does not replace the answer. */
export function wrongAnswer(
  fault: Fault,
  path: { readonly skin: Skin; readonly failsInside: boolean },
): { readonly httpStatus: number; readonly payload: Payload } | null {
  if (fault === NO_FAULT) return null
  const httpStatus = fault.status ?? 200
  if (fault.rawBody !== undefined) return { httpStatus, payload: wholeJson(fault.rawBody) }
  if (fault.answer === 'empty') return { httpStatus, payload: wholeJson('') }
  const isError =
    fault.answer === 'errorObject' || (fault.answer === 'failedAnswer' && !path.failsInside)
  if (fault.status === undefined && !isError) return null
  const named = fault.status ?? 502
  switch (fault.errorBody ?? 'json') {
    case 'empty':
      return { httpStatus, payload: wholeJson('') }
    case 'html': {
      const text = htmlErrorPage(named, fault.marker ?? DEFAULT_MARKER)
      return { httpStatus, payload: { kind: 'whole', text, contentType: 'text/html' } }
    }
    case 'skinless':
    case 'json': {
      const skin = fault.errorBody === 'skinless' ? 'chat' : path.skin
      const text = JSON.stringify(leakyErrorBody(skin, named, fault))
      return { httpStatus, payload: wholeJson(text) }
    }
  }
}

/** A whole body as the fault wants it: a stream has its own ways to be wrong. */
export function changedBody(text: string, fault: Fault): string {
  switch (fault.answer) {
    case 'malformedJson':
      return `${text.slice(0, -1)},,}`
    case 'truncatedJson':
      return text.slice(0, Math.ceil(text.length / 2))
    default:
      return text
  }
}

/** A JSON body, to be sent whole. */
export function wholeJson(text: string): Payload {
  return { kind: 'whole', text, contentType: 'application/json' }
}
