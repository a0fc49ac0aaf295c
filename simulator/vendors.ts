import type { IncomingHttpHeaders } from 'node:http'
import type { Catalog, CatalogRow } from './catalog.ts'
import { messagesErrorType, Refusal } from './error-bodies.ts'
import type { Skin } from './formats/format.ts'
import {
  isArray,
  isObject,
  type JsonObject,
  type JsonValue,
  objectOr,
  parseObject,
} from './json-value.ts'

/** A vendor that the simulator plays in OpenRouter's place, as strictly as the vendor is. */
export interface Vendor {
  /** The paths below `/v1` that it has. */
  readonly paths: ReadonlySet<string>
  /** Throws Refusal for a request whose headers it does not accept. */
  checkHeaders(headers: IncomingHttpHeaders): void
  /** Throws Refusal for a body that it does not accept. */
  checkBody(path: string, body: JsonObject, row: CatalogRow): void
  /** An answer of OpenRouter's layout, as this vendor words it. */
  answer(body: JsonObject): JsonObject
  /** One event of a stream, likewise; null: it sends none. */
  event(body: JsonObject, request: JsonObject): JsonObject | null
  /** The body of an error. */
  error(httpStatus: number, error: VendorError): JsonObject
  /** The body of `GET /models`. */
  list(catalog: Catalog): JsonObject
}

/** The failure, in OpenRouter's words. */
interface VendorError {
  readonly message: string
  /** `context_length_exceeded` and the like; null: no word for it. */
  readonly kind: string | null
  /** In the format of the request. */
  readonly skin: Skin
}

/** The vendors by the names of the gateway's dialects. */
export type VendorName = 'openai' | 'anthropic' | 'openai-compatible'

const AUTHOR = 'sim/'

/** The vendor's id of a model: without the author. */
export function vendorId(modelId: string): string {
  return modelId.startsWith(AUTHOR) ? modelId.slice(AUTHOR.length) : modelId
}

/** The catalog's id of a model that a request to a vendor names. */
export function catalogId(upstreamModelId: string): string {
  return `${AUTHOR}${upstreamModelId}`
}

/** An answer's text or a stream's frame in the vendor's words; null: the frame is not sent. */
export function vendorText(vendor: Vendor, text: string, request: JsonObject): string | null {
  if (text.startsWith('{')) {
    const body = parseObject(text)
    return body === null ? text : JSON.stringify(vendor.answer(body))
  }
  if (text.startsWith(':')) return null
  const [, name, data] = /^(?:event: (.*)\n)?data: (.*)\n\n$/s.exec(text) ?? []
  const body = data === undefined ? null : parseObject(data)
  if (body === null) return text
  const event = vendor.event(body, request)
  if (event === null) return null
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(event)}\n\n`
}

// Members that OpenRouter alone sends.
const OWN_MEMBERS = new Set([
  ...'provider native_finish_reason cost cost_details is_byok'.split(' '),
  ...'error_type openrouter_metadata output_text reasoning_details server_tool_use_details'.split(
    ' ',
  ),
])

function tidied(value: JsonValue, idPrefix: string): JsonValue {
  if (isArray(value)) return value.map((element) => tidied(element, idPrefix))
  if (!isObject(value)) return value
  const kept: Record<string, JsonValue | undefined> = {}
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined || OWN_MEMBERS.has(name)) continue
    if (name === 'reasoning' && !isObject(member)) continue
    if (name === 'model' && typeof member === 'string') kept[name] = vendorId(member)
    else if (name === 'id' && typeof member === 'string' && member.startsWith('gen-')) {
      kept[name] = idPrefix + member.slice(-20)
    } else kept[name] = tidied(member, idPrefix)
  }
  return kept
}

function tidiedObject(body: JsonObject): JsonObject {
  const { object, type } = body
  const isMessage = type === 'message' || type === 'message_start'
  const isResponse = object === 'response' || isObject(body['response'])
  const prefix = isMessage
    ? 'msg_01'
    : isResponse
      ? 'resp_'
      : object === 'text_completion'
        ? 'cmpl-'
        : 'chatcmpl-'
  return objectOr(tidied(body, prefix))
}

function refuse(httpStatus: number, message: string): never {
  throw new Refusal(httpStatus, message)
}

const OPENAI_TYPES: Readonly<Record<number, string>> = {
  401: 'invalid_request_error',
  429: 'rate_limit_error',
  500: 'server_error',
  503: 'server_error',
}

// Fields that OpenRouter accepts and OpenAI refuses by name.
const UNKNOWN_TO_OPENAI =
  'plugins models provider route transforms preset top_k min_p repetition_penalty include_reasoning'.split(
    ' ',
  )

const openai: Vendor = {
  paths: new Set(['/chat/completions', '/completions', '/embeddings', '/responses']),
  checkHeaders(headers) {
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
    if (token === undefined) refuse(401, "You didn't provide an API key.")
    if (token.startsWith('sk-bad')) refuse(401, 'Incorrect API key provided: sk-bad****.')
  },
  checkBody(path, body, row) {
    const unknown = UNKNOWN_TO_OPENAI.find((name) => body[name] !== undefined)
    if (unknown !== undefined) refuse(400, `Unknown parameter: '${unknown}'.`)
    if (body['stream_options'] !== undefined && body['stream'] !== true) {
      refuse(400, "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    }
    if (path === '/chat/completions' && isObject(body['reasoning'])) {
      refuse(400, "Unknown parameter: 'reasoning'.")
    }
    const cap = body['max_completion_tokens'] ?? body['max_tokens'] ?? body['max_output_tokens']
    const most = row.top_provider.max_completion_tokens
    if (typeof cap === 'number' && most !== null && cap > most) {
      refuse(400, `max_tokens is too large: ${cap}. This model supports at most ${most} tokens.`)
    }
  },
  answer: tidiedObject,
  event(body, request) {
    const asksForUsage = objectOr(request['stream_options'])['include_usage'] === true
    const isChunk =
      body['object'] === 'chat.completion.chunk' || body['object'] === 'text_completion'
    if (isChunk && isObject(body['error'])) {
      return {
        error: {
          message: String(body['error']['message']),
          type: 'server_error',
          param: null,
          code: null,
        },
      }
    }
    if (!isChunk) return tidiedObject(body)
    if (isObject(body['usage'])) return asksForUsage ? tidiedObject(body) : null
    return asksForUsage ? { ...tidiedObject(body), usage: null } : tidiedObject(body)
  },
  error: (httpStatus, { message, kind }) => ({
    error: {
      message,
      type:
        OPENAI_TYPES[httpStatus] ?? (httpStatus >= 500 ? 'server_error' : 'invalid_request_error'),
      param: null,
      code: kind,
    },
  }),
  list: (catalog) => ({
    object: 'list',
    data: catalog.rows.map(({ id, created }) => ({
      id: vendorId(id),
      object: 'model',
      created,
      owned_by: 'system',
    })),
  }),
}

const TAKEN_BY_ANTHROPIC = new Set([
  ...'model max_tokens messages system stream tools tool_choice temperature top_p top_k stop_sequences thinking'.split(
    ' ',
  ),
  ...'metadata service_tier cache_control output_config output_format context_management container inference_geo speed thread'.split(
    ' ',
  ),
])

const anthropic: Vendor = {
  paths: new Set(['/messages']),
  checkHeaders(headers) {
    const key = headers['x-api-key']
    if (typeof key !== 'string') refuse(401, 'x-api-key header is required')
    if (key.startsWith('sk-bad')) refuse(401, 'invalid x-api-key')
    if (headers['anthropic-version'] === undefined) {
      refuse(400, 'anthropic-version: header is required')
    }
  },
  checkBody(_path, body) {
    const unknown = Object.keys(body).find((name) => !TAKEN_BY_ANTHROPIC.has(name))
    if (unknown !== undefined) refuse(400, `${unknown}: Extra inputs are not permitted`)
    if (body['max_tokens'] === undefined) refuse(400, 'max_tokens: Field required')
  },
  answer: tidiedObject,
  event(body) {
    const { type, usage } = body
    if (type === 'error') {
      const { type: errorType, message } = objectOr(body['error'])
      return { type, error: { type: errorType ?? null, message: message ?? null } }
    }
    if (type !== 'message_delta' || !isObject(usage)) return tidiedObject(body)
    // The counts at the end lack the lifetimes of cache writes.
    const { cache_creation: _, ...counts } = usage
    return tidiedObject({ ...body, usage: counts })
  },
  error: (httpStatus, { message }) => ({
    type: 'error',
    error: { type: messagesErrorType(httpStatus), message },
    request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy',
  }),
  list: (catalog) => {
    const data = catalog.rows.map((row) => ({
      type: 'model',
      id: vendorId(row.id),
      display_name: row.name,
      created_at: new Date(row.created * 1_000).toISOString(),
    }))
    return {
      data,
      has_more: false,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    }
  },
}

const compatible: Vendor = {
  ...openai,
  // A server of one's own asks for no key.
  checkHeaders(headers) {
    if (headers.authorization !== undefined) openai.checkHeaders(headers)
  },
  paths: new Set([...openai.paths, ...anthropic.paths]),
  checkBody(path, body, row) {
    const { context_length: window } = row
    const cap = body['max_tokens']
    if (typeof cap === 'number' && window !== null && cap > window) {
      refuse(
        400,
        `'max_tokens' is too large: ${cap}. This model's maximum context length is ${window} tokens.`,
      )
    }
    if (path !== '/messages') return
    if (body['max_tokens'] === undefined) refuse(400, 'max_tokens: Field required')
  },
  error: (httpStatus, error) =>
    (error.skin === 'messages' ? anthropic : openai).error(httpStatus, error),
  event: (body, request) =>
    body['object'] === undefined ? anthropic.event(body, request) : openai.event(body, request),
}

/** Each vendor by its name. */
export const VENDORS: Readonly<Record<VendorName, Vendor>> = {
  openai,
  anthropic,
  'openai-compatible': compatible,
}
