import { describe, expect, test } from 'vitest'
import { chat } from './chat.ts'
import type { WireFormat } from './format.ts'
import { FORMATS } from './formats.ts'
import { messages } from './messages.ts'
import {
  bodyOf,
  callOf,
  checkCall,
  DEFAULT_PUBLIC_NAMES,
  LEAST_BODIES,
  type offerWith,
  refusalOf,
} from './testing/exchange.ts'

type Members = { readonly [member: string]: unknown }

const EVERY_FORMAT = FORMATS.map((format) => [format.endpoint, format] as const)

function callWith(format: WireFormat, members: Members) {
  return callOf(format, { ...LEAST_BODIES[format.endpoint], ...members })
}

const parser = (pdf: unknown, more: Members = {}) => ({ id: 'file-parser', pdf, ...more })
const FREE = parser({ engine: 'hosted-ai' })
const NATIVE = parser({ engine: 'native' })

const REFUSED: readonly (readonly [Members, string])[] = [
  [{ models: ['a/c'] }, 'models'],
  [{ models: [] }, 'models'],
  [{ fallbacks: [{ model: 'a/c' }] }, 'fallbacks'],
  [{ route: 'fallback' }, 'route'],
  [{ provider: {} }, 'provider'],
  [{ provider: false }, 'provider'],
  [{ preset: 'cheap' }, 'preset'],
  [{ preset: '' }, 'preset'],
  [{ mcp_servers: [{ type: 'url', url: 'https://example.org' }] }, 'mcp_servers'],
  [{ mcp_servers: [] }, 'mcp_servers'],
  [{ debug: { echo_upstream_body: true } }, 'debug'],
  [{ debug: false }, 'debug'],
  [{ x_search: {} }, 'x_search'],
  [{ tool_choice: { type: 'image_generation' } }, 'tool_choice.type'],
  [{ tool_choice: { type: 'mcp', server_label: 'a' } }, 'tool_choice.type'],
  [{ tool_choice: { type: 'x_search' } }, 'tool_choice.type'],
  [{ tool_choice: { type: 'openrouter:web_fetch' } }, 'tool_choice.type'],
  [{ tool_choice: 'code_interpreter' }, 'tool_choice'],
  [{ tool_choice: 'openrouter:fusion' }, 'tool_choice'],
  [{ tool_choice: { type: 'tool', name: 'openrouter:bash' } }, 'tool_choice.name'],
  [
    { tool_choice: { type: 'function', function: { name: 'openrouter:bash' } } },
    'tool_choice.function.name',
  ],
  [{ tool_choice: { type: 'tool', name: 'x_search' } }, 'tool_choice.name'],
  [
    { tool_choice: { type: 'allowed_tools', tools: [{ type: 'function' }, { type: 'shell' }] } },
    'tool_choice.tools[1].type',
  ],
  [
    { tool_choice: { type: 'allowed_tools', allowed_tools: { tools: [{ type: 'mcp' }] } } },
    'tool_choice.allowed_tools.tools[0].type',
  ],
  [{ tool_choice: { mode: 'auto', tools: [{ type: 'shell' }] } }, 'tool_choice.tools[0].type'],
  [{ tool_choice: { type: 'openrouter:web_search', x_search: {} } }, 'tool_choice.x_search'],
  [{ plugins: [{ id: 'web' }] }, 'plugins[0]'],
  [{ plugins: [{ id: 'web', enabled: false }] }, 'plugins[0]'],
  [{ plugins: [{}] }, 'plugins[0]'],
  [{ plugins: [['web']] }, 'plugins[0]'],
  [{ plugins: [null] }, 'plugins[0]'],
  [{ plugins: [{ id: 'response-healing' }, 'web'] }, 'plugins[1]'],
  [{ plugins: [{ id: 'context-compression' }] }, 'plugins[0]'],
  [{ plugins: [{ id: 'context-compression', enabled: false }] }, 'plugins[0]'],
  [{ plugins: [{ id: 'context-compression', enabled: true }] }, 'plugins[0]'],
  [{ plugins: [{ id: 'Response-Healing' }] }, 'plugins[0]'],
  [{ plugins: [{ id: 'response-healing' }, { id: 'fusion' }] }, 'plugins[1]'],
  [{ plugins: [{ id: 'file-parser' }] }, 'plugins[0].pdf.engine'],
  [{ plugins: [parser({})] }, 'plugins[0].pdf.engine'],
  [{ plugins: [parser('hosted-ai')] }, 'plugins[0].pdf.engine'],
  [{ plugins: [parser({ engine: 'mistral-ocr' })] }, 'plugins[0].pdf.engine'],
  [{ plugins: [parser({ engine: 'pdf-text' })] }, 'plugins[0].pdf.engine'],
  [{ plugins: [parser({ engine: null })] }, 'plugins[0].pdf.engine'],
  [{ plugins: [parser({ engine: ['hosted-ai'] })] }, 'plugins[0].pdf.engine'],
  [{ plugins: [parser({ engine: 'mistral-ocr' }, { enabled: false })] }, 'plugins[0].enabled'],
  [{ plugins: [parser({ engine: 'hosted-ai' }, { enabled: false })] }, 'plugins[0].enabled'],
  [{ plugins: [{ ...FREE, enabled: 0 }] }, 'plugins[0].enabled'],
  [{ plugins: [{ ...FREE, enabled: 'no' }] }, 'plugins[0].enabled'],
  [{ plugins: [FREE, NATIVE] }, 'plugins[1]'],
  [{ plugins: [{ id: 'response-healing', x_search: {} }] }, 'plugins[0].x_search'],
  [{ plugins: [{ ...FREE, web: { x_search: true } }] }, 'plugins[0].web.x_search'],
  [{ tools: [{ type: 'code_interpreter' }] }, 'tools[0].type'],
  [{ tools: [{ type: 'x_search' }] }, 'tools[0].type'],
  [{ tools: [{ type: 'web_search_' }] }, 'tools[0].type'],
  [{ tools: [{ type: 'Function' }] }, 'tools[0].type'],
  [{ tools: [{ type: 7 }] }, 'tools[0].type'],
  [{ tools: [{ type: 'namespace', tools: [{ type: 'function' }] }] }, 'tools[0].type'],
  [{ tools: [{ type: 'custom', name: 'f' }, { type: 'openrouter:web_fetch' }] }, 'tools[1].type'],
  [{ tools: [{ type: 'openrouter:web_search', x_search: {} }] }, 'tools[0].x_search'],
  [
    { tools: [{ type: 'openrouter:web_search', parameters: { x_search: {} } }] },
    'tools[0].parameters.x_search',
  ],
  [
    {
      tools: [
        { type: 'openrouter:web_search', parameters: { filters: [{ x_search_filter: {} }] } },
      ],
    },
    'tools[0].parameters.filters[0].x_search_filter',
  ],
  [{ tools: [{ type: 'custom', name: 'f', x_search: false }] }, 'tools[0].x_search'],
  [{ web_search_options: { x_search: {} } }, 'web_search_options.x_search'],
  [{ extra: [{ type: 'input_audio', input_audio: { data: 'UklGRg==' } }] }, 'extra[0]'],
]

/** Ways to name a search that is not in `tools`. */
const NAMED_SEARCHES = [
  'openrouter:web_search',
  { type: 'openrouter:web_search' },
  { type: 'tool', name: 'openrouter:web_search' },
  { type: 'tool', name: 'web_search' },
  { type: 'function', function: { name: 'openrouter:web_search' } },
  { type: 'function', name: 'openrouter:web_search' },
  { name: 'openrouter:web_search' },
  { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'openrouter:web_search' }] },
  {
    type: 'allowed_tools',
    allowed_tools: { mode: 'required', tools: [{ type: 'openrouter:web_search' }] },
  },
]

/** Choices of no tool, or of a client's: a function may be called `web_search`. */
const NO_SEARCHES = [
  'auto',
  'none',
  'required',
  'any',
  'f',
  { type: 'auto' },
  { type: 'any', disable_parallel_tool_use: true },
  { type: 'none' },
  { type: 'tool', name: 'web_search' },
  { type: 'tool', name: 'not_listed' },
  { type: 'function', name: 'web_search' },
  { type: 'function', function: { name: 'f' } },
  { type: 'custom', name: 'other' },
  { type: 'custom', custom: { name: 'g' } },
  { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'web_search' }] },
  { type: 'allowed_tools', mode: 'auto', tools: [] },
]

describe.each(EVERY_FORMAT)('on %s', (_, format) => {
  test.each(REFUSED)('%j is unsupported', (members, param) => {
    const read = () => callWith(format, members)
    expect(refusalOf(read)).toEqual({ code: 'unsupported_parameter', param })
    // The messages format has no `param`: the message names a field.
    expect(read).toThrow(/`[a-z]\S*`/)
  })

  test.each([
    [{ plugins: [FREE] }, 'free'],
    [{ plugins: [parser({ engine: 'cloudflare-ai' })] }, 'free'],
    [{ plugins: [{ ...FREE, enabled: true }] }, 'free'],
    [{ plugins: [{ ...FREE, enabled: null }] }, 'free'],
    [{ plugins: [NATIVE] }, 'native'],
    [{ plugins: [{ id: 'response-healing' }, FREE] }, 'free'],
    [{ plugins: [{ id: 'response-healing' }] }, 'none'],
    [{ plugins: [{ id: 'response-healing', enabled: false }] }, 'none'],
    [{ plugins: [] }, 'none'],
    [{ plugins: null }, 'none'],
  ])('%j is free', (members, fileParser) => {
    expect(callWith(format, members).fileParser).toBe(fileParser)
  })

  test('null in a refused field is as absent', () => {
    const absent = [
      ...['models', 'fallbacks', 'route', 'provider', 'preset', 'mcp_servers', 'debug'],
      ...['plugins', 'tools', 'tool_choice', 'x_search', 'x_search_filter'],
      ...['functions', 'max_tool_calls'],
    ]
    const nulls = Object.fromEntries(absent.map((name) => [name, null]))
    expect(callWith(format, nulls)).toMatchObject({
      ...callWith(format, {}),
      textTokens: expect.any(Number),
      promptGuess: expect.any(Number),
    })
    expect(() =>
      callWith(format, {
        tools: [{ type: 'openrouter:web_search', x_search: null, parameters: { x_search: null } }],
      }),
    ).not.toThrow()
  })

  test.each([
    [{}, 30],
    [{ max_tool_calls: 5 }, 5],
    [{ max_tool_calls: 0 }, 0],
    [{ max_tool_calls: 31 }, 30],
    [{ max_tool_calls: null }, 30],
    [{ max_tool_calls: 5, stop_server_tools_when: null }, 5],
    [{ max_tool_calls: 5, stop_server_tools_when: [{ type: 'step_count_is', step_count: 2 }] }, 30],
    [{ max_tool_calls: 5, stop_server_tools_when: [] }, 30],
  ])('with %j a search is held at %j steps', (members, steps) => {
    const tools = [
      { type: 'openrouter:web_search' },
      { type: 'function', name: 'f', function: { name: 'f' } },
    ]
    expect(callWith(format, { ...members, tools }).tools).toEqual({
      clientTools: 1,
      serverTools: true,
      steps,
      searchResultTokens: 8_000,
    })
  })

  test.each(NAMED_SEARCHES)('a tool_choice of %j counts as a search', (toolChoice) => {
    const { tools } = callWith(format, { tool_choice: toolChoice })
    expect(tools).toMatchObject({ serverTools: true, steps: 30 })
  })

  test('a search that is named twice is held once', () => {
    const tools = [{ type: 'openrouter:web_search', parameters: { max_results: 12 } }]
    const named = { tools, tool_choice: { type: 'openrouter:web_search' } }
    expect(callWith(format, named).tools).toEqual(callWith(format, { tools }).tools)
  })

  test.each(NO_SEARCHES)('a tool_choice of %j names no tool of the provider', (toolChoice) => {
    const tools = [
      { type: 'function', name: 'web_search', function: { name: 'f' } },
      { type: 'custom', name: 'other', custom: { name: 'g' } },
    ]
    const call = callWith(format, { tools, tool_choice: toolChoice })
    expect(call.tools).toMatchObject({ clientTools: 2, serverTools: false })
  })

  test('long lists of tools and of allowed tools are compared in one pass', () => {
    const names = Array.from({ length: 100_000 }, (_, index) => `f${index}`)
    const tools = names.map((name) => ({ type: 'function', name }))
    const allowed = names.map(() => ({ type: 'function', name: 'openrouter:web_search' }))
    const call = callWith(format, { tools, tool_choice: { type: 'allowed_tools', tools: allowed } })
    expect(call.tools).toMatchObject({ clientTools: 100_000, serverTools: true })
  })

  test('a search with larger results is held at more', () => {
    const tools = [{ type: 'openrouter:web_search', parameters: { max_results: 12 } }]
    expect(callWith(format, { tools }).tools.searchResultTokens).toBe(16_000)
    const options = { web_search_options: { search_context_size: 'medium' } }
    expect(callWith(format, options).tools.searchResultTokens).toBe(25_000)
  })

  test.each([
    [{ tools: {} }, 'tools'],
    [{ tools: [null] }, 'tools[0]'],
    [{ plugins: { id: 'web' } }, 'plugins'],
    [{ max_tool_calls: 1.5 }, 'max_tool_calls'],
    [{ model: 7 }, 'model'],
    [{ tool_choice: 7 }, 'tool_choice'],
    [{ tool_choice: ['auto'] }, 'tool_choice'],
    [{ tool_choice: { tools: {} } }, 'tool_choice.tools'],
    [{ tool_choice: { type: 'allowed_tools', tools: [7] } }, 'tool_choice.tools[0]'],
    [{ tool_choice: { allowed_tools: { tools: 7 } } }, 'tool_choice.allowed_tools.tools'],
  ])('%j has the wrong type', (members, param) => {
    expect(refusalOf(() => callWith(format, members))).toEqual({ code: 'invalid_parameter', param })
  })

  test.each([[undefined], [null], ['']])('a model of %j is missing', (model) => {
    expect(refusalOf(() => callWith(format, { model }))).toEqual({
      code: 'missing_model',
      param: 'model',
    })
  })

  test("a function's own definitions are not checked", () => {
    const schema = {
      type: 'object',
      properties: { x_search: {}, file: { type: 'file' }, voice: { type: 'audio' } },
    }
    const tools = [
      {
        type: 'function',
        name: 'f',
        parameters: schema,
        function: { name: 'f', parameters: schema },
      },
    ]
    expect(callWith(format, { tools })).toMatchObject({
      media: { files: 0 },
      tools: { clientTools: 1 },
    })
  })

  test('a member of the prototype is not read', () => {
    const source = JSON.stringify(LEAST_BODIES[format.endpoint])
    expect(() => callOf(format, `{"__proto__":{"models":["a/c"]},${source.slice(1)}`)).not.toThrow()
  })

  test('a model that bills per search, or with another output, is refused', () => {
    const call = callWith(format, {})
    const check = (overrides: Parameters<typeof offerWith>[0]) => () =>
      checkCall(format, call, overrides)
    const refused = { code: 'unsupported_model', param: 'model' }
    expect(refusalOf(check({ billsPerSearch: true }))).toEqual(refused)
    expect(refusalOf(check({ outputModalities: new Set(['audio']) }))).toEqual(refused)
    expect(refusalOf(check({ outputModalities: new Set() }))).toEqual(refused)
  })

  test('a body of the largest depth does not exhaust the stack', () => {
    const depth = 500
    const deep = `{"extra":${'['.repeat(depth)}${']'.repeat(depth)},${JSON.stringify(LEAST_BODIES[format.endpoint]).slice(1)}`
    expect(format.readCall(bodyOf(deep), DEFAULT_PUBLIC_NAMES).media.files).toBe(0)
  })
})

const OPENAI_SEARCHES = [
  'web_search_preview',
  'web_search_2025_08_26',
  'web_search_preview_2025_03_11',
]
const MESSAGES_SEARCHES = ['web_search_20250305', 'web_search_20260209', 'web_search_20260318']

test.each([
  ...OPENAI_SEARCHES.map((type) => [chat, messages, type] as const),
  ...MESSAGES_SEARCHES.map((type) => [messages, chat, type] as const),
])('a search tool is accepted with the type of its own format: %#', (takes, refuses, type) => {
  const members = { tools: [{ type, name: 'web_search' }] }
  expect(callWith(takes, members).tools.serverTools).toBe(true)
  expect(refusalOf(() => callWith(refuses, members))).toEqual({
    code: 'unsupported_parameter',
    param: 'tools[0].type',
  })
})

test.each([
  ...OPENAI_SEARCHES.map((type) => [chat, messages, type] as const),
  ...MESSAGES_SEARCHES.map((type) => [messages, chat, type] as const),
])('a tool_choice names a search by the type of its own format: %#', (takes, refuses, type) => {
  const members = { tool_choice: { type } }
  expect(callWith(takes, members).tools.serverTools).toBe(true)
  expect(refusalOf(() => callWith(refuses, members))).toEqual({
    code: 'unsupported_parameter',
    param: 'tool_choice.type',
  })
})

test('a search tool without a date, or a choice of it, is accepted in every format', () => {
  for (const format of FORMATS) {
    const tool = { type: 'web_search' }
    for (const members of [{ tools: [{ ...tool, name: 'web_search' }] }, { tool_choice: tool }]) {
      expect(callWith(format, members).tools.serverTools).toBe(true)
    }
  }
})

test('a tool without a type is a client tool on messages only', () => {
  const members = { tools: [{ name: 'f', input_schema: {} }] }
  expect(callWith(messages, members).tools.clientTools).toBe(1)
  expect(refusalOf(() => callWith(chat, members)).param).toBe('tools[0].type')
})

describe.each(EVERY_FORMAT)('on %s a body without its prompt is refused', (_, format) => {
  const [, required = ''] = format.documentation.required

  test.each(['messages', 'input', 'prompt'].filter((name) => name !== required))(
    'with the endpoints of a body with %s',
    (name) => {
      const run = () => callOf(format, { model: 'a/b', [name]: 'Hi' })
      const others = FORMATS.filter(({ documentation }) => documentation.required.includes(name))
      expect(others.length).toBeGreaterThan(0)
      // A prompt of responses is a stored one.
      const isStored = format.endpoint === 'responses' && name === 'prompt'
      for (const { path } of isStored ? [] : others) expect(run).toThrow(`POST ${path}`)
      if (isStored) expect(run).toThrow('send the text itself in `input`')
    },
  )

  test('without advice, if it has no prompt at all', () => {
    const run = () => callOf(format, { model: 'a/b' })
    expect(run).toThrow(`\`${required}\``)
    expect(run).not.toThrow('POST')
  })
})
