import type { JsonBody } from '../json/walk.ts'
import type { FormatRules } from '../vocabulary/call.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { readChatStyleFields, requireMessages } from './chat-call.ts'
import { FIELDS } from './documentation.ts'
import { messagesError } from './envelope.ts'
import { field, readBoolean, readCount } from './fields.ts'
import type { ErrorEventInput, WireFormat } from './format.ts'
import { BODY_BYTES_MAX, writesText } from './openai-style.ts'
import { MESSAGES_TOOLS, searchToolsOf, toolRules } from './search-tools.ts'
import type { UnsizedCall } from './size-call.ts'

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
      role: FIELDS.text,
      model: FIELDS.text,
      content: FIELDS.objects,
      usage: FIELDS.object,
    },
    streams: true,
  },
}

/** The prefix that clients are told of, and the vendor's own, which its SDKs send. */
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
    stream: readBoolean(root, 'stream'),
    outputCapTokens: readCount(root, 'max_tokens'),
    completions: 1,
    tools: {
      ...tools,
      // Code of the model's is run by the provider.
      serverTools: tools.serverTools || field(root, 'container') !== undefined,
      // Each search tool has a `max_uses` of its own, and takes as many steps.
      steps:
        tools.steps *
        Math.max(1, searchToolsOf(root, toolRules(MESSAGES_TOOLS, publicNames)).length),
    },
  }
}
