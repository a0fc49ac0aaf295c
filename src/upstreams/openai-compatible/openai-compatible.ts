import { MESSAGES_STREAMS } from '../anthropic/anthropic.ts'
import { MESSAGE_FIELDS } from '../anthropic/fields.ts'
import { type CountedStreams, counted, ofAccount, REPORTS_NO_COST } from '../counted.ts'
import {
  capEditIn,
  chatCapEdits,
  heldCapEdits,
  onlyCounted,
  ownFieldEdits,
  refuseCapAbove,
  saltEdits,
  unstoredEdits,
  withinHeld,
} from '../counted-calls.ts'
import type { FieldTable } from '../fields.ts'
import { vendorCatalog } from '../listing/vendor-list.ts'
import {
  CHAT_STREAMS,
  COMPLETIONS_STREAMS,
  EMBEDDINGS_STREAMS,
  RESPONSES_STREAMS,
} from '../openai/openai.ts'
import * as layout from '../openrouter/chat.ts'
import { messages as messagesLayout } from '../openrouter/messages.ts'
import { responses as responsesLayout } from '../openrouter/responses.ts'
import { modelEdit } from '../openrouter/rewrites.ts'
import type { Dialect } from '../upstream.ts'
import type { RewriteInput, Wire } from '../wire.ts'
import { COMPATIBLE_FIELDS } from './fields.ts'

const { chat: chatFields, completions: completionFields } = COMPATIBLE_FIELDS
const { embeddings: embeddingFields, responses: responseFields } = COMPATIBLE_FIELDS

const chat = compatible(layout.chat, {
  streams: CHAT_STREAMS,
  fields: chatFields,
  rewrites: (input) => [...writingRewrites(input), ...chatCapEdits(input)],
})
const completions = compatible(layout.completions, {
  streams: COMPLETIONS_STREAMS,
  fields: completionFields,
  rewrites: (input) => [
    ...writingRewrites(input),
    ...capEditIn('max_tokens', input),
    ...withinHeld(['max_tokens'], input),
  ],
})
const embeddings = compatible(layout.embeddings, {
  streams: EMBEDDINGS_STREAMS,
  fields: embeddingFields,
  rewrites: (input) => [...modelEdit(input.call, input.offer), ...ownFieldEdits(input)],
})
const responses = compatible(responsesLayout, {
  streams: RESPONSES_STREAMS,
  fields: responseFields,
  rewrites: (input) => [
    ...modelEdit(input.call, input.offer),
    // Answers are not stored, even if the server stores them by default.
    ...unstoredEdits(input.body.root),
    ...heldCapEdits(input),
    ...withinHeld(['max_output_tokens'], input),
    ...saltEdits(input),
  ],
})
const likeAnthropic = compatible(messagesLayout, {
  streams: MESSAGES_STREAMS,
  fields: MESSAGE_FIELDS,
  // The gateway sets no cap: in this format, the client must send one.
  rewrites: ({ call, offer }) => modelEdit(call, offer),
})
const messages: Wire = {
  ...likeAnthropic,
  refuse(input) {
    likeAnthropic.refuse?.(input)
    refuseCapAbove(input)
  },
}

/** Servers that speak some or all of OpenAI's formats, and list no prices. */
export const openaiCompatible: Dialect = {
  baseUrl: null,
  ...REPORTS_NO_COST,
  // An operator's own server stops a call when its connection closes.
  billsLeftCalls: false,
  hasCatalogIds: false,
  headers: (apiKey) => (apiKey === null ? [] : ['authorization', `Bearer ${apiKey}`]),
  wires: new Map(Object.entries({ chat, completions, embeddings, responses, messages })),
  usualFormats: ['chat'],
  // Some servers have no list, and some list other ids than those that they run.
  fetchModels: (upstream, settings) =>
    vendorCatalog(upstream, settings, {
      authoredIdOf: () => null,
      // LiteLLM can: its setting is `cache_control_injection_points`.
      marksUnmarked: true,
      knownModel: () => null,
      factsOf: () => null,
    }),
}

function writingRewrites(input: RewriteInput): ReturnType<Wire['rewrites']> {
  return [...modelEdit(input.call, input.offer), ...ownFieldEdits(input), ...saltEdits(input)]
}

/** By position: OpenRouter's wire of the same layout, and how this one differs. */
function compatible(
  wire: Wire,
  {
    streams,
    fields,
    rewrites,
  }: {
    readonly streams: CountedStreams
    readonly fields: FieldTable
    readonly rewrites: Wire['rewrites']
  },
): Wire {
  return {
    // Many servers send no counts in a stream: such answers are charged by an estimate. The operator writes the prices of
    // the tier that the account gets by default: Groq reports `on_demand`, and a deployment at Azure can run at `priority`.
    ...counted(wire, { ...streams, isEstimated: true, pricesEveryTier: true }),
    ...onlyCounted(fields),
    rewrites,
    readError: (root, httpStatus) => ofAccount(wire.readError(root, httpStatus)),
  }
}
