import {
  byType,
  CACHE_MARK,
  type FieldTable,
  HELD,
  held,
  listOf,
  object,
  oneOf,
  openObject,
  PASSED,
  refused,
  refusedTypes,
  textOr,
} from '../fields.ts'

/*
 * The fields of chat completions, legacy completions and embeddings. Source: the types of `openai` 7.59, checked 2026-11-28; a type test compares them.
 */

/** The refusal of the ID of a file. */
export const NO_FILES =
  'Files are not kept here: send the file itself in `file_data`, or a picture in `image_url`.'

/** Fields that each format of OpenAI has. */
export const MODEL = { model: PASSED, user: PASSED } as const satisfies FieldTable

/** Fields that decide how each token is chosen: none changes the price. */
const SAMPLING = {
  temperature: PASSED,
  top_p: PASSED,
  stop: PASSED,
  seed: PASSED,
  logit_bias: PASSED,
  logprobs: PASSED,
  presence_penalty: PASSED,
  frequency_penalty: PASSED,
} as const satisfies FieldTable

// Writes for 12 hours cost more, at a price that no list has here: developers.openai.com/api/docs/models/gpt-6.2-sol, read
// 2026-11-27.
const LIFETIME = held(oneOf('30m'))

/** A mark up to which a prompt is cached. */
export const BREAKPOINT = held(object({ mode: PASSED, ttl: LIFETIME }))

/** Fields that decide how prompts are cached. */
export const CACHE = {
  prompt_cache_key: PASSED,
  // The SDK had the spelling with a hyphen before.
  prompt_cache_retention: held(oneOf('in_memory', 'in-memory', '24h')),
  // Left out: `comparison_response_id`, which names an earlier answer, and `prewarm`, which bills without an answer.
  prompt_cache_options: object({ mode: PASSED, ttl: LIFETIME }),
} as const satisfies FieldTable

/** The tiers. A price of one is checked where prices are known. */
export const TIER = {
  service_tier: oneOf('auto', 'default', 'priority'),
} as const satisfies FieldTable

const MARKS = {
  cache_control: CACHE_MARK,
  prompt_cache_breakpoint: BREAKPOINT,
} as const satisfies FieldTable

/** The parts of chat messages, by type. */
export const CHAT_PARTS = {
  text: object({ type: PASSED, text: PASSED, ...MARKS }),
  refusal: object({ type: PASSED, refusal: PASSED, ...MARKS }),
  image_url: object({
    type: PASSED,
    image_url: textOr(object({ url: PASSED, detail: PASSED })),
    ...MARKS,
  }),
  file: object({
    type: PASSED,
    file: object({ filename: PASSED, file_data: PASSED, file_id: refused('state', NO_FILES) }),
    ...MARKS,
  }),
  ...refusedTypes('Send text instead of audio.', 'input_audio'),
} as const satisfies FieldTable

// A tool of the client is never looked into, but some servers take a mark beside it.
const TOOL = openObject({ cache_control: CACHE_MARK })

/** The tools of chat, by type: all run by the client. */
export const CHAT_TOOLS = { function: TOOL, custom: TOOL } as const satisfies FieldTable

/** The members of a chat message. */
export const CHAT_MESSAGE = {
  role: oneOf('system', 'developer', 'user', 'assistant', 'tool', 'function'),
  name: PASSED,
  // Calls of the client's own tools: their arguments are never looked into.
  tool_calls: PASSED,
  tool_call_id: PASSED,
  function_call: PASSED,
  refusal: PASSED,
  // Answers have this field, and clients send whole answers back.
  annotations: PASSED,
  audio: refused('state', 'Spoken answers are not kept here: send their text in `content`.'),
} as const satisfies FieldTable

/** The fields of chat completions without the messages, which operators' own servers extend. */
export const CHAT_FIELDS = {
  ...MODEL,
  ...SAMPLING,
  ...CACHE,
  ...TIER,
  messages: listOf(
    object(
      { ...CHAT_MESSAGE, content: textOr(listOf(byType(CHAT_PARTS))) },
      { vouchedAs: 'messages.' },
    ),
  ),
  top_logprobs: PASSED,
  response_format: PASSED,
  reasoning_effort: PASSED,
  verbosity: PASSED,
  parallel_tool_calls: PASSED,
  tool_choice: PASSED,
  function_call: PASSED,
  metadata: PASSED,
  safety_identifier: PASSED,
  stream: PASSED,
  stream_options: object({ include_usage: PASSED, include_obfuscation: PASSED }),
  max_tokens: HELD,
  max_completion_tokens: HELD,
  n: HELD,
  prediction: HELD,
  tools: held(listOf(byType(CHAT_TOOLS))),
  functions: HELD,
  store: oneOf(false),
  modalities: listOf(oneOf('text')),
  moderation: refused('price'),
  audio: refused('price'),
  web_search_options: refused('price'),
  plugins: refused('price'),
  reasoning: refused('length', 'Set `reasoning_effort` instead.'),
} as const satisfies FieldTable

/** The fields of legacy completions. */
export const COMPLETION_FIELDS = {
  ...MODEL,
  ...SAMPLING,
  prompt: PASSED,
  echo: PASSED,
  suffix: PASSED,
  stream: PASSED,
  stream_options: object({ include_usage: PASSED, include_obfuscation: PASSED }),
  max_tokens: HELD,
  n: HELD,
  best_of: HELD,
} as const satisfies FieldTable

/** The fields of embeddings. */
export const EMBEDDING_FIELDS = {
  ...MODEL,
  input: PASSED,
  dimensions: PASSED,
  encoding_format: PASSED,
} as const satisfies FieldTable
