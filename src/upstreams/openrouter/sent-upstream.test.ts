import { describe, expect, test } from 'vitest'
import { chat } from '../../formats/chat.ts'
import { completions } from '../../formats/completions.ts'
import { embeddings } from '../../formats/embeddings.ts'
import { images } from '../../formats/images.ts'
import { messages } from '../../formats/messages.ts'
import { responses } from '../../formats/responses.ts'
import { offerWith } from '../../formats/testing/exchange.ts'
import { ACCOUNT_TAG, sentBody, wireOf } from './testing/exchange.ts'

const FILE = {
  type: 'file',
  file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
}

describe('a body of chat goes upstream', () => {
  test.each([
    ['added if the client set none', '"messages":[] }', '"messages":[],"user":"TAG" }'],
    [
      'in the place of any other',
      '"user" : {"id":1} ,"messages":[]}',
      '"user" : "TAG" ,"messages":[]}',
    ],
  ])('with a user %s', (_, given, sent) => {
    const start = '{"model":"acme/sage-pro",'
    expect(sentBody(chat, start + given)).toBe(start + sent.replace('TAG', ACCOUNT_TAG))
  })

  test.each([
    [['max_tokens', 'max_completion_tokens'], 'max_tokens'],
    [['max_completion_tokens'], 'max_completion_tokens'],
  ])('with the cap of a model that lists %j in %s', (supported, name) => {
    const offer = offerWith({ supportedParameters: new Set(supported) })
    expect(
      sentBody(chat, '{"user":"u","model":"acme/sage-pro","messages":[]}', {
        offer,
        outputCapTokens: 512,
      }),
    ).toBe(`{"user":"${ACCOUNT_TAG}","model":"acme/sage-pro","messages":[],"${name}":512}`)
  })

  test('with a cap of null replaced by the held one', () => {
    expect(
      sentBody(chat, '{"max_tokens":null,"user":"u","model":"acme/sage-pro","messages":[]}', {
        outputCapTokens: 512,
      }),
    ).toBe(`{"max_tokens":512,"user":"${ACCOUNT_TAG}","model":"acme/sage-pro","messages":[]}`)
  })

  const PARSER = '{"id":"file-parser","pdf":{"engine":"cloudflare-ai"}}'
  const withFile = (plugins: string) =>
    `{"user":"u","model":"acme/sage-pro",${plugins}"messages":[{"role":"tool","content":[${JSON.stringify(FILE)}]}]}`
  const sentPlugins = (source: string) => JSON.stringify(JSON.parse(source).plugins)

  test.each([
    ['', `[${PARSER}]`],
    ['"plugins":null,', `[${PARSER}]`],
    ['"plugins":[],', `[${PARSER}]`],
    ['"plugins":[{"id":"response-healing"}],', `[{"id":"response-healing"},${PARSER}]`],
    ['"plugins":[{"id":"file-parser","pdf":{"engine":"hosted-ai"}}],', `[${PARSER}]`],
    [`"plugins":[${PARSER}],`, `[${PARSER}]`],
    ['"plugins":[{"id":"file-parser","pdf":{"engine":"native"}}],', `[${PARSER}]`],
  ])('with the free parser for a model that reads no files: %s', (plugins, sent) => {
    expect(sentPlugins(sentBody(chat, withFile(plugins)))).toBe(sent)
  })

  test.each([
    ['', undefined],
    [
      '"plugins":[{"id":"file-parser","pdf":{"engine":"native"}}],',
      '[{"id":"file-parser","pdf":{"engine":"native"}}]',
    ],
    ['"plugins":[{"id":"file-parser","pdf":{"engine":"hosted-ai"}}],', `[${PARSER}]`],
  ])("with the client's own choice for a model that reads files: %s", (plugins, sent) => {
    const offer = offerWith({ inputModalities: new Set(['text', 'file']) })
    expect(sentPlugins(sentBody(chat, withFile(plugins), { offer }))).toBe(sent)
  })

  test('without a parser if it has no file', () => {
    expect(sentBody(chat, '{"user":"u","model":"acme/sage-pro","messages":[]}')).not.toContain(
      'plugins',
    )
  })
})

describe('a body of embeddings goes upstream', () => {
  test('without a cap', () => {
    const source = '{"input":"h","model":"acme/sage-pro","user":"u"}'
    expect(sentBody(embeddings, source, { outputCapTokens: 5 })).not.toContain('max_tokens')
  })
})

describe('a body of images goes upstream', () => {
  test('with only model and user replaced', () => {
    const source = '{"size":"1024x1024" ,"seed":1e2,"prompt":"x","n":2,"model":"Acme/Draw-One[1m]"}'
    expect(
      sentBody(images, source, {
        offer: offerWith({ modelId: 'acme/draw-one' }),
        outputCapTokens: 9,
      }),
    ).toBe(source.replace('Acme/Draw-One[1m]"}', `acme/draw-one","user":"${ACCOUNT_TAG}"}`))
  })
})

describe('a body of responses goes upstream', () => {
  test('unchanged if nothing has to be replaced, without a cap', () => {
    const source = '{"model":"acme/sage-pro","input":"Hi","max_output_tokens":9000}'
    expect(sentBody(responses, source, { outputCapTokens: 16 })).toBe(source)
  })
})

describe.each([
  ['chat', chat, '"messages":[]'],
  ['completions', completions, '"prompt":"Hi"'],
] as const)('on %s', (_, format, input) => {
  const sent = (members: string) =>
    sentBody(format, `{"user":"${ACCOUNT_TAG}","model":"acme/sage-pro",${input}${members}}`)
  const SEARCH = ',"tools":[{"type":"openrouter:web_search"}]'

  test.each([
    ['', ',"max_tool_calls":30'],
    [',"max_tool_calls":null', ',"max_tool_calls":30'],
    [',"max_tool_calls":5', ',"max_tool_calls":5'],
    [',"max_tool_calls":5.0', ',"max_tool_calls":5.0'],
    [',"max_tool_calls":0', ',"max_tool_calls":0'],
    [',"max_tool_calls":1e3', ',"max_tool_calls":30'],
    [
      ',"max_tool_calls":5,"stop_server_tools_when":[]',
      ',"max_tool_calls":30,"stop_server_tools_when":[]',
    ],
  ])('a search with %j may run as many tools as were held: %j', (given, written) => {
    expect(sent(`${SEARCH}${given}`)).toBe(sent(written).replace(written, `${SEARCH}${written}`))
  })

  test('web_search_options are capped too', () => {
    expect(sent(',"web_search_options":{}')).toContain(
      '"web_search_options":{},"max_tool_calls":30',
    )
  })

  test('without provider-run tools nothing is added', () => {
    expect(sent('')).not.toContain('max_tool_calls')
    expect(sent(',"max_tool_calls":99')).toContain('"max_tool_calls":99')
  })
})

test('on responses max_tool_calls goes upstream unchanged', () => {
  for (const given of ['', '"max_tool_calls":99,', '"max_tool_calls":5,', '"max_tool_calls":0,']) {
    const source = `{${given}"model":"acme/sage-pro","input":"Hi","tools":[{"type":"web_search"}]}`
    expect(sentBody(responses, source)).toBe(source)
  }
})

test.each([
  [chat, '/chat/completions', 'gen-1'],
  [completions, '/completions', 'gen-1'],
  [messages, '/messages', 'gen-1'],
  [responses, '/responses', 'gen-1'],
  [embeddings, '/embeddings', 'gen-1'],
  [images, '/images', null],
])(
  'call %# has its path, and a generation ID in a header of its answer unless it is of images',
  (format, path, generationId) => {
    const wire = wireOf(format)
    expect(wire.path).toBe(path)
    expect(wire.generationIdOf({ 'x-generation-id': 'gen-1' })).toBe(generationId)
  },
)
