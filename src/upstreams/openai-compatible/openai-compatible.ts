import type { ProviderError } from '../../formats/provider-error.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { MESSAGES_STREAMS } from '../anthropic/anthropic.ts'
import { type CountedStreams, counted, TELLS_NO_COST } from '../counted.ts'
import { capEditIn, refuseUncounted, usageEdits } from '../counted-calls.ts'
import { fetchVendorModels, meetVendorList } from '../listing/vendor-list.ts'
import { CHAT_STREAMS, COMPLETIONS_STREAMS, OTHER_STREAMS } from '../openai/openai.ts'
import * as layout from '../openrouter/chat.ts'
import { messages as messagesLayout } from '../openrouter/messages.ts'
import { responses as responsesLayout } from '../openrouter/responses.ts'
import { modelEdit, userEdit } from '../openrouter/rewrites.ts'
import type { Dialect, RewriteInput, Wire } from '../upstream.ts'

const chat = compatible(layout.chat, CHAT_STREAMS, writingRewrites)
const completions = compatible(layout.completions, COMPLETIONS_STREAMS, writingRewrites)
const embeddings = compatible(layout.embeddings, OTHER_STREAMS, ({ call, offer, accountTag }) => [
  ...modelEdit(call, offer),
  userEdit(accountTag),
])
const responses = compatible(responsesLayout, OTHER_STREAMS, (input) => [
  ...modelEdit(input.call, input.offer),
  ...heldCapEdits(input),
])
// Messages are sent no cap of ours: servers of this format demand the client's own.
const messages: Wire = {
  ...compatible(messagesLayout, MESSAGES_STREAMS, ({ call, offer }) => modelEdit(call, offer)),
  refuse(input) {
    refuseUncounted(input)
    refuseCapAbove(input)
  },
}

/** Servers that speak OpenAI's formats, or those of its formats that they say, and list no prices. */
export const openaiCompatible: Dialect = {
  baseUrl: null,
  ...TELLS_NO_COST,
  // Servers of one's own stop a call when its connection closes.
  billsLeftCalls: false,
  hasCatalogIds: false,
  headers: (apiKey) => (apiKey === null ? [] : ['authorization', `Bearer ${apiKey}`]),
  wires: new Map(Object.entries({ chat, completions, embeddings, responses, messages })),
  usualFormats: ['chat'],
  async fetchModels(upstream, settings) {
    return meetVendorList(
      // Some servers have no list, and some list other ids than those that they run.
      (await fetchVendorModels(upstream, '/models')) ?? [],
      {
        author: upstream.settings.name,
        authoredIdOf: () => null,
        knownModel: () => null,
        factsOf: () => null,
      },
      { ...settings, written: upstream.settings.models },
    )
  },
}

/** The longest answer, which the hold is for, where the client set no cap: a server may write more without one. */
function heldCapEdits({ call, offer }: RewriteInput): ReturnType<Wire['rewrites']> {
  const outputCapTokens = call.outputCapTokens === null ? offer.outputTokensMax : null
  return capEditIn('max_output_tokens', { call, offer, outputCapTokens })
}

// Messages are held up to the longest answer, which is written in the settings: the server may know another.
function refuseCapAbove({ call, offer }: Parameters<NonNullable<Wire['refuse']>>[0]): void {
  const { outputTokensMax } = offer
  if (outputTokensMax === null || (call.outputCapTokens ?? 0) <= outputTokensMax) return
  throw new Problem('invalid_parameter', {
    param: 'max_tokens',
    message: `\`max_tokens\` is above the longest answer of this model: set it to ${outputTokensMax} or less.`,
  })
}

function writingRewrites(input: RewriteInput): ReturnType<Wire['rewrites']> {
  return [
    ...modelEdit(input.call, input.offer),
    userEdit(input.accountTag),
    ...usageEdits(input.call, input.body.root),
    ...capEditIn('max_tokens', input),
  ]
}

/** By position: OpenRouter's wire of the same layout, how its streams are read, and what is replaced. */
function compatible(wire: Wire, streams: CountedStreams, rewrites: Wire['rewrites']): Wire {
  return {
    // Servers that send no counts in a stream are many: those answers are estimated.
    ...counted(wire, { ...streams, isEstimated: true }),
    refuse: refuseUncounted,
    rewrites,
    readError(root, httpStatus): ProviderError {
      const error = wire.readError(root, httpStatus)
      return httpStatus === 403 ? { ...error, httpStatus: 402 } : error
    },
  }
}
