import { describe, expect, test } from 'vitest'
import { FORMATS } from '../formats/formats.ts'
import { bodyOf, callOf, LEAST_BODIES, offerWith } from '../formats/testing/exchange.ts'
import { Problem } from '../vocabulary/problem.ts'
import { anthropic } from './anthropic/anthropic.ts'
import { openai } from './openai/openai.ts'
import { openaiCompatible } from './openai-compatible/openai-compatible.ts'
import type { Dialect } from './upstream.ts'

/* Which fields of a body go on to a provider that bills by its counts. */

const DIALECTS = { openai, anthropic, 'openai-compatible': openaiCompatible }

const OFFER = offerWith({
  inputModalities: new Set(['text', 'image', 'file', 'video']),
  prices: { ...offerWith().prices, search: 1n },
})

interface Sent {
  readonly dialect: keyof typeof DIALECTS
  readonly format: string
  readonly fields: object
  readonly vouched?: readonly string[]
}

/** Checks the smallest body of a format with these fields added. Null: it goes on. */
function refusalOf({ dialect, format: name, fields, vouched = [] }: Sent): Problem | null {
  const of: Dialect = DIALECTS[dialect]
  const format = FORMATS.find(({ endpoint }) => endpoint === name)
  const wire = of.wires.get(name)
  if (format === undefined || wire === undefined) throw new TypeError(`${dialect} ${name}`)
  const source = { ...LEAST_BODIES[name], ...fields }
  try {
    const call = callOf(format, source)
    wire.refuse?.({ call, body: bodyOf(source), offer: OFFER, vouched: new Set(vouched) })
    return null
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

const said = (content: unknown, members: object = {}) => ({
  messages: [{ role: 'user', content, ...members }],
})
const items = (...input: unknown[]) => ({ input })

// By position: the dialect, the format, the fields, and the param of the refusal.
type Row = readonly [keyof typeof DIALECTS, string, object, string]

const REFUSED: readonly Row[] = [
  ['openai', 'chat', { moderation: { model: 'x' } }, 'moderation'],
  ['openai', 'chat', { audio: { voice: 'a', format: 'mp3' } }, 'audio'],
  ['openai', 'chat', { plugins: [{ id: 'response-healing' }] }, 'plugins'],
  ['openai', 'chat', { reasoning: { effort: 'low' } }, 'reasoning'],
  ['openai', 'chat', { store: true }, 'store'],
  ['openai', 'chat', { prompt: 'one more' }, 'prompt'],
  ['openai', 'chat', { n_predict: 9 }, 'n_predict'],
  ['openai', 'chat', { stream: true, stream_options: { keep: true } }, 'stream_options.keep'],
  [
    'openai',
    'chat',
    { prompt_cache_options: { comparison_response_id: 'resp_1' } },
    'prompt_cache_options.comparison_response_id',
  ],
  ['openai', 'chat', { prompt_cache_options: { prewarm: true } }, 'prompt_cache_options.prewarm'],
  ['openai', 'chat', said('x', { weight: 1 }), 'messages[0].weight'],
  ['openai', 'chat', said('x', { role: 'ipython' }), 'messages[0].role'],
  [
    'openai',
    'chat',
    said([{ type: 'video_url', video_url: { url: 'https://a.b/c' } }]),
    'messages[0].content[0].type',
  ],
  [
    'openai',
    'chat',
    said([{ type: 'file', file: { file_id: 'file-1' } }]),
    'messages[0].content[0].file.file_id',
  ],
  [
    'openai',
    'chat',
    said([{ type: 'image_url', image_url: { url: 'https://a.b/c', uuid: '1' } }]),
    'messages[0].content[0].image_url.uuid',
  ],
  ['openai', 'responses', { previous_response_id: 'resp_1' }, 'previous_response_id'],
  ['openai', 'responses', { conversation: 'conv_1' }, 'conversation'],
  ['openai', 'responses', { prompt: { id: 'pmpt_1' } }, 'prompt'],
  ['openai', 'responses', { context_management: [{ type: 'clear' }] }, 'context_management'],
  ['openai', 'responses', { access_programs: ['x'] }, 'access_programs'],
  ['openai', 'responses', { background: true }, 'background'],
  ['openai', 'responses', { include: ['file_search_call.results'] }, 'include[0]'],
  ['openai', 'responses', { reasoning: { mode: 'pro' } }, 'reasoning.mode'],
  ['openai', 'responses', items({ type: 'item_reference', id: 'msg_1' }), 'input[0]'],
  ['openai', 'responses', items({ type: 'reasoning', id: 'rs_1', summary: [] }), 'input[0]'],
  [
    'openai',
    'responses',
    items({ type: 'reasoning', id: 'rs_1', summary: [], content: [], encrypted_content: '' }),
    'input[0]',
  ],
  ['openai', 'responses', items({ id: 'msg_1' }), 'input[0]'],
  [
    'openai',
    'responses',
    items({
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'x', annotations: [{ type: 'file_citation', file_id: 'f' }] },
      ],
    }),
    'input[0].content[0].annotations[0]',
  ],
  [
    'openai',
    'responses',
    items({ role: 'user', content: 'x', agent: { name: 'a' } }),
    'input[0].agent',
  ],
  ['openai', 'responses', { multi_agent: {} }, 'multi_agent'],
  ['openai', 'responses', items({ type: 'mcp_call', id: 'mcp_1' }), 'input[0]'],
  [
    'openai',
    'responses',
    items({ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }),
    'input[0].content[0].file_id',
  ],
  [
    'openai',
    'responses',
    items({
      type: 'function_call_output',
      call_id: 'a',
      output: [{ type: 'input_image', file_id: 'f' }],
    }),
    'input[0].output[0].file_id',
  ],
  ['openai', 'completions', { prompt_logprobs: 1 }, 'prompt_logprobs'],
  ['openai', 'embeddings', { task: 'x' }, 'task'],
  [
    'anthropic',
    'messages',
    { thread: { type: 'continue', previous_message_id: 'msg_1' } },
    'thread',
  ],
  ['anthropic', 'messages', { diagnostics: {} }, 'diagnostics'],
  ['anthropic', 'messages', { container: 'c' }, 'container'],
  ['anthropic', 'messages', { fallback_credit_token: 'x' }, 'fallback_credit_token'],
  ['anthropic', 'messages', { billing_policy: {} }, 'billing_policy'],
  ['anthropic', 'messages', { betas: ['x'] }, 'betas'],
  ['anthropic', 'messages', { workspace_id: 'w' }, 'workspace_id'],
  ['anthropic', 'messages', { service_tier: 'standard' }, 'service_tier'],
  ['anthropic', 'messages', { inference_geo: 'us' }, 'inference_geo'],
  ['anthropic', 'messages', { metadata: { tenant: 'x' } }, 'metadata.tenant'],
  [
    'anthropic',
    'messages',
    { context_management: { edits: [{ type: 'compact_20260112' }] } },
    'context_management.edits[0].type',
  ],
  [
    'anthropic',
    'messages',
    { tools: [{ name: 'f', input_schema: {}, allowed_callers: ['code_execution'] }] },
    'tools[0].allowed_callers[0]',
  ],
  ['anthropic', 'messages', { thinking: { type: 'enabled', budget: 9 } }, 'thinking.budget'],
  [
    'anthropic',
    'messages',
    { tools: [{ type: 'web_search_20991231', name: 'web_search' }] },
    'tools[0].type',
  ],
  [
    'anthropic',
    'messages',
    said([{ type: 'image', source: { type: 'url', url: 'https://a.b/c' }, transformations: [] }]),
    'messages[0].content[0].transformations',
  ],
  ['anthropic', 'messages', said('x', { role: 'developer' }), 'messages[0].role'],
  [
    'anthropic',
    'messages',
    said([{ type: 'image', source: { type: 'file', file_id: 'f' } }]),
    'messages[0].content[0].source',
  ],
  [
    'anthropic',
    'messages',
    said([{ type: 'container_upload', file_id: 'f' }]),
    'messages[0].content[0]',
  ],
  ['anthropic', 'messages', said([{ type: 'compaction', content: 'x' }]), 'messages[0].content[0]'],
  [
    'anthropic',
    'messages',
    said([
      {
        type: 'document',
        source: {
          type: 'content',
          content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }],
        },
      },
    ]),
    'messages[0].content[0].source.content[0].source',
  ],
  ['anthropic', 'messages', { system: [{ type: 'text', text: 'x', ttl: 1 }] }, 'system[0].ttl'],
  ['openai-compatible', 'chat', { n_predict: 9_999 }, 'n_predict'],
  ['openai-compatible', 'chat', { max_new_tokens: 9_999 }, 'max_new_tokens'],
  ['openai-compatible', 'completions', { num_predict: 9_999 }, 'num_predict'],
  ['openai-compatible', 'chat', { id_slot: 1 }, 'id_slot'],
  ['openai-compatible', 'chat', { cache_salt: 'x' }, 'cache_salt'],
  ['openai-compatible', 'chat', { priority: 9 }, 'priority'],
  ['openai-compatible', 'chat', { use_beam_search: true }, 'use_beam_search'],
  ['openai-compatible', 'chat', { chat_template: '{{ x }}' }, 'chat_template'],
  [
    'openai-compatible',
    'chat',
    { chat_template_kwargs: { chat_template: 'x' } },
    'chat_template_kwargs.chat_template',
  ],
  [
    'openai-compatible',
    'chat',
    { chat_template_kwargs: { documents: ['x'] } },
    'chat_template_kwargs.documents',
  ],
  ['openai-compatible', 'chat', { thinking_budget: -1 }, 'thinking_budget'],
  ['openai-compatible', 'chat', { reasoning: { max_tokens: 9 } }, 'reasoning.max_tokens'],
  ['openai-compatible', 'messages', { thread: { type: 'continue' } }, 'thread'],
  ['openai-compatible', 'embeddings', { input_ids: [1] }, 'input_ids'],
]

test.each(REFUSED)('%s refuses on %s: %j', (dialect, format, fields, param) => {
  const problem = refusalOf({ dialect, format, fields })
  expect([problem?.code, problem?.param]).toEqual(['unsupported_parameter', param])
  expect(problem?.message).toMatch(/^\S.*\.$/)
})

const PASSED: readonly (readonly [keyof typeof DIALECTS, string, object])[] = [
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
      messages: [{ role: 'assistant', content: 'x', reasoning_content: 'y', prefix: true }],
      top_k: 5,
      dry_multiplier: 1,
      guided_json: { type: 'object' },
      thinking_budget: 100,
      thinking: { type: 'enabled', budget_tokens: 50 },
      chat_template_kwargs: { enable_thinking: false },
    },
  ],
]

test.each(PASSED)('%s lets pass on %s: %j', (dialect, format, fields) => {
  expect(refusalOf({ dialect, format, fields })).toBeNull()
})

describe('a field that the operator vouches for', () => {
  test('passes at the root and in messages', () => {
    const fields = { ...said('x', { partial: true }), priority: 3, own_field: 1 }
    const vouched = ['priority', 'messages.partial', 'own_field']
    expect(refusalOf({ dialect: 'openai-compatible', format: 'chat', fields, vouched })).toBeNull()
  })

  test('passes nowhere else', () => {
    const fields = said([{ type: 'text', text: 'x', priority: 1 }])
    const vouched = ['priority']
    const problem = refusalOf({ dialect: 'openai-compatible', format: 'chat', fields, vouched })
    expect(problem?.param).toBe('messages[0].content[0].priority')
  })
})

test('a name that may be a key is not shown', () => {
  const fields = { 'sk-proj-abcdefghijklmnop': 1 }
  const problem = refusalOf({ dialect: 'openai', format: 'chat', fields })
  expect([problem?.code, problem?.param]).toEqual(['unsupported_parameter', null])
  expect(problem?.message).not.toContain('sk-proj')
})

test('the model searches only where a search has a price', () => {
  const format = FORMATS.find(({ endpoint }) => endpoint === 'messages')
  if (format === undefined) throw new TypeError('no messages')
  const content = [{ type: 'server_tool_use', id: 'b', name: 'web_search', input: {} }]
  const source = { ...LEAST_BODIES['messages'], ...said(content) }
  const refuse = () =>
    anthropic.wires.get('messages')?.refuse?.({
      call: callOf(format, source),
      body: bodyOf(source),
      offer: offerWith(),
    })
  expect(refuse).toThrow('`messages[0].content[0].type`')
})
