import { describe, expect, test } from 'vitest'
import { messages } from './messages.ts'
import { type BodySource, callOf, DEFAULT_PUBLIC_NAMES, refusalOf } from './testing/exchange.ts'

const base = { model: 'acme/sage-pro', max_tokens: 64, messages: [] }
const SEARCH = { type: 'web_search_20250305', name: 'web_search' }

function callWith(members: { readonly [member: string]: unknown }) {
  return callOf(messages, { ...base, ...members })
}

describe('a call', () => {
  test.each([
    [[{ name: 'f', input_schema: {} }], 1],
    [[{ type: null, name: 'f', input_schema: {} }], 1],
    [
      [
        { type: 'custom', name: 'f', input_schema: {} },
        { type: 'function', name: 'g' },
      ],
      2,
    ],
    // A property of the client's own schema is not a tool, under any name.
    [[{ name: 'f', input_schema: { properties: { x_search: { type: 'input_audio' } } } }], 1],
  ])('has client tools: %j', (tools, clientTools) => {
    expect(callWith({ tools }).tools).toEqual({
      clientTools,
      serverTools: false,
      steps: 30,
      searchResultTokens: 8_000,
    })
  })

  test.each([
    [{ tools: [SEARCH] }, 30],
    [{ tools: [{ ...SEARCH, type: 'web_search_20260318' }] }, 30],
    [{ tools: [{ type: 'web_search', name: 'web_search' }] }, 30],
    [{ tools: [{ type: 'openrouter:web_search' }] }, 30],
    [{ tools: [SEARCH], max_tool_calls: 4 }, 4],
    [{ tools: [SEARCH], max_tool_calls: 400 }, 30],
    [{ tools: [SEARCH], max_tool_calls: 4, stop_server_tools_when: [] }, 30],
    [{ tools: [SEARCH, { type: 'openrouter:web_search' }], max_tool_calls: 4 }, 8],
    [{ container: 'container_01' }, 30],
    [{ container: { skills: [] }, max_tool_calls: 2 }, 2],
  ])('has provider tools: %j, in at most %i steps', (members, steps) => {
    expect(callWith(members).tools).toMatchObject({ serverTools: true, steps })
  })

  test.each([[{ mcp_servers: null }], [{ container: null }]])(
    'the provider runs no tool of %j',
    (members) => {
      expect(callWith(members).tools.serverTools).toBe(false)
    },
  )
})

describe('parts that are billed separately', () => {
  const PDF = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' }

  test('are found in the system prompt and in other roles', () => {
    const document = { type: 'document', source: PDF }
    expect(callWith({ system: [document] }).media).toMatchObject({
      files: 1,
      firstFilePath: 'system[0]',
    })
    expect(
      callWith({ messages: [{ role: 'system', content: [document, document] }] }).media,
    ).toMatchObject({ files: 2, firstFilePath: 'messages[0].content[0]' })
  })
})

describe('refusals', () => {
  const cases: readonly (readonly [BodySource, string, string])[] = [
    [{ model: 'a/b' }, 'invalid_parameter', 'messages'],
    [{ ...base, messages: 'Hi' }, 'invalid_parameter', 'messages'],
    [{ ...base, messages: ['Hi'] }, 'invalid_parameter', 'messages[0]'],
    [{ ...base, tools: [SEARCH, { type: 'x_search' }] }, 'unsupported_parameter', 'tools[1].type'],
  ]
  test.each(cases)('%j: %s at %s', (source, code, param) => {
    expect(refusalOf(() => callOf(messages, source))).toEqual({ code, param })
  })

  test.each([
    ['bash_20250124'],
    ['text_editor_20250728'],
    ['memory_20250818'],
    ['computer_20250124'],
    ['code_execution_20250825'],
    ['web_fetch_20250910'],
    ['tool_search_tool_bm25_20251119'],
    ['mcp_toolset'],
    ['advisor_20260301'],
    ['web_search_preview'],
    ['web_search_2025_08_26'],
    ['openrouter:web_fetch'],
    [7],
  ])('a tool of type %j is refused', (type) => {
    const tools = [
      { name: 'f', input_schema: {} },
      { type, name: 'g' },
    ]
    expect(refusalOf(() => callWith({ tools }))).toEqual({
      code: 'unsupported_parameter',
      param: 'tools[1].type',
    })
  })
})

describe('its own headers', () => {
  const publicNames = { ...DEFAULT_PUBLIC_NAMES, compatPrefix: 'acme' }

  test('version and beta go upstream, with the prefix of the deployment or the vendor', () => {
    expect(messages.forwardedHeaders(publicNames)).toEqual([
      'acme-version',
      'acme-beta',
      'anthropic-version',
      'anthropic-beta',
    ])
    expect(messages.forwardedHeaders({ ...publicNames, compatPrefix: 'anthropic' })).toEqual([
      'anthropic-version',
      'anthropic-beta',
    ])
  })

  test.each([
    ['acme-ratelimit-requests-remaining', true],
    ['anthropic-ratelimit-tokens-reset', true],
    ['x-should-retry', true],
    ['compat-ratelimit-requests-remaining', false],
    ['x-ratelimit-remaining', false],
    ['retry-after', false],
    ['request-id', false],
    ['anthropic-organization-id', false],
    ['x-generation-id', false],
    ['set-cookie', false],
  ])('the client gets %s of an answer: %s', (name, returned) => {
    expect(messages.returnsHeader(name, publicNames)).toBe(returned)
  })
})
