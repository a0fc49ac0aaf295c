import { describe, expect, test } from 'vitest'
import { NO_MEDIA } from '../vocabulary/call.ts'
import { responses } from './responses.ts'
import { type BodySource, callOf, refusalOf } from './testing/exchange.ts'

const base = { model: 'acme/sage-pro', input: 'Hi' }

function callWith(members: { readonly [member: string]: unknown }) {
  return callOf(responses, { ...base, ...members })
}

describe('a call', () => {
  test.each([
    // The cap of another format does not count.
    [{ max_tokens: 512 }, { outputCapTokens: null }],
    [{ input: [{ type: 'compaction_trigger' }] }, { compacts: true }],
    [{ input: [{ type: 'compaction', encrypted_content: 'x' }] }, { compacts: false }],
    [{ modalities: ['text', 'image'] }, { outputKinds: { image: true, audio: false } }],
    [{ store: false, background: false }, { stream: false }],
    [
      { store: null, background: null, previous_response_id: null, prompt: null },
      { stream: false },
    ],
    [{ conversation: null, max_tool_calls: null, tools: null }, { stream: false }],
  ])('%j is read as %j', (members, expected) => {
    expect(callWith(members)).toMatchObject(expected)
  })

  const CODEX_TOOLS = [
    { type: 'function', name: 'exec', parameters: { properties: { x_search: {} } } },
    { type: 'custom', name: 'apply_patch', format: { type: 'grammar' } },
    { type: 'web_search', external_web_access: false },
  ]

  test.each([
    [
      { tools: CODEX_TOOLS.slice(0, 2) },
      { clientTools: 2, serverTools: false, steps: 30, searchResultTokens: 8_000 },
    ],
    [
      { tools: CODEX_TOOLS },
      { clientTools: 2, serverTools: true, steps: 30, searchResultTokens: 8_000 },
    ],
    [
      { tools: CODEX_TOOLS, max_tool_calls: 4 },
      { clientTools: 2, serverTools: true, steps: 4, searchResultTokens: 8_000 },
    ],
    [
      { tools: CODEX_TOOLS, max_tool_calls: 4, stop_server_tools_when: [{}] },
      { clientTools: 2, serverTools: true, steps: 30, searchResultTokens: 8_000 },
    ],
  ])('has, of %j, the tools %j', (members, expected) => {
    expect(callWith(members).tools).toEqual(expected)
  })

  test.each([
    ['web_search_2025_08_26'],
    ['web_search_preview'],
    ['web_search_preview_2025_03_11'],
    ['openrouter:web_search'],
  ])('has a provider tool of type %s', (type) => {
    expect(callWith({ tools: [{ type }] }).tools.serverTools).toBe(true)
  })
})

describe('parts that are billed separately, at any place', () => {
  const PNG = 'data:image/png;base64,iVBORw0KGgo'
  const user = (...content: readonly object[]) => ({ role: 'user', content })

  test.each<[string, object, object]>([
    [
      'an untyped message',
      user(
        { type: 'input_image', image_url: PNG },
        { type: 'input_image', image_url: 'https://example.com/a.png' },
        { type: 'input_file', file_data: 'JVBERi0=' },
      ),
      { imagesInline: 1, imagesByUrl: 1, files: 1 },
    ],
    [
      'parts by id',
      {
        type: 'message',
        ...user({ type: 'input_image', file_id: 'f_1' }, { type: 'input_file', file_id: 'f_2' }),
      },
      { imagesByUrl: 1, files: 1 },
    ],
    [
      'a video',
      user({ type: 'input_video', video_url: 'https://example.com/a.mp4' }),
      { videosByUrl: 1 },
    ],
    [
      "a function's output",
      {
        type: 'function_call_output',
        call_id: 'c',
        output: [
          { type: 'input_text', text: 'see' },
          { type: 'input_image', image_url: 'https://example.com/a.png' },
          { type: 'input_file', file_url: 'https://example.com/a.pdf' },
        ],
      },
      { imagesByUrl: 1, files: 1 },
    ],
    [
      "a custom tool's output",
      {
        type: 'custom_tool_call_output',
        call_id: 'c',
        output: [
          { type: 'input_file', filename: 'b.pdf', file_data: 'data:application/pdf;base64,' },
        ],
      },
      { files: 1 },
    ],
    [
      'a screenshot by URL',
      {
        type: 'computer_call_output',
        call_id: 'c',
        output: { type: 'computer_screenshot', image_url: 'https://example.com/a.png' },
      },
      { imagesByUrl: 1 },
    ],
    [
      'a screenshot by id',
      {
        type: 'computer_call_output',
        call_id: 'c',
        output: { type: 'computer_screenshot', file_id: 'f_1' },
      },
      { imagesByUrl: 1 },
    ],
    [
      "code's images",
      {
        type: 'code_interpreter_call',
        id: 'ci_1',
        outputs: [
          { type: 'logs', logs: 'x' },
          { type: 'image', url: 'https://example.com/a.png' },
        ],
      },
      { imagesByUrl: 1 },
    ],
    [
      'a generated image sent back',
      { type: 'image_generation_call', id: 'ig_1', result: 'iVBORw0KGgo' },
      { imagesInline: 1 },
    ],
    [
      'a generated image by its id alone',
      { type: 'image_generation_call', id: 'ig_1' },
      { imagesByUrl: 1 },
    ],
    [
      'what an agent said',
      { type: 'agent_message', content: [{ type: 'input_image', image_url: PNG }] },
      { imagesInline: 1 },
    ],
    [
      'an answer sent back, whose annotations only name files',
      {
        type: 'message',
        role: 'assistant',
        content: [
          {
            type: 'output_text',
            text: 'x',
            annotations: [{ type: 'file_citation', file_id: 'f_1' }],
          },
        ],
      },
      {},
    ],
  ])('%s', (_, item, expected) => {
    const { firstFilePath, ...counts } = callWith({ input: [user(), item] }).media
    const { firstFilePath: _none, ...none } = NO_MEDIA
    expect(counts).toEqual({ ...none, ...expected })
    expect(firstFilePath?.startsWith('input[1].') ?? false).toBe(counts.files > 0)
  })

  test('are found in a body with the type of a tool call', () => {
    const input = [user({ type: 'input_file', file_id: 'f_1' })]
    expect(callWith({ type: 'tool_use', input }).media.files).toBe(1)
  })
})

describe('refusals', () => {
  const cases: readonly (readonly [BodySource, string, string])[] = [
    [{ model: 'a/b' }, 'invalid_parameter', 'input'],
    [{ ...base, input: null }, 'invalid_parameter', 'input'],
    [{ ...base, input: { role: 'user' } }, 'invalid_parameter', 'input'],
    [{ ...base, input: ['Hi'] }, 'invalid_parameter', 'input[0]'],
    [{ ...base, store: 'yes' }, 'invalid_parameter', 'store'],
    [{ ...base, store: true }, 'unsupported_parameter', 'store'],
    [{ ...base, background: true }, 'unsupported_parameter', 'background'],
    [{ ...base, previous_response_id: 'resp_1' }, 'unsupported_parameter', 'previous_response_id'],
    [{ ...base, conversation: 'conv_1' }, 'unsupported_parameter', 'conversation'],
    [{ ...base, conversation: { id: 'conv_1' } }, 'unsupported_parameter', 'conversation'],
    [{ ...base, prompt: { id: 'pmpt_1' } }, 'unsupported_parameter', 'prompt'],
    [{ ...base, plugins: [{ id: 'web' }] }, 'unsupported_parameter', 'plugins[0]'],
    [
      { ...base, tools: [{ type: 'web_search', x_search: {} }] },
      'unsupported_parameter',
      'tools[0].x_search',
    ],
    [
      { ...base, input: [{ role: 'user', content: [{ type: 'input_audio' }] }] },
      'unsupported_parameter',
      'input[0].content[0]',
    ],
  ]
  test.each(cases)('%j: %s at %s', (source, code, param) => {
    expect(refusalOf(() => callOf(responses, source))).toEqual({ code, param })
  })

  test.each([
    ['file_search'],
    ['code_interpreter'],
    ['computer_use_preview'],
    ['mcp'],
    ['image_generation'],
    ['local_shell'],
    ['shell'],
    ['apply_patch'],
    ['namespace'],
    ['tool_search'],
    ['x_search'],
    ['openrouter:fusion'],
    [undefined],
  ])('a tool of type %j is refused', (type) => {
    const tools = [
      { type: 'function', name: 'f' },
      { type, name: 'g', tools: [{ type: 'function', name: 'h' }] },
    ]
    expect(refusalOf(() => callWith({ tools }))).toEqual({
      code: 'unsupported_parameter',
      param: 'tools[1].type',
    })
  })

  test.each([
    [{ type: 'additional_tools', tools: [{ type: 'mcp' }] }],
    [{ type: 'tool_search_output', tools: [{ type: 'function', name: 'f' }] }],
    [{ type: 'tool_search_output' }],
    [{ type: 'mcp_list_tools', server_label: 's' }],
    [{ type: 'a_new_item', tools: [] }],
    [{ role: 'developer', content: 'x', tools: [{ type: 'mcp' }] }],
    [{ type: 'item_reference', id: 'msg_1' }],
    [{ type: null, id: 'msg_1' }],
    [{ id: 'msg_1' }],
  ])('the item %j is refused', (item) => {
    const input = [{ role: 'user', content: 'x' }, item]
    expect(refusalOf(() => callWith({ input }))).toEqual({
      code: 'unsupported_parameter',
      param: 'input[1]',
    })
  })

  test.each([
    [{ role: 'user', content: 'x' }],
    [{ id: 'msg_1', role: 'assistant', content: 'x' }],
    [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' }],
    [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', tools: null }],
    [{ type: 'web_search_call', id: 'ws_1', action: { type: 'search' } }],
  ])('the item %j passes', (item) => {
    expect(() => callWith({ input: [item] })).not.toThrow()
  })
})
