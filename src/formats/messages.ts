import type { JsonBody } from '../json/walk.ts'
import type { FormatRules } from '../vocabulary/call.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { readChatStyleFields, requireMessages } from './chat-call.ts'
import { messagesError } from './envelope.ts'
import { field, readBoolean, readCount } from './fields.ts'
import {
  BODY_BYTES_MAX,
  type ErrorEventInput,
  FIELDS,
  type UnsizedCall,
  type WireFormat,
  writesText,
} from './format.ts'
import { MESSAGES_TOOLS, searchToolsOf } from './tools.ts'
import { splitAtMark } from './unmarked-text.ts'

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
