import { type JsonPath, valueSpan } from '../json/edit.ts'
import type { Span } from '../json/scan.ts'
import {
  isJsonObject,
  type JsonBody,
  type JsonObject,
  type JsonValue,
  walkJson,
} from '../json/walk.ts'
import type { FormatRules } from '../vocabulary/call.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { readChatStyleFields, requireMessages } from './chat-call.ts'
import { messagesError } from './envelope.ts'
import { field, member, readBoolean, readCount } from './fields.ts'
import {
  BODY_BYTES_MAX,
  type CallTexts,
  type ErrorEventInput,
  FIELDS,
  type UnsizedCall,
  type WireFormat,
  writesText,
} from './format.ts'
import { PROMPT_CACHE_OPTION } from './media.ts'
import { MESSAGES_TOOLS, searchToolsOf } from './tools.ts'

const RULES: FormatRules = {
  heldBy: 'tokens',
  prompt: { hasTemplate: true, windows: 'one' },
  output: { cap: 'clients', param: 'max_tokens', heldUpTo: 'modelMaximum' },
  freeCredit: 'partOfHold',
  deadline: { total: 'totalTimeoutMs', boundsStreams: false },
}

/** Messages: `POST /v1/messages`. */
export const messages: WireFormat = {
  endpoint: 'messages',
  path: '/v1/messages',
  family: 'messages',
  namesEvents: true,
  bodyBytesMax: BODY_BYTES_MAX,
  rules: RULES,
  telemetry: { operation: 'chat', outputType: null },
  addsFileParser: false,
  forwardedHeaders: (publicNames) =>
    headerPrefixes(publicNames).flatMap((prefix) => [`${prefix}-version`, `${prefix}-beta`]),
  returnsHeader: (name, publicNames) =>
    name === 'x-should-retry' ||
    headerPrefixes(publicNames).some((prefix) => name.startsWith(`${prefix}-ratelimit-`)),
  readCall,
  fitsOutputs: writesText,
  errorEvent: ({ problem, requestId }: ErrorEventInput) =>
    `event: error\ndata: ${JSON.stringify(messagesError(problem, requestId))}\n\n`,
  documentation: {
    summary: 'Messages.',
    required: ['model', 'messages'],
    properties: {
      model: FIELDS.model,
      max_tokens: FIELDS.requiredCap,
      messages: FIELDS.objects,
      system: FIELDS.textOrList,
      stream: FIELDS.stream,
      tools: FIELDS.objects,
      tool_choice: FIELDS.object,
      temperature: FIELDS.number,
      thinking: FIELDS.object,
    },
    answer: {
      id: FIELDS.text,
      type: FIELDS.text,
      role: { ...FIELDS.text, description: 'Always `assistant`.' },
      model: FIELDS.text,
      content: FIELDS.objects,
      usage: FIELDS.object,
    },
    streams: true,
  },
}

/** The documented prefix, and the vendor's own, which its SDKs send. */
function headerPrefixes({ compatPrefix }: PublicNames): readonly string[] {
  return [...new Set([compatPrefix, 'anthropic'])]
}

function readCall(body: JsonBody, publicNames: PublicNames): UnsizedCall {
  const { root } = body
  const fields = readChatStyleFields(body, publicNames, MESSAGES_TOOLS)
  const { tools } = fields
  requireMessages(root)
  return {
    ...fields,
    rules: RULES,
    texts: splitAtMark(body, fields),
    stream: readBoolean(root, 'stream'),
    outputCapTokens: readCount(root, 'max_tokens'),
    completions: 1,
    // Here the budget for thinking is a part of the cap.
    thinkingTokens: 0,
    tools: {
      ...tools,
      // In a container the provider runs the model's code.
      serverTools: tools.serverTools || field(root, 'container') !== undefined,
      // Each search tool may use all steps: `max_uses` is its own.
      steps: tools.steps * Math.max(1, searchToolsOf(root, publicNames).length),
    },
  }
}

/**
 * The texts of a body of messages; the ones after its last cache mark are separate. A mark covers all parts before it,
 * in this order: tools, system prompt, messages.
 */
function splitAtMark(
  body: JsonBody,
  { texts, cacheWrites, media }: Pick<UnsizedCall, 'texts' | 'cacheWrites' | 'media'>,
): CallTexts {
  // The base64 of an image may also be in a text, and is left out of the first of the two places.
  if (cacheWrites === 'none' || media.imagesInline > 0) return texts
  const spans = unmarkedSpans(body)
  if (spans.length === 0) return texts
  const { bytes } = body
  const written: Uint8Array[] = []
  let end = 0
  for (const span of spans) {
    written.push(bytes.subarray(end, span.start))
    end = span.end
  }
  written.push(bytes.subarray(end))
  const unmarked = spans.map((span) => bytes.subarray(span.start, span.end))
  return { ...texts, written, unmarked }
}

/** The places for marks, in the order in which a model reads them. */
const PLACES = ['tools', 'system', 'messages'] as const
type Place = (typeof PLACES)[number]

/** A block, or a whole message; the place alone covers all of it. */
type MarkPath = readonly [Place, ...JsonPath]

/** The parts that are surely not written to a cache, in the body's order; none: all may be. */
function unmarkedSpans(body: JsonBody): readonly Span[] {
  const { root } = body
  if (marksAll(root) || !elementsOf(root['messages']).every(staysInPlace)) return []
  const mark = findLastMark(root)
  if (mark === null) return []
  const later = PLACES.slice(PLACES.indexOf(mark[0]) + 1).map((place) => valueSpan(body, [place]))
  return [spanBehind(body, mark), ...later]
    .filter((span) => span !== null)
    .sort((one, other) => one.start - other.start)
}

const ROLES = new Set<JsonValue | undefined>(['user', 'assistant'])

const BLOCKS = new Set<JsonValue | undefined>([
  'text',
  'image',
  'document',
  'search_result',
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
])

/** Instructions may move to the beginning, and the vendor itself marks results of its searches. */
function staysInPlace(message: JsonValue): boolean {
  if (!isJsonObject(message) || !ROLES.has(message['role'])) return false
  return elementsOf(message['content']).every(
    (block) => isJsonObject(block) && BLOCKS.has(block['type']),
  )
}

function elementsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}

/** Whether the whole prompt may be cached: a mark of the body itself is at its end, and the reach of an option is unknown. */
function marksAll(root: JsonObject): boolean {
  return Object.keys(root).some(
    (name) => root[name] !== null && (name === 'cache_control' || PROMPT_CACHE_OPTION.test(name)),
  )
}

function findLastMark(root: JsonObject): MarkPath | null {
  const messages = elementsOf(root['messages'])
  for (let place = messages.length - 1; place >= 0; place--) {
    const message = messages[place]
    if (message === undefined || !isMarked(message)) continue
    const blocks = isJsonObject(message) && !hasMark(message) ? elementsOf(message['content']) : []
    const block = blocks.findLastIndex(isMarked)
    return block === -1 ? ['messages', place] : ['messages', place, 'content', block]
  }
  const block = elementsOf(root['system']).findLastIndex(isMarked)
  if (block !== -1) return ['system', block]
  if (isMarked(root['system'])) return ['system']
  return isMarked(root['tools']) ? ['tools'] : null
}

/** Whether a mark is on a value, or anywhere in it except in definitions of the client's own tools. */
function isMarked(value: JsonValue | undefined): boolean {
  if (value === undefined) return false
  let found = false
  walkJson({ value }, (node) => {
    found ||= hasMark(node)
  })
  return found
}

function hasMark(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false
  const marks = [member(value, 'cache_control'), member(value, 'prompt_cache_breakpoint')]
  return marks.some((mark) => mark !== undefined)
}

/** The rest of the place of a mark; null: it covers all of the place. */
function spanBehind(body: JsonBody, path: MarkPath): Span | null {
  const marked = valueSpan(body, path)
  const place = valueSpan(body, [path[0]])
  return marked === null || place === null ? null : { start: marked.end, end: place.end }
}
