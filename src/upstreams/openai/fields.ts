import {
  byType,
  type FieldTable,
  HELD,
  listOf,
  object,
  oneOf,
  PASSED,
  refused,
  refusedTypes,
  textOr,
} from '../fields.ts'

/*
 * The fields of OpenAI's formats. Source: the types of `openai` 7.55, checked 2026-11-24; a type test compares them.
 */

const NO_FILES =
  'Files are not kept here: send the file itself in `file_data`, or a picture in `image_url`.'
const NO_STATE = 'Send the whole conversation instead of the ID of an earlier answer.'

/** Fields that each format of OpenAI has. */
const MODEL = { model: PASSED, user: PASSED } as const satisfies FieldTable

/** How a token is chosen. */
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

const CACHE = {
  prompt_cache_key: PASSED,
  prompt_cache_retention: HELD,
  // Not `comparison_response_id`, which names an earlier answer, and not `prewarm`, which bills without an answer.
  prompt_cache_options: object({ mode: PASSED, ttl: HELD }),
} as const satisfies FieldTable

// A price of a tier is checked where prices are known.
const TIER = { service_tier: oneOf('auto', 'default', 'priority') } as const satisfies FieldTable

const MARKS = { cache_control: HELD, prompt_cache_breakpoint: HELD } as const satisfies FieldTable

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
  ...refusedTypes('Audio input (`input_audio`) is not supported.', 'input_audio'),
} as const satisfies FieldTable

/** The members of a chat message. */
export const CHAT_MESSAGE = {
  role: oneOf('system', 'developer', 'user', 'assistant', 'tool', 'function'),
  name: PASSED,
  // Calls of the client's own tools: their arguments are never looked into.
  tool_calls: PASSED,
  tool_call_id: PASSED,
  function_call: PASSED,
  refusal: PASSED,
  // Answers have them, and clients send answers back whole.
  annotations: PASSED,
  audio: refused('state', 'Spoken answers are not kept here: send their text in `content`.'),
} as const satisfies FieldTable

/** Chat completions but for their messages, which servers of one's own extend. */
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
  tools: HELD,
  functions: HELD,
  store: oneOf(false),
  modalities: listOf(oneOf('text')),
  moderation: refused('price'),
  audio: refused('price'),
  web_search_options: refused('price'),
  plugins: refused('price'),
  reasoning: refused('length', 'This model takes `reasoning_effort` in place of `reasoning`.'),
} as const satisfies FieldTable

/** Legacy completions. */
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

/** Embeddings. */
export const EMBEDDING_FIELDS = {
  ...MODEL,
  input: PASSED,
  dimensions: PASSED,
  encoding_format: PASSED,
} as const satisfies FieldTable

const BREAKPOINT = { type: PASSED, prompt_cache_breakpoint: HELD } as const satisfies FieldTable

/** The parts of messages, reasoning and results of tools in responses, by type. */
export const RESPONSE_PARTS = {
  input_text: object({ ...BREAKPOINT, text: PASSED }),
  output_text: object({ ...BREAKPOINT, text: PASSED, annotations: PASSED, logprobs: PASSED }),
  refusal: object({ ...BREAKPOINT, refusal: PASSED }),
  summary_text: object({ ...BREAKPOINT, text: PASSED }),
  reasoning_text: object({ ...BREAKPOINT, text: PASSED }),
  input_image: object({
    ...BREAKPOINT,
    image_url: PASSED,
    detail: PASSED,
    file_id: refused('state', NO_FILES),
  }),
  input_file: object({
    ...BREAKPOINT,
    filename: PASSED,
    file_data: PASSED,
    file_url: PASSED,
    detail: PASSED,
    file_id: refused('state', NO_FILES),
  }),
} as const satisfies FieldTable

const PARTS = textOr(listOf(byType(RESPONSE_PARTS)))

const MESSAGE = object({
  type: PASSED,
  id: PASSED,
  role: oneOf('user', 'assistant', 'system', 'developer'),
  content: PARTS,
  status: PASSED,
  phase: PASSED,
})

const TOOL_CALL = {
  type: PASSED,
  id: PASSED,
  call_id: PASSED,
  name: PASSED,
  namespace: PASSED,
  status: PASSED,
} as const satisfies FieldTable

const REASONING = object({
  type: PASSED,
  id: PASSED,
  status: PASSED,
  summary: listOf(byType(RESPONSE_PARTS)),
  content: listOf(byType(RESPONSE_PARTS)),
  encrypted_content: PASSED,
})

/** The items of the `input` of responses, by type. */
export const RESPONSE_ITEMS = {
  message: MESSAGE,
  function_call: object({ ...TOOL_CALL, arguments: PASSED }),
  function_call_output: object({ ...TOOL_CALL, output: PARTS }),
  custom_tool_call: object({ ...TOOL_CALL, input: PASSED }),
  custom_tool_call_output: object({ ...TOOL_CALL, output: PARTS }),
  reasoning: {
    ...REASONING,
    judge(item, vouched) {
      const fault = REASONING.judge(item, vouched)
      if (fault !== null || typeof item !== 'object' || !('type' in item)) return fault
      const { encrypted_content: encrypted = null, content = null } = item
      if (encrypted !== null || content !== null) return null
      return { path: '', message: () => NO_REASONING }
    },
  },
  ...refusedTypes(NO_STATE, 'item_reference', 'compaction', 'compaction_trigger'),
  ...refusedTypes(
    'This model runs no tools of the provider: their cost is not counted in its answers.',
    'file_search_call',
    'computer_call',
    'computer_call_output',
    'web_search_call',
    'tool_search_call',
    'tool_search_output',
    'additional_tools',
    'configuration_update',
    'image_generation_call',
    'code_interpreter_call',
    'local_shell_call',
    'local_shell_call_output',
    'shell_call',
    'shell_call_output',
    'apply_patch_call',
    'apply_patch_call_output',
    'mcp_list_tools',
    'mcp_approval_request',
    'mcp_approval_response',
    'mcp_call',
    'program',
    'program_output',
  ),
} as const satisfies FieldTable

const NO_REASONING =
  'Reasoning is not kept here: ask for `include: ["reasoning.encrypted_content"]` and send it back, or leave the item out.'

/** Responses. */
export const RESPONSE_FIELDS = {
  ...MODEL,
  ...CACHE,
  ...TIER,
  input: textOr(listOf(byType(RESPONSE_ITEMS, { untyped: MESSAGE }))),
  instructions: PASSED,
  temperature: PASSED,
  top_p: PASSED,
  top_logprobs: PASSED,
  text: PASSED,
  truncation: PASSED,
  metadata: PASSED,
  parallel_tool_calls: PASSED,
  tool_choice: PASSED,
  safety_identifier: PASSED,
  // Codex names its session, turn and window with it.
  client_metadata: PASSED,
  stream: PASSED,
  max_output_tokens: HELD,
  tools: HELD,
  max_tool_calls: HELD,
  store: oneOf(false),
  background: oneOf(false),
  reasoning: object({
    effort: PASSED,
    summary: PASSED,
    generate_summary: PASSED,
    context: PASSED,
    // `pro` runs at a cost that the cap does not bound.
    mode: oneOf('standard'),
  }),
  include: listOf(
    oneOf(
      'reasoning.encrypted_content',
      'message.output_text.logprobs',
      'message.input_image.image_url',
    ),
  ),
  stream_options: object({ include_obfuscation: PASSED }),
  previous_response_id: refused('state', NO_STATE),
  conversation: refused('state', NO_STATE),
  prompt: refused('state', 'Stored prompts are not supported: send the text itself.'),
  context_management: refused('price'),
  moderation: refused('price'),
  access_programs: refused('price'),
  image: refused('price'),
} as const satisfies FieldTable
