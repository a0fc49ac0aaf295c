import { isJsonObject, type JsonValue } from '../../json/walk.ts'
import {
  byType,
  type FieldTable,
  HELD,
  held,
  listOf,
  object,
  oneOf,
  PASSED,
  refused,
  refusedTypes,
  refusedUnlessVouched,
  textOr,
} from '../fields.ts'
import { BREAKPOINT, CACHE, MODEL, NO_FILES, TIER } from './fields.ts'

/*
 * The fields of responses. Source: the types of `openai` 7.59, beta types included, checked 2026-11-28; a type test
 * compares them.
 */

const NO_TOOLS =
  'This model runs no tools of the provider: their cost is not counted in its answers.'
const NO_STATE = 'Send the whole conversation instead of the ID of an earlier answer.'

const PART = { type: PASSED, prompt_cache_breakpoint: BREAKPOINT } as const satisfies FieldTable

// The annotations of a search or a file of the provider's own tools, with the IDs of stored files.
const ANNOTATIONS = listOf(
  byType({
    url_citation: PASSED,
    ...refusedTypes(NO_FILES, 'file_citation', 'container_file_citation', 'file_path'),
  }),
)

/** The parts of messages, reasoning and results of tools in responses, by type. */
export const RESPONSE_PARTS = {
  input_text: object({ ...PART, text: PASSED }),
  output_text: object({ ...PART, text: PASSED, annotations: ANNOTATIONS, logprobs: PASSED }),
  refusal: object({ ...PART, refusal: PASSED }),
  summary_text: object({ ...PART, text: PASSED }),
  reasoning_text: object({ ...PART, text: PASSED }),
  input_image: object({
    ...PART,
    image_url: PASSED,
    detail: PASSED,
    file_id: refused('state', NO_FILES),
  }),
  input_file: object({
    ...PART,
    filename: PASSED,
    file_data: PASSED,
    file_url: PASSED,
    detail: PASSED,
    file_id: refused('state', NO_FILES),
  }),
} as const satisfies FieldTable

const PARTS = textOr(listOf(byType(RESPONSE_PARTS)))

// Agents of the provider, which a beta lets a call start: each writes up to the cap.
const NO_AGENTS = { agent: refused('price') } as const satisfies FieldTable

const MESSAGE = object({
  ...NO_AGENTS,
  type: PASSED,
  id: PASSED,
  role: oneOf('user', 'assistant', 'system', 'developer'),
  content: PARTS,
  status: PASSED,
  phase: PASSED,
})

const TOOL_CALL = {
  ...NO_AGENTS,
  type: PASSED,
  id: PASSED,
  call_id: PASSED,
  name: PASSED,
  namespace: PASSED,
  status: PASSED,
  caller: PASSED,
  async: PASSED,
} as const satisfies FieldTable

const REASONING = object({
  ...NO_AGENTS,
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
      if (fault !== null || !isJsonObject(item)) return fault
      if (isFilled(item['encrypted_content']) || isFilled(item['content'])) return null
      return { path: '', message: noReasoning }
    },
  },
  ...refusedTypes(NO_STATE, 'item_reference', 'compaction', 'compaction_trigger'),
  ...refusedTypes(
    NO_TOOLS,
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
    'agent_message',
    'multi_agent_call',
    'multi_agent_call_output',
  ),
} as const satisfies FieldTable

/** Whether reasoning has something in this member: empty reasoning would only be the ID of an earlier one. */
function isFilled(member: JsonValue | undefined): boolean {
  return (typeof member === 'string' || Array.isArray(member)) && member.length > 0
}

function noReasoning(param: string): string {
  return `Reasoning is not kept here: ask for \`include: ["reasoning.encrypted_content"]\` and send it back, or leave \`${param}\` out.`
}

/** The tools of responses, by type. */
export const RESPONSE_TOOLS = {
  function: PASSED,
  custom: PASSED,
  ...refusedTypes(
    NO_TOOLS,
    'file_search',
    'computer',
    'computer_use_preview',
    'web_search',
    'web_search_2025_08_26',
    'web_search_preview',
    'web_search_preview_2025_03_11',
    'mcp',
    'code_interpreter',
    'programmatic_tool_calling',
    'image_generation',
    'local_shell',
    'shell',
    'namespace',
    'tool_search',
    'apply_patch',
  ),
} as const satisfies FieldTable

/** The fields of responses. */
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
  tools: held(listOf(byType(RESPONSE_TOOLS))),
  max_tool_calls: HELD,
  store: oneOf(false),
  background: oneOf(false),
  // New in `openai` 7.58: the window of an answer that is written in the background, at another price.
  background_options: refusedUnlessVouched(),
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
  prompt: refused('state', 'Send the text itself.'),
  context_management: refused('price'),
  moderation: refused('price'),
  access_programs: refused('price'),
  multi_agent: refused('price'),
  betas: refused('state'),
  image: refused('price'),
} as const satisfies FieldTable
