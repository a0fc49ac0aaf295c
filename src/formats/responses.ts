import { parseEventData } from '../json/body.ts'
import { isJsonObject, type JsonBody, type JsonObject, type JsonValue } from '../json/walk.ts'
import type { FormatRules } from '../vocabulary/call.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { wordsOf } from '../vocabulary/words-of.ts'
import { readChatStyleFields } from './chat-call.ts'
import { openAiError, plainMembers } from './envelope.ts'
import { field, readBoolean, readCount, readObjects, unsupported, wrongType } from './fields.ts'
import {
  BODY_BYTES_MAX,
  type ErrorEventInput,
  FIELDS,
  OPENAI_STYLE,
  type UnsizedCall,
  type WireFormat,
  writesText,
} from './format.ts'
import { otherEndpoint } from './refusals.ts'

const RULES: FormatRules = {
  heldBy: 'tokens',
  prompt: { hasTemplate: true, windows: 'one' },
  output: { cap: 'clients', param: 'max_output_tokens', heldUpTo: 'contextWindow' },
  freeCredit: 'wholeHold',
  deadline: { total: 'totalTimeoutMs', boundsStreams: false },
}

/** Responses: `POST /v1/responses`, stateless. */
export const responses: WireFormat = {
  ...OPENAI_STYLE,
  endpoint: 'responses',
  path: '/v1/responses',
  bodyBytesMax: BODY_BYTES_MAX,
  rules: RULES,
  telemetry: { operation: 'chat', outputType: null },
  namesEvents: true,
  readCall,
  fitsOutputs: writesText,
  errorEvent,
  documentation: {
    summary: 'Responses, without state: send the whole conversation each time.',
    required: ['model', 'input'],
    properties: {
      model: FIELDS.model,
      input: {
        ...FIELDS.textOrList,
        description: 'A prompt, or a list of items: the whole conversation.',
      },
      instructions: FIELDS.text,
      stream: FIELDS.stream,
      tools: FIELDS.objects,
      tool_choice: FIELDS.textOrObject,
      max_output_tokens: FIELDS.requiredCap,
      reasoning: FIELDS.object,
      store: { type: 'boolean', description: 'Must be false or absent: nothing is stored.' },
    },
    answer: {
      id: FIELDS.text,
      object: FIELDS.text,
      model: FIELDS.text,
      output: FIELDS.objects,
      usage: FIELDS.object,
    },
    streams: true,
  },
}

function readCall(body: JsonBody, publicNames: PublicNames): UnsizedCall {
  const { root } = body
  const fields = readChatStyleFields(body, publicNames)
  refuseStoredState(root)
  refuseItems(root)
  return {
    ...fields,
    rules: RULES,
    stream: readBoolean(root, 'stream'),
    outputCapTokens: readCount(root, 'max_output_tokens'),
    completions: 1,
  }
}

/** Refuses fields with stored state, which is not in the body and which the hold could not cover. */
function refuseStoredState(root: JsonObject): void {
  if (readBoolean(root, 'store')) {
    throw unsupported('store', 'Responses are not stored: leave `store` out or set it to false.')
  }
  if (readBoolean(root, 'background')) {
    throw unsupported(
      'background',
      'Responses do not run in the background: leave `background` out.',
    )
  }
  for (const name of ['previous_response_id', 'conversation'] as const) {
    if (field(root, name) === undefined) continue
    throw unsupported(
      name,
      `\`${name}\` is not supported: send the whole conversation in \`input\`.`,
    )
  }
  if (field(root, 'prompt') !== undefined) {
    throw unsupported(
      'prompt',
      '`prompt` is not supported, since prompts are not stored: send the text itself in `input`.',
    )
  }
}

const ITEMS_EXPECTED = 'a string or an array of items'

/** Refuses items that refer to stored ones or have their own tools. */
function refuseItems(root: JsonObject): void {
  const input = field(root, 'input')
  if (typeof input === 'string') return
  if (input === undefined) throw wrongType('input', ITEMS_EXPECTED, otherEndpoint(root))
  if (!Array.isArray(input)) throw wrongType('input', ITEMS_EXPECTED)
  for (const [index, item] of readObjects(root, 'input').entries()) {
    const place = `input[${index}]`
    if (isReference(item)) {
      throw unsupported(
        place,
        `Items are not stored: send the item itself instead of its ID in \`${place}\`.`,
      )
    }
    if (field(item, 'tools') === undefined && !TOOL_ITEMS.has(item['type'])) continue
    throw unsupported(place, 'Tools are supported in `tools` only, not in items of `input`.')
  }
}

const TOOL_ITEMS = new Set<JsonValue | undefined>([
  'additional_tools',
  'tool_search_output',
  'mcp_list_tools',
])

// A reference may lack its type; all other items without a type have a role.
function isReference(item: JsonObject): boolean {
  const type = field(item, 'type')
  if (type !== undefined) return type === 'item_reference'
  return field(item, 'id') !== undefined && field(item, 'role') === undefined
}

/** A failed response if the provider's event has a response, else an `error` event; without its text. */
function errorEvent({ problem, requestId, event }: ErrorEventInput): string {
  const root = parseEventData(event.data) ?? {}
  const { error } = openAiError(problem)
  const isResponse = isJsonObject(root['response']) || root['type'] === 'response.failed'
  const type = isResponse ? 'response.failed' : 'error'
  // Some clients read an `error` event's own members, others those of an `error` object inside.
  const content = isResponse
    ? {
        response: failedResponse(isJsonObject(root['response']) ? root['response'] : {}, {
          problem,
          requestId,
        }),
      }
    : { code: error.code, message: error.message, param: error.param, error }
  const order = typeof root['sequence_number'] === 'number' ? root['sequence_number'] : undefined
  const json = JSON.stringify({ type, sequence_number: order, ...content })
  return `event: ${type}\ndata: ${json}\n\n`
}

// Members of a response object without text: numbers, switches and names.
const KEPT_MEMBERS = wordsOf(`
  created_at model parallel_tool_calls max_output_tokens temperature top_p presence_penalty
  frequency_penalty store background
`)

function failedResponse(
  response: JsonObject,
  { problem, requestId }: Pick<ErrorEventInput, 'problem' | 'requestId'>,
): object {
  return {
    id: plainMembers(response, ['id'])['id'] ?? requestId,
    ...plainMembers(response, KEPT_MEMBERS),
    object: 'response',
    status: 'failed',
    error: { code: problem.code, message: problem.message },
    incomplete_details: null,
    instructions: null,
    metadata: {},
    output: [],
    output_text: '',
    tool_choice: 'auto',
    tools: [],
    usage: countsOf(response['usage']),
  }
}

const COUNTS = ['input_tokens', 'output_tokens', 'total_tokens', 'cost']
const COUNTS_WITHIN = {
  input_tokens_details: ['cached_tokens', 'cache_write_tokens'],
  output_tokens_details: ['reasoning_tokens'],
} as const

/** The numbers of a response's usage; null: it has none. */
function countsOf(usage: JsonValue | undefined): object | null {
  if (!isJsonObject(usage)) return null
  const within = Object.entries(COUNTS_WITHIN).flatMap(([name, counts]) => {
    const details = usage[name]
    return isJsonObject(details) ? [[name, numbersOf(details, counts)]] : []
  })
  return { ...numbersOf(usage, COUNTS), ...Object.fromEntries(within) }
}

function numbersOf(owner: JsonObject, names: readonly string[]): object {
  return Object.fromEntries(
    names.flatMap((name) => (typeof owner[name] === 'number' ? [[name, owner[name]]] : [])),
  )
}
