import type { JsonBody } from '../json/body.ts'
import type { Call } from '../vocabulary/call.ts'
import type { Words } from '../vocabulary/public-names.ts'
import { readChatAnswer } from './chat-answer.ts'
import { readChatStyleFields } from './chat-call.ts'
import { chunkObservers, errorFrame } from './chat-stream.ts'
import { openAiError } from './envelope.ts'
import { field, wrongType } from './fields.ts'
import type { WireFormat } from './format.ts'
import { BODY_BYTES_MAX, OPENAI_STYLE } from './openai-style.ts'
import { refuseUnfitModel, refuseUnreadableFile } from './refusals.ts'
import { fileEngineEdits, modelEdit, userEdit } from './rewrites.ts'
import { countTexts } from './text-input.ts'

/** Embeddings: `POST /v1/embeddings`. Never streamed, whatever the body says. */
export const embeddings: WireFormat = {
  ...OPENAI_STYLE,
  endpoint: 'embeddings',
  path: '/v1/embeddings',
  upstreamPath: '/embeddings',
  bodyBytesMax: BODY_BYTES_MAX,
  hasGenerationId: true,
  readCall,
  checkOffer: (call, input) => {
    refuseUnfitModel(call, input.offer)
    refuseUnreadableFile(call, input)
  },
  rewrites: ({ call, body, offer, accountTag, words }) => [
    ...modelEdit(call, offer),
    userEdit(accountTag),
    ...fileEngineEdits(body.root, words),
  ],
  readAnswer: readChatAnswer,
  observeStream: chunkObservers({ textMembers: [], hasGenerationId: true }),
  errorEvent: ({ problem, event }) => errorFrame(event, openAiError(problem)),
}

function readCall(body: JsonBody, words: Words): Call {
  const fields = readChatStyleFields(body, words)
  const input = field(body.root, 'input')
  if (input === undefined) throw wrongType('input', 'a string or an array')
  countTexts(input, { param: 'input', takesParts: true })
  return {
    ...fields,
    endpoint: 'embeddings',
    stream: false,
    outputCapTokens: null,
    completions: 1,
  }
}
