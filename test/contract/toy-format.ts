import { readChatCap, readChatStyleFields, requireMessages } from '../../src/formats/chat-call.ts'
import { openAiError as errorEnvelope, errorFrame } from '../../src/formats/envelope.ts'
import { readBoolean } from '../../src/formats/fields.ts'
import type { WireFormat } from '../../src/formats/format.ts'
import { FIELDS, OPENAI_STYLE as STYLE, writesText } from '../../src/formats/format.ts'
import { chat as chatWire } from '../../src/upstreams/openrouter/chat.ts'
import { openrouter } from '../../src/upstreams/openrouter/openrouter.ts'
import { fileEngineEdits, modelEdit } from '../../src/upstreams/openrouter/rewrites.ts'
import type { Dialect } from '../../src/upstreams/upstream.ts'
import type { FormatRules } from '../../src/vocabulary/call.ts'
import type { FormatRow } from './format-row.ts'
import { chat } from './rows/chat.ts'
import { openAiError } from './rows/row-parts.ts'

/**
 * A format that the product does not have, all of it in this file: clients speak chat to it on a path of
 * its own, with other rules, another limit and other error events.
 */

const RULES: FormatRules = {
  heldBy: 'tokens',
  prompt: { hasTemplate: true, windows: 'one' },
  output: { cap: 'clients', param: 'max_tokens', heldUpTo: 'contextWindow' },
  freeCredit: 'partOfHold',
  deadline: { total: 'imageTimeoutMs', boundsStreams: true },
}

/** The format. */
export const toy: WireFormat = {
  ...STYLE,
  endpoint: 'toy',
  path: '/v1/toy',
  bodyBytesMax: 16 * 1024 * 1024,
  rules: RULES,
  telemetry: { operation: 'toy', outputType: null },
  readCall(body, publicNames) {
    const fields = readChatStyleFields(body, publicNames)
    requireMessages(body.root)
    const stream = readBoolean(body.root, 'stream')
    const cap = readChatCap(body.root)
    return { ...fields, rules: RULES, stream, ...cap, completions: 1 }
  },
  fitsOutputs: writesText,
  errorEvent: ({ problem, event }) => errorFrame(event, { type: 'toy', ...errorEnvelope(problem) }),
  documentation: {
    summary: 'A toy.',
    required: ['model', 'messages'],
    properties: { model: FIELDS.model, messages: FIELDS.objects },
    answer: { choices: FIELDS.objects },
    streams: true,
  },
}

/** OpenRouter, as if it accepted the toy at the path of chat. */
export const toyDialect: Dialect = {
  ...openrouter,
  wires: new Map([
    ...openrouter.wires,
    [
      'toy',
      {
        ...chatWire,
        rewrites: ({ call, body, offer, publicNames }) => [
          ...modelEdit(call, offer),
          ...fileEngineEdits(body.root, publicNames),
        ],
      },
    ],
  ]),
}

/** Its row in the contract. */
export const toyRow: FormatRow = {
  ...chat,
  endpoint: 'toy',
  path: '/v1/toy',
  upstreamPath: '/chat/completions',
  bodyMebibytesMax: 16,
  replacesUser: false,
  totalTimeout: 'TOLLGATE_IMAGE_TIMEOUT_MS',
  hold: { capParam: 'max_tokens', isLowered: false, runsOnPartOfFreeCredit: true },
  parts: { ...chat.parts, unreadFile: 'refused' },
  streams: chat.streams && {
    ...chat.streams,
    hasTotalTimeout: true,
    failures: [
      { fault: {}, event: (error) => ({ type: 'toy', ...openAiError(error) }), carriesUsage: true },
    ],
  },
}
