import { describe, expect, test } from 'vitest'
import { FORMATS } from '../formats/formats.ts'
import { bodyOf, callOf, LEAST_BODIES, offerWith } from '../formats/testing/exchange.ts'
import { anthropic } from './anthropic/anthropic.ts'
import { type COUNTED_DIALECTS, refusalOf } from './testing/refused-fields.ts'
import { NO_RULES } from './testing/upstream-settings.ts'

/* The fields of a body that are sent to a provider that bills by its counts. */

const said = (content: unknown, members: object = {}) => ({
  messages: [{ role: 'user', content, ...members }],
})
const items = (...input: unknown[]) => ({ input })

type Dialect = keyof typeof COUNTED_DIALECTS
type Refused = readonly [fields: object, param: string]

/** By dialect and format. */
const REFUSED: Readonly<Record<string, readonly Refused[]>> = {
  'openai chat': [
    [{ web_search_options: {} }, 'web_search_options'],
    [{ moderation: { model: 'x' } }, 'moderation'],
    [{ audio: { voice: 'a', format: 'mp3' } }, 'audio'],
    [{ plugins: [{ id: 'response-healing' }] }, 'plugins'],
    [{ reasoning: { effort: 'low' } }, 'reasoning'],
    [{ store: true }, 'store'],
    [{ prompt: 'one more' }, 'prompt'],
    [{ n_predict: 9 }, 'n_predict'],
    [{ stream: true, stream_options: { keep: true } }, 'stream_options.keep'],
    [
      { prompt_cache_options: { comparison_response_id: 'resp_1' } },
      'prompt_cache_options.comparison_response_id',
    ],
    [{ prompt_cache_options: { prewarm: true } }, 'prompt_cache_options.prewarm'],
    [{ prompt_cache_options: { mode: 'explicit', ttl: '12h' } }, 'prompt_cache_options.ttl'],
    [{ prompt_cache_retention: '30d' }, 'prompt_cache_retention'],
    [
      said([
        { type: 'text', text: 'x', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } },
      ]),
      'messages[0].content[0].prompt_cache_breakpoint.ttl',
    ],
    [said('x', { weight: 1 }), 'messages[0].weight'],
    [said('x', { role: 'ipython' }), 'messages[0].role'],
    [
      said([{ type: 'video_url', video_url: { url: 'https://a.b/c' } }]),
      'messages[0].content[0].type',
    ],
    [said([{ type: 'file', file: { file_id: 'file-1' } }]), 'messages[0].content[0].file.file_id'],
    [
      said([{ type: 'image_url', image_url: { url: 'https://a.b/c', uuid: '1' } }]),
      'messages[0].content[0].image_url.uuid',
    ],
  ],
  'openai responses': [
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ conversation: 'conv_1' }, 'conversation'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ context_management: [{ type: 'clear' }] }, 'context_management'],
    [{ prompt_cache_options: { ttl: '12h' } }, 'prompt_cache_options.ttl'],
    [
      items({
        role: 'user',
        content: [{ type: 'input_text', text: 'x', prompt_cache_breakpoint: { ttl: '12h' } }],
      }),
      'input[0].content[0].prompt_cache_breakpoint.ttl',
    ],
    [{ access_programs: ['x'] }, 'access_programs'],
    [{ background: true }, 'background'],
    [{ include: ['file_search_call.results'] }, 'include[0]'],
    [{ reasoning: { mode: 'pro' } }, 'reasoning.mode'],
    [items({ type: 'item_reference', id: 'msg_1' }), 'input[0]'],
    [items({ type: 'reasoning', id: 'rs_1', summary: [] }), 'input[0]'],
    [
      items({ type: 'reasoning', id: 'rs_1', summary: [], content: [], encrypted_content: '' }),
      'input[0]',
    ],
    [items({ id: 'msg_1' }), 'input[0]'],
    [
      items({
        role: 'assistant',
        content: [
          {
            type: 'output_text',
            text: 'x',
            annotations: [{ type: 'file_citation', file_id: 'f' }],
          },
        ],
      }),
      'input[0].content[0].annotations[0]',
    ],
    [items({ role: 'user', content: 'x', agent: { name: 'a' } }), 'input[0].agent'],
    [{ multi_agent: {} }, 'multi_agent'],
    [items({ type: 'mcp_call', id: 'mcp_1' }), 'input[0]'],
    [
      items({ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }),
      'input[0].content[0].file_id',
    ],
    [
      items({
        type: 'function_call_output',
        call_id: 'a',
        output: [{ type: 'input_image', file_id: 'f' }],
      }),
      'input[0].output[0].file_id',
    ],
  ],
  'openai completions': [[{ prompt_logprobs: 1 }, 'prompt_logprobs']],
  'openai embeddings': [[{ task: 'x' }, 'task']],
  'anthropic messages': [
    [{ thread: { type: 'continue', previous_message_id: 'msg_1' } }, 'thread'],
    [{ diagnostics: {} }, 'diagnostics'],
    [{ container: 'c' }, 'container'],
    [{ fallback_credit_token: 'x' }, 'fallback_credit_token'],
    [{ billing_policy: {} }, 'billing_policy'],
    [{ betas: ['x'] }, 'betas'],
    [{ workspace_id: 'w' }, 'workspace_id'],
    [{ service_tier: 'standard' }, 'service_tier'],
    [{ inference_geo: 'us' }, 'inference_geo'],
    [{ metadata: { tenant: 'x' } }, 'metadata.tenant'],
    [
      { context_management: { edits: [{ type: 'compact_20260112' }] } },
      'context_management.edits[0].type',
    ],
    [
      { tools: [{ name: 'f', input_schema: {}, allowed_callers: ['code_execution'] }] },
      'tools[0].allowed_callers[0]',
    ],
    [{ thinking: { type: 'enabled', budget: 9 } }, 'thinking.budget'],
    [{ tools: [{ type: 'web_search_20991231', name: 'web_search' }] }, 'tools[0].type'],
    [
      said([{ type: 'image', source: { type: 'url', url: 'https://a.b/c' }, transformations: [] }]),
      'messages[0].content[0].transformations',
    ],
    [said('x', { role: 'developer' }), 'messages[0].role'],
    [
      said([{ type: 'image', source: { type: 'file', file_id: 'f' } }]),
      'messages[0].content[0].source',
    ],
    [said([{ type: 'container_upload', file_id: 'f' }]), 'messages[0].content[0]'],
    [said([{ type: 'compaction', content: 'x' }]), 'messages[0].content[0]'],
    [
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
    [{ system: [{ type: 'text', text: 'x', ttl: 1 }] }, 'system[0].ttl'],
    [{ cache_control: { type: 'ephemeral', ttl: '24h' } }, 'cache_control.ttl'],
    [
      { system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '24h' } }] },
      'system[0].cache_control.ttl',
    ],
    [
      said([{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: 86_400 } }]),
      'messages[0].content[0].cache_control.ttl',
    ],
    [
      {
        tools: [{ name: 'f', input_schema: {}, cache_control: { type: 'ephemeral', ttl: '24h' } }],
      },
      'tools[0].cache_control.ttl',
    ],
  ],
  'openai-compatible chat': [
    [{ n_predict: 9_999 }, 'n_predict'],
    [{ max_new_tokens: 9_999 }, 'max_new_tokens'],
    [{ id_slot: 1 }, 'id_slot'],
    [{ cache_salt: 'x' }, 'cache_salt'],
    [{ priority: 9 }, 'priority'],
    [{ use_beam_search: true }, 'use_beam_search'],
    [{ chat_template: '{{ x }}' }, 'chat_template'],
    [{ chat_template_kwargs: { chat_template: 'x' } }, 'chat_template_kwargs.chat_template'],
    [{ chat_template_kwargs: { documents: ['x'] } }, 'chat_template_kwargs.documents'],
    [
      { chat_template_kwargs: { padding: 'max_length', max_length: 30_000 } },
      'chat_template_kwargs.padding',
    ],
    [{ chat_template_kwargs: { max_length: 30_000 } }, 'chat_template_kwargs.max_length'],
    [{ thinking_budget: -1 }, 'thinking_budget'],
    [{ reasoning: { max_tokens: 9 } }, 'reasoning.max_tokens'],
    [
      said([{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '24h' } }]),
      'messages[0].content[0].cache_control.ttl',
    ],
    [
      { tools: [{ type: 'function', function: { name: 'f' }, cache_control: { ttl: '24h' } }] },
      'tools[0].cache_control.ttl',
    ],
  ],
  'openai-compatible completions': [[{ num_predict: 9_999 }, 'num_predict']],
  'openai-compatible messages': [[{ thread: { type: 'continue' } }, 'thread']],
  'openai-compatible embeddings': [[{ input_ids: [1] }, 'input_ids']],
}

const ROWS = Object.entries(REFUSED).flatMap(([of, rows]) => {
  const [dialect, format = ''] = of.split(' ')
  return rows.map(([fields, param]) => [dialect as Dialect, format, fields, param] as const)
})

test.each(ROWS)('%s refuses on %s: %j', (dialect, format, fields, param) => {
  const problem = refusalOf({ dialect, format, fields })
  expect([problem?.code, problem?.param]).toEqual(['unsupported_parameter', param])
  expect(problem?.message).toMatch(/^\S.*\.$/)
  // The messages format has no `param`.
  expect(problem?.message).toContain(`\`${param}\``)
})

describe('a field that the operator allows', () => {
  test('is sent at the root and in messages', () => {
    const fields = { ...said('x', { partial: true }), priority: 3, own_field: 1 }
    const vouched = ['priority', 'messages.partial', 'own_field']
    expect(refusalOf({ dialect: 'openai-compatible', format: 'chat', fields, vouched })).toBeNull()
  })

  test('is not sent anywhere else', () => {
    const fields = said([{ type: 'text', text: 'x', priority: 1 }])
    const vouched = ['priority']
    const problem = refusalOf({ dialect: 'openai-compatible', format: 'chat', fields, vouched })
    expect(problem?.param).toBe('messages[0].content[0].priority')
  })
})

test('a name that may be a key is hidden', () => {
  const fields = { 'sk-proj-abcdefghijklmnop': 1 }
  const problem = refusalOf({ dialect: 'openai', format: 'chat', fields })
  expect([problem?.code, problem?.param]).toEqual(['unsupported_parameter', null])
  expect(problem?.message).not.toContain('sk-proj')
})

test('a model can search only if a search has a price', () => {
  const format = FORMATS.find(({ endpoint }) => endpoint === 'messages')
  if (format === undefined) throw new TypeError('no messages')
  const content = [{ type: 'server_tool_use', id: 'b', name: 'web_search', input: {} }]
  const source = { ...LEAST_BODIES['messages'], ...said(content) }
  const refuse = () =>
    anthropic.wires.get('messages')?.refuse?.({
      call: callOf(format, source),
      body: bodyOf(source),
      offer: offerWith(),
      ...NO_RULES,
    })
  expect(refuse).toThrow('`messages[0].content[0].type`')
})
