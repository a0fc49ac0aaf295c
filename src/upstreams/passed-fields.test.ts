import { expect, test } from 'vitest'
import { type COUNTED_DIALECTS, refusalOf } from './testing/refused-fields.ts'

/* Fields that are sent to a provider that bills by its counts. */

const PASSED: readonly (readonly [keyof typeof COUNTED_DIALECTS, string, object])[] = [
  [
    'openai',
    'chat',
    {
      messages: [
        { role: 'developer', content: 'Be brief.', name: 'a' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } },
            { type: 'image_url', image_url: { url: 'https://a.b/c', detail: 'low' } },
            {
              type: 'file',
              file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' },
            },
          ],
        },
        {
          role: 'assistant',
          content: null,
          refusal: null,
          annotations: [],
          audio: null,
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: '{"thread":1}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: '{"n_predict":1}' },
      ],
      tools: [
        { type: 'function', function: { name: 'f', parameters: { properties: { file_id: {} } } } },
      ],
      store: false,
      thread: null,
      modalities: ['text'],
      reasoning_effort: 'low',
      prompt_cache_options: { mode: 'explicit', ttl: '30m' },
      prompt_cache_retention: '24h',
      prediction: { type: 'content', content: 'x' },
    },
  ],
  [
    'openai',
    'responses',
    {
      input: [
        { role: 'user', content: 'x' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'abc' },
        {
          type: 'function_call',
          id: 'fc_1',
          call_id: 'a',
          name: 'f',
          arguments: '{}',
          status: 'completed',
        },
        { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'y' }] },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'z', annotations: [], logprobs: [] }],
        },
      ],
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low', summary: 'auto' },
      text: {
        format: { type: 'json_schema', name: 'a', schema: { properties: { container: {} } } },
      },
      truncation: 'auto',
    },
  ],
  [
    'anthropic',
    'messages',
    {
      // Claude Code sends marks with a scope.
      cache_control: { type: 'ephemeral', scope: 'global', ttl: null },
      system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'document', title: 'a', source: { type: 'url', url: 'https://a.b/c' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'x', signature: 'y' },
            {
              type: 'tool_use',
              id: 'a',
              name: 'f',
              input: { thread: 1, source: { type: 'file' } },
            },
            { type: 'server_tool_use', id: 'b', name: 'web_search', input: { query: 'x' } },
            { type: 'web_search_tool_result', tool_use_id: 'b', content: [] },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'z' }] },
          ],
        },
      ],
      tools: [
        { name: 'f', input_schema: { properties: { thread: {} } }, allowed_callers: ['direct'] },
      ],
      metadata: { user_id: 'u' },
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
      output_config: { effort: 'low' },
    },
  ],
  [
    'openai-compatible',
    'chat',
    {
      messages: [
        { role: 'assistant', content: 'x', reasoning_content: 'y', prefix: true },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: [{ type: 'text', text: 'x' }], closed: true },
            { type: 'text', text: 'y' },
          ],
        },
      ],
      top_k: 5,
      dry_multiplier: 1,
      guided_json: { type: 'object' },
      thinking_budget: 100,
      thinking: { type: 'enabled', budget_tokens: 50 },
      chat_template_kwargs: { enable_thinking: false },
    },
  ],
]

test.each(PASSED)('%s accepts on %s: %j', (dialect, format, fields) => {
  expect(refusalOf({ dialect, format, fields })).toBeNull()
})
