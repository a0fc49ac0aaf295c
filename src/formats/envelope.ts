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
  const [type] = TYPES[httpStatus] ?? OTHER_TYPES
  return { error: { message, type, code, param } }
}

/** The messages envelope, which has the type but not the code. */
export function messagesError(
  problem: Problem,
  requestId: string | null,
): { type: 'error'; error: { type: string; message: string }; request_id: string | null } {
  const [, ofStatus] = TYPES[problem.httpStatus] ?? OTHER_TYPES
  const type = problem.messagesType ?? ofStatus
  return { type: 'error', error: { type, message: problem.message }, request_id: requestId }
}

/** By status, the `error.type` in the layout of OpenAI, and in that of messages. Every other status has `api_error`. */
const TYPES: Readonly<Record<number, readonly [openAi: string, messages: string]>> = {
  400: ['invalid_request_error', 'invalid_request_error'],
  401: ['authentication_error', 'authentication_error'],
  402: ['insufficient_credit', 'billing_error'],
  403: ['permission_error', 'permission_error'],
  404: ['invalid_request_error', 'not_found_error'],
  408: ['invalid_request_error', 'invalid_request_error'],
  409: ['api_error', 'conflict_error'],
  413: ['invalid_request_error', 'request_too_large'],
  422: ['invalid_request_error', 'invalid_request_error'],
  429: ['rate_limit_error', 'rate_limit_error'],
  431: ['invalid_request_error', 'invalid_request_error'],
  503: ['api_error', 'overloaded_error'],
  504: ['api_error', 'timeout_error'],
}
const OTHER_TYPES = ['api_error', 'api_error'] as const

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
