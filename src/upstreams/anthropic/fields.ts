import {
  byType,
  CACHE_MARK,
  checked,
  type FieldRow,
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
  refusedUnlessVouched,
  textOr,
} from '../fields.ts'

/*
 * The fields of Anthropic's messages. Source: the types of `@anthropic-ai/sdk` 1.14, beta types included, checked
 * 2026-11-28; a type test compares them.
 */

const NO_FILES = 'Files are not kept here: send the file itself, as a source of type `base64`.'
const NO_STATE = 'Send the whole conversation in `messages`.'

const BLOCK = { type: PASSED, cache_control: CACHE_MARK } as const satisfies FieldTable

const SOURCE = byType({
  base64: object({ type: PASSED, media_type: PASSED, data: PASSED }),
  url: object({ type: PASSED, url: PASSED }),
  text: object({ type: PASSED, media_type: PASSED, data: PASSED }),
  content: object({ type: PASSED, content: { ...PASSED, judge: (...at) => CONTENT.judge(...at) } }),
  ...refusedTypes(NO_FILES, 'file'),
})

const READ_BLOCKS = {
  text: object({ ...BLOCK, text: PASSED, citations: PASSED }),
  image: object({ ...BLOCK, source: SOURCE, transformations: refused('price') }),
  document: object({ ...BLOCK, source: SOURCE, title: PASSED, context: PASSED, citations: PASSED }),
  search_result: object({
    ...BLOCK,
    source: PASSED,
    title: PASSED,
    content: { ...PASSED, judge: (...at) => CONTENT.judge(...at) },
    citations: PASSED,
  }),
} as const satisfies FieldTable

// A document can contain blocks, and these blocks others: the parser bounds the depth.
const CONTENT: FieldRow = textOr(listOf(byType(READ_BLOCKS)))

// The input of a tool's call is the client's own, and never looked into.
const TOOL_USE = { ...BLOCK, id: PASSED, name: PASSED, input: PASSED, caller: PASSED } as const

const OTHERS_TOOLS =
  "Of the provider's own tools, only web search is supported for this model: answers do not count the cost of the others."

/** The blocks of a message, by type, without those of a search. */
const WRITTEN_BLOCKS = {
  ...READ_BLOCKS,
  tool_use: object({ ...TOOL_USE, toolset_name: PASSED }),
  tool_result: object({
    ...BLOCK,
    tool_use_id: PASSED,
    content: CONTENT,
    is_error: PASSED,
    toolset_name: PASSED,
  }),
  thinking: object({ ...BLOCK, thinking: PASSED, signature: PASSED }),
  redacted_thinking: object({ ...BLOCK, data: PASSED }),
  ...refusedTypes(NO_FILES, 'container_upload'),
  ...refusedTypes(
    OTHERS_TOOLS,
    'web_fetch_tool_result',
    'code_execution_tool_result',
    'bash_code_execution_tool_result',
    'text_editor_code_execution_tool_result',
    'tool_search_tool_result',
    'advisor_tool_result',
    'mcp_tool_use',
    'mcp_tool_result',
    'mcp_tool_listing',
    'tool_addition',
    'tool_removal',
  ),
  ...refusedTypes(
    'Its summary of the conversation causes a cost that the answer does not count.',
    'compaction',
  ),
  ...refusedTypes('A request runs on exactly the model that it names.', 'fallback'),
} as const satisfies FieldTable

/** The blocks of a message, by type. */
export const BLOCKS = {
  ...WRITTEN_BLOCKS,
  server_tool_use: object(TOOL_USE),
  web_search_tool_result: object({
    ...BLOCK,
    tool_use_id: PASSED,
    content: PASSED,
    caller: PASSED,
  }),
} as const satisfies FieldTable

// A tool that only the provider's code calls would run there unseen.
const TOOL = openObject({
  allowed_callers: listOf(oneOf('direct')),
  cache_control: CACHE_MARK,
})

/** The tools of a call, by type: those that the client runs, and a search. */
export const TOOLS = {
  custom: TOOL,
  web_search_20250305: TOOL,
  web_search_20260209: TOOL,
  web_search_20260318: TOOL,
  ...refusedTypes(
    OTHERS_TOOLS,
    'bash_20241022',
    'bash_20250124',
    'code_execution_20250522',
    'code_execution_20250825',
    'code_execution_20260120',
    'code_execution_20260521',
    'browser_toolset_20260801',
    'computer_20241022',
    'computer_20250124',
    'computer_20251124',
    'computer_toolset_20260801',
    'memory_20250818',
    'text_editor_20241022',
    'text_editor_20250124',
    'text_editor_20250429',
    'text_editor_20250728',
    'web_fetch_20250910',
    'web_fetch_20260209',
    'web_fetch_20260309',
    'web_fetch_20260318',
    'advisor_20260301',
    'tool_search_tool_bm25',
    'tool_search_tool_bm25_20251119',
    'tool_search_tool_regex',
    'tool_search_tool_regex_20251119',
    'mcp_toolset',
  ),
} as const satisfies FieldTable

/** The members of `thinking`. */
export const THINKING = {
  type: PASSED,
  budget_tokens: HELD,
  display: PASSED,
  block_binding: PASSED,
} as const satisfies FieldTable

function messageFields(blocks: FieldTable) {
  return {
    model: PASSED,
    messages: listOf(
      object(
        { role: oneOf('user', 'assistant', 'system'), content: textOr(listOf(byType(blocks))) },
        { vouchedAs: 'messages.' },
      ),
    ),
    system: textOr(listOf(byType({ text: READ_BLOCKS.text }))),
    stop_sequences: PASSED,
    stream: PASSED,
    temperature: PASSED,
    top_p: PASSED,
    top_k: PASSED,
    tool_choice: PASSED,
    metadata: object({ user_id: PASSED }),
    output_config: object({ effort: PASSED, format: PASSED, task_budget: PASSED }),
    output_format: PASSED,
    max_tokens: HELD,
    thinking: held(object(THINKING)),
    cache_control: CACHE_MARK,
    tools: held(listOf(byType(TOOLS, { untyped: TOOL }))),
    // A price of a tier is checked where prices are known.
    service_tier: oneOf('auto', 'standard_only'),
    speed: oneOf('standard', 'fast'),
    inference_geo: oneOf('global'),
    context_management: object({ edits: listOf(CLEARING_EDIT) }),
    thread: refused('state', NO_STATE),
    diagnostics: refusedUnlessVouched(),
    container: refused('price', 'It has no price here. Leave it out.'),
    fallbacks: refused('price', 'A request runs on exactly the model that it names. Leave it out.'),
    fallback_credit_token: refused('price'),
    billing_policy: refused('price'),
    mcp_servers: refused('price'),
    compaction: refused('price'),
    betas: refused('state', 'Send beta names in the header `anthropic-beta`.'),
    user_profile_id: refused('state'),
    workspace_id: refused('state'),
  } as const satisfies FieldTable
}

const CLEARING_EDIT = checked((edit) => {
  const type = typeof edit === 'object' && 'type' in edit ? edit.type : null
  if (typeof type === 'string' && type.startsWith('clear_')) return null
  return {
    path: '.type',
    message: (param) =>
      `\`${param}\` must begin with \`clear_\`: the answer does not count summaries of the conversation.`,
  }
})

/** Messages, to a model without a price for searches. */
export const MESSAGE_FIELDS = messageFields(WRITTEN_BLOCKS)

/** Messages, to a model with a price for searches. */
export const SEARCHING_MESSAGE_FIELDS = messageFields(BLOCKS)
