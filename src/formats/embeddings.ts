import type { JsonBody } from '../json/walk.ts'
import type { FormatRules } from '../vocabulary/call.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { readChatStyleFields } from './chat-call.ts'
import { errorFrame, openAiError } from './envelope.ts'
import { countTexts, field, wrongType } from './fields.ts'
import {
  BODY_BYTES_MAX,
  FIELDS,
  OPENAI_STYLE,
  type UnsizedCall,
  type WireFormat,
} from './format.ts'
import { otherEndpoint } from './refusals.ts'

// Any number of inputs, each up to the context window.
const RULES: FormatRules = {
  heldBy: 'tokens',
  prompt: { hasTemplate: false, windows: 'any' },
  output: { cap: 'none' },
  freeCredit: 'never',
  deadline: { total: 'totalTimeoutMs', boundsStreams: false },
}

/** Embeddings: `POST /v1/embeddings`. Never streamed, even if the body says so. */
export const embeddings: WireFormat = {
  ...OPENAI_STYLE,
  endpoint: 'embeddings',
  path: '/v1/embeddings',
  bodyBytesMax: BODY_BYTES_MAX,
  rules: RULES,
  telemetry: { operation: 'embeddings', outputType: null },
  readCall,
  fitsOutputs: (outputs) => outputs.has('embeddings') && !outputs.has('text'),
  errorEvent: ({ problem, event }) => errorFrame(event, openAiError(problem)),
  documentation: {
    summary: 'Embeddings.',
    required: ['model', 'input'],
    properties: {
      model: FIELDS.model,
      input: FIELDS.textOrList,
      encoding_format: { enum: ['float', 'base64'], default: 'float' },
      dimensions: FIELDS.integer,
    },
    answer: {
      object: FIELDS.text,
      data: FIELDS.objects,
      model: FIELDS.text,
      usage: FIELDS.object,
    },
    streams: false,
  },
}

function readCall(body: JsonBody, publicNames: PublicNames): UnsizedCall {
  const fields = readChatStyleFields(body, publicNames)
  const input = field(body.root, 'input')
  if (input === undefined) {
    throw wrongType('input', 'a string or an array', otherEndpoint(body.root))
  }
  countTexts(input, { param: 'input', takesParts: true })
  return {
    ...fields,
    rules: RULES,
    stream: false,
    outputCapTokens: null,
    completions: 1,
  }
}
