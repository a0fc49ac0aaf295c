/* Values of the fields that the tables of the dialects list, for bodies that are made from the tables. */

const FUNCTION = { name: 'look_up', parameters: { type: 'object', properties: { n_predict: {} } } }
const CHAT_TOOLS = [{ type: 'function', function: FUNCTION }]
const RESPONSE_TOOLS = [{ type: 'function', ...FUNCTION }]
const MESSAGE_TOOLS = [
  { name: 'look_up', input_schema: { type: 'object' } },
  { type: 'custom', name: 'act', input_schema: {}, allowed_callers: ['direct'] },
]
const CAPS = [1, 60, 4_000]
const BUDGETS = [0, 500, 9_000]

/** Values that a row does not refuse, by field. A field that only passes may have any value. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  stream: [false, true],
  stream_options: [
    { include_usage: true, include_obfuscation: false },
    { include_obfuscation: true },
  ],
  user: ['someone'],
  max_tokens: CAPS,
  max_completion_tokens: CAPS,
  max_output_tokens: CAPS,
  n: [1, 3],
  best_of: [1, 4],
  prediction: [{ type: 'content', content: 'as it was before '.repeat(90) }],
  functions: [[FUNCTION]],
  max_tool_calls: [0, 7],
  store: [false],
  background: [false],
  service_tier: ['auto'],
  modalities: [['text']],
  tool_choice: ['auto'],
  prompt_cache_retention: ['in_memory', '24h'],
  prompt_cache_options: [{ mode: 'explicit', ttl: '30m' }],
  include: [['reasoning.encrypted_content', 'message.output_text.logprobs']],
  thinking: [
    { type: 'enabled', budget_tokens: 2_000 },
    { type: 'enabled', budget_tokens: 30 },
  ],
  thinking_budget: BUDGETS,
  thinking_token_budget: BUDGETS,
  thinking_budget_tokens: BUDGETS,
  reasoning_budget_tokens: BUDGETS,
  chat_template_kwargs: [{ enable_thinking: true, style: 'brief' }],
  cache_control: [{ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }],
  metadata: [{ user_id: 'one' }],
  output_config: [{ effort: 'low', task_budget: { type: 'tokens', total: 100 } }],
  context_management: [{ edits: [{ type: 'clear_tool_uses_20250919' }] }],
  speed: ['standard'],
  inference_geo: ['global'],
}

const OF_FORMAT: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>> = {
  chat: { tools: CHAT_TOOLS.map((tool) => [tool]), reasoning: [{ effort: 'low', enabled: true }] },
  responses: {
    tools: RESPONSE_TOOLS.map((tool) => [tool]),
    reasoning: [{ effort: 'low', summary: 'auto', mode: 'standard' }],
  },
  messages: { tools: [MESSAGE_TOOLS] },
  completions: { reasoning: [{ effort: 'low' }] },
  embeddings: { reasoning: [{ effort: 'low' }] },
}

/** The fields that every such body has. */
const OF_EVERY_BODY = new Set(['model', 'messages', 'system', 'input', 'prompt'])

/** The allowed values of a field; null: any. Empty: the body already has one. */
export function valuesOf(name: string, format: string): readonly unknown[] | null {
  if (OF_EVERY_BODY.has(name)) return []
  return OF_FORMAT[format]?.[name] ?? VALUES[name] ?? null
}
