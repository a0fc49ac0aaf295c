import { parseEventData } from '../json/body.ts'
import type { JsonObject } from '../json/walk.ts'
import type { Problem } from '../vocabulary/problem.ts'
import {
  type EnvelopeFamily,
  type ErrorEventInput,
  isPlainWord,
  type StreamEvent,
} from './format.ts'

/** A problem as the JSON text of a response body. */
export function errorEnvelope(
  family: EnvelopeFamily,
  { problem, requestId }: { readonly problem: Problem; readonly requestId: string | null },
): string {
  return JSON.stringify(
    family === 'messages' ? messagesError(problem, requestId) : openAiError(problem),
  )
}

/**
 * A problem of a request whose path was not read, in both layouts at once. Only for the problems of a head that can't be
 * read: their `error.type` is the same in both layouts, which others, such as 402, 404 and 503, have in two values.
 */
export function eitherEnvelope(problem: Problem, requestId: string): string {
  return JSON.stringify({ type: 'error', ...openAiError(problem), request_id: requestId })
}

/** The OpenAI-style envelope. */
export function openAiError(problem: Problem): {
  error: { message: string; type: string; code: string; param: string | null }
} {
  const { message, code, param, httpStatus } = problem
  return { error: { message, type: openAiType(httpStatus), code, param } }
}

/** The messages envelope, which has the type but not the code. */
export function messagesError(
  problem: Problem,
  requestId: string | null,
): { type: 'error'; error: { type: string; message: string }; request_id: string | null } {
  const type = problem.messagesType ?? messagesType(problem.httpStatus)
  return { type: 'error', error: { type, message: problem.message }, request_id: requestId }
}

function openAiType(httpStatus: number): string {
  switch (httpStatus) {
    case 401:
      return 'authentication_error'
    case 402:
      return 'insufficient_credit'
    case 403:
      return 'permission_error'
    case 429:
      return 'rate_limit_error'
    case 400:
    case 404:
    case 408:
    case 413:
    case 422:
    case 431:
      return 'invalid_request_error'
    default:
      return 'api_error'
  }
}

function messagesType(httpStatus: number): string {
  switch (httpStatus) {
    case 401:
      return 'authentication_error'
    case 402:
      return 'billing_error'
    case 403:
      return 'permission_error'
    case 404:
      return 'not_found_error'
    case 409:
      return 'conflict_error'
    case 413:
      return 'request_too_large'
    case 429:
      return 'rate_limit_error'
    case 503:
      return 'overloaded_error'
    case 504:
      return 'timeout_error'
    case 400:
    case 408:
    case 422:
    case 431:
      return 'invalid_request_error'
    default:
      return 'api_error'
  }
}

/**
 * An error event in the form of a chunk. It keeps the provider's id, model and time, so that accumulating clients
 * take it for a chunk of the stream. `choice` has the format's text member, empty.
 */
export function chunkErrorEvent(
  { problem, event }: ErrorEventInput,
  choice: { readonly [member: string]: unknown },
): string {
  const chunk = parseEventData(event.data) ?? {}
  const kept = plainMembers(chunk, ['id', 'object', 'created', 'model'])
  const choices = [{ index: 0, ...choice, finish_reason: 'error' }]
  return errorFrame(event, { ...kept, ...openAiError(problem), choices })
}

/** One whole error event with this JSON, named if the provider's event was. */
export function errorFrame({ name }: StreamEvent, json: unknown): string {
  return `${name === null ? '' : 'event: error\n'}data: ${JSON.stringify(json)}\n\n`
}

type PlainValue = string | number | boolean | null

/** The members among these that hold no text: numbers, booleans, nulls and single words. */
export function plainMembers(
  owner: JsonObject,
  names: readonly string[],
): Record<string, PlainValue> {
  const kept: Record<string, PlainValue> = {}
  for (const name of names) {
    const value = Object.hasOwn(owner, name) ? owner[name] : undefined
    if (value === undefined || (typeof value === 'object' && value !== null)) continue
    if (typeof value === 'string' && !isPlainWord(value)) continue
    kept[name] = value
  }
  return kept
}
