import { wordsOf } from '../../vocabulary/words-of.ts'
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
import {
  byType,
  type FieldRow,
  type FieldTable,
  flatObject,
  HELD_COUNT,
  listOf,
  object,
  PASSED,
  refused,
  refusedUnlessVouched,
  textOr,
} from '../fields.ts'
import { vendorCatalog } from '../listing/vendor-list.ts'
import {
  CHAT_FIELDS,
  CHAT_MESSAGE,
  CHAT_PARTS,
  COMPLETION_FIELDS,
  EMBEDDING_FIELDS,
} from '../openai/fields.ts'
import {
  CHAT_STREAMS,
  COMPLETIONS_STREAMS,
  EMBEDDINGS_STREAMS,
  RESPONSES_STREAMS,
} from '../openai/openai.ts'
import { RESPONSE_FIELDS } from '../openai/response-fields.ts'
import * as layout from '../openrouter/chat.ts'
import { messages as messagesLayout } from '../openrouter/messages.ts'
import { responses as responsesLayout } from '../openrouter/responses.ts'
import { modelEdit } from '../openrouter/rewrites.ts'
import type { Dialect } from '../upstream.ts'
import type { RewriteInput, Wire } from '../wire.ts'

/*
 * The fields of servers that speak OpenAI's formats: OpenAI's own, and those that vLLM, SGLang, llama.cpp and Ollama
 * add. Source: the code of these servers, read 2026-11-24.
 */

/** Fields that choose among tokens or shape the text, below the length that the cap sets. */
const PASSED_NAMES = `
  top_k min_p typical_p repetition_penalty repeat_penalty repeat_last_n length_penalty
  dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers
  xtc_probability xtc_threshold mirostat mirostat_tau mirostat_eta stop_token_ids stop_regex
  include_stop_str_in_output ignore_eos min_tokens bad_words allowed_token_ids skip_special_tokens
  spaces_between_special_tokens no_stop_trim structured_outputs guided_json guided_regex
  guided_choice guided_grammar regex ebnf grammar json_schema truncate_prompt_tokens echo documents
  add_generation_prompt continue_final_message add_special_tokens include_reasoning
  separate_reasoning stream_reasoning reasoning_format enable_thinking random_seed safe_prompt
  cache_prompt
`

const OWN_LENGTH = 'Set the length of the answer in `max_tokens`.'

const ADDED: FieldTable = {
  ...allOf(PASSED, PASSED_NAMES),
  reasoning: object({ effort: PASSED, enabled: PASSED }),
  // Some servers count thinking in addition to the cap: the hold is for both.
  thinking_budget: HELD_COUNT,
  thinking_token_budget: HELD_COUNT,
  thinking_budget_tokens: HELD_COUNT,
  reasoning_budget_tokens: HELD_COUNT,
  thinking: object({ type: PASSED, budget_tokens: HELD_COUNT }),
  // SGLang passes these to its tokenizer, which can then pad a prompt to a given length.
  chat_template_kwargs: flatObject(['chat_template', 'tokenize', 'padding', 'max_length']),
  n_predict: refused('length', OWN_LENGTH),
  max_new_tokens: refused('length', OWN_LENGTH),
  num_predict: refused('length', OWN_LENGTH),
  ...allOf(
    refused('state'),
    `
    id_slot session_id session_params request_id rid extra_key cache_salt lora lora_path
    kv_transfer_params ec_transfer_params bootstrap_host bootstrap_port bootstrap_room
    data_parallel_rank routed_dp_rank disagg_prefill_dp_rank extra_body input_ids chat_template
    custom_logit_processor vllm_xargs
    `,
  ),
  priority: refusedUnlessVouched(),
  ...allOf(
    refused('price'),
    `
    use_beam_search mm_processor_kwargs media_io_kwargs images_config prompt_logprobs
    return_hidden_states enable_search search_parameters
    `,
  ),
}

/** By position: the row, and a text of the names that have it. */
function allOf(row: FieldRow, names: string): FieldTable {
  return Object.fromEntries(wordsOf(names).map((name) => [name, row]))
}

const PARTS = {
  ...CHAT_PARTS,
  video_url: object({ type: PASSED, video_url: textOr(object({ url: PASSED })) }),
  // Mistral's answers have it, and clients send whole answers back.
  thinking: object({
    type: PASSED,
    thinking: listOf(byType({ text: object({ type: PASSED, text: PASSED }) })),
    closed: PASSED,
  }),
} as const satisfies FieldTable

const MESSAGE = {
  ...CHAT_MESSAGE,
  content: textOr(listOf(byType(PARTS))),
  reasoning: PASSED,
  reasoning_content: PASSED,
  reasoning_details: PASSED,
  prefix: PASSED,
} as const satisfies FieldTable

/** The fields of each format of OpenAI, by its name. */
const COMPATIBLE_FIELDS = {
  chat: {
    ...CHAT_FIELDS,
    ...ADDED,
    messages: listOf(object(MESSAGE, { vouchedAs: 'messages.' })),
  },
  completions: { ...COMPLETION_FIELDS, ...ADDED },
  responses: { ...RESPONSE_FIELDS, ...ADDED, reasoning: RESPONSE_FIELDS.reasoning },
  embeddings: { ...EMBEDDING_FIELDS, ...ADDED },
} as const satisfies Readonly<Record<string, FieldTable>>

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
