import { describe, expect, test } from 'vitest'
import { NO_MEDIA } from '../vocabulary/testing/no-media.ts'
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

  const TWO_AND_SEARCH = { clientTools: 2, serverTools: true, steps: 30, searchResultTokens: 8_000 }
  test.each([
    [{ tools: CODEX_TOOLS.slice(0, 2) }, { ...TWO_AND_SEARCH, serverTools: false }],
    [{ tools: CODEX_TOOLS }, TWO_AND_SEARCH],
    [
      { tools: CODEX_TOOLS, max_tool_calls: 4 },
      { ...TWO_AND_SEARCH, steps: 4 },
    ],
    [{ tools: CODEX_TOOLS, max_tool_calls: 4, stop_server_tools_when: [{}] }, TWO_AND_SEARCH],
  ])('has, of %j, the tools %j', (members, expected) => {
    expect(callWith(members).tools).toEqual(expected)
  })

  const SEARCHES = ['web_search_2025_08_26', 'web_search_preview', 'web_search_preview_2025_03_11']
  test.each(SEARCHES)('has a provider tool of type %s', (type) => {
    expect(callWith({ tools: [{ type }] }).tools.serverTools).toBe(true)
  })
})

describe('parts that are billed separately', () => {
  const user = (...content: readonly object[]) => ({ role: 'user', content })

  test('are counted, and the first file is named by its place', () => {
    const file = { type: 'input_file', file_id: 'f_1' }
    const input = [user(), user({ type: 'input_image', file_id: 'f_2' }, file, file)]
    expect(callWith({ input }).media).toEqual({
      ...NO_MEDIA,
      imagesByUrl: 1,
      files: 2,
      firstFilePath: 'input[1].content[1]',
    })
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
