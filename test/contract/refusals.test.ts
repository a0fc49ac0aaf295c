import { describe, expect, test } from 'vitest'
import { Bench } from './bench.ts'
import { type ExpectedError, expectError } from './expect-error.ts'
import type { FormatRow } from './format-row.ts'
import { NAMES_COST, ROWS, VENDOR } from './rows.ts'

const bench = Bench.ofFile()

/** Sends it, and checks that the gateway refuses it without a call upstream or a row in Activity. */
async function expectRefusal(
  row: FormatRow,
  { body, expected }: { readonly body: object | string; readonly expected: ExpectedError },
) {
  const forwarded = bench.forwardedCount
  const answer = await bench.send(row, { body })
  expectError({ bench, row, answer }, expected)
  expect(bench.forwardedCount).toBe(forwarded)
  expect(await bench.activity(answer)).toBeNull()
}

const parser = (engine: string) => ({ id: 'file-parser', pdf: { engine } })
const audio = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }

/** Fields that no endpoint supports, and the place that is named. */
const UNSUPPORTED: readonly (readonly [object, string])[] = [
  [{ models: ['sim/open'] }, 'models'],
  [{ fallbacks: [{ model: 'sim/open' }] }, 'fallbacks'],
  [{ route: 'fallback' }, 'route'],
  [{ provider: { order: ['a'] } }, 'provider'],
  [{ preset: 'cheap' }, 'preset'],
  [{ mcp_servers: [{ type: 'url', name: 'a', url: 'https://example.org' }] }, 'mcp_servers'],
  [{ debug: { echo_upstream_body: true } }, 'debug'],
  [{ tool_choice: { type: 'image_generation' } }, 'tool_choice.type'],
  [{ plugins: [{ id: 'web' }] }, 'plugins[0]'],
  [{ plugins: ['web'] }, 'plugins[0]'],
  [{ plugins: [{ id: 'response-healing' }, { id: 'auto-router' }] }, 'plugins[1]'],
  [{ plugins: [{ id: 'context-compression' }] }, 'plugins[0]'],
  [{ plugins: [{ id: 'context-compression', enabled: false }] }, 'plugins[0]'],
  [{ plugins: [{ id: 'file-parser' }] }, 'plugins[0].pdf.engine'],
  [{ plugins: [parser('mistral-ocr')] }, 'plugins[0].pdf.engine'],
  [{ tools: [{ type: 'code_interpreter' }] }, 'tools[0].type'],
  [{ tools: [{ type: 'custom', name: 'f' }, { type: 'x_search' }] }, 'tools[1].type'],
  [{ tools: [{ type: 'mcp', server_url: 'https://example.org' }] }, 'tools[0].type'],
  [{ x_search: {} }, 'x_search'],
]

describe.each(ROWS)('$endpoint', (row) => {
  test.each(UNSUPPORTED)('%j is unsupported, and named', async (fields, param) => {
    const body = { ...row.body, ...fields }
    const expected = { httpStatus: 400, code: 'unsupported_parameter', param }
    await expectRefusal(row, { body, expected })
  })

  test.each([
    [{ Model: 'sim/open' }, 'Model'],
    [{ 'max_to\u212aens': 1 }, 'max_to\u212aens'],
    [{ plugins: [{ ID: 'web' }] }, 'plugins[0].ID'],
    [{ tools: [{ type: 'function', Type: 'x_search' }] }, 'tools[0].Type'],
  ])('%j differs from a field only in case: it is refused, and named', async (fields, param) => {
    const body = { ...row.body, ...fields }
    const expected = { httpStatus: 400, code: 'invalid_parameter', param }
    await expectRefusal(row, { body, expected })
  })

  test('a part with a member that differs only in case is refused, and named', async () => {
    const body = row.parts.body({ type: 'image_url', Image_URL: 'https://example.org/a.png' })
    const expected = {
      httpStatus: 400,
      code: 'invalid_parameter',
      param: `${row.parts.path}.Image_URL`,
    }
    await expectRefusal(row, { body, expected })
  })

  // Some formats of the vendors have no metadata, or none with names of the client's own.
  const testMetadata = VENDOR === undefined || takesMetadata(row.endpoint) ? test : null
  testMetadata?.('metadata may say what it likes', async () => {
    const metadata = { Model: 'x', TYPE: 'y', Url: 'z' }
    const answer = await bench.send(row, { body: { ...row.body, metadata } })
    expect(answer.httpStatus, answer.text).toBe(200)
  })

  test('audio input is unsupported', async () => {
    const expected = { httpStatus: 400, code: 'unsupported_parameter', param: row.parts.path }
    await expectRefusal(row, { body: row.parts.body(audio), expected })
  })

  test.each([
    ['not JSON', '{"model":', 'invalid_json', null],
    ['an array', '[]', 'invalid_json', null],
    ['without a model', '{"messages":[],"input":"","prompt":""}', 'missing_model', 'model'],
    ['with a null model', '{"model":null}', 'missing_model', 'model'],
  ])('a body that is %s is refused', async (_, body, code, param) => {
    await expectRefusal(row, { body, expected: { httpStatus: 400, code, param } })
  })

  test.each(['sim/none', 'text', `sim/auto`])('the model %s is not found', async (model) => {
    const expected = { httpStatus: 404, code: 'model_not_found', param: 'model' }
    await expectRefusal(row, { body: { ...row.body, model }, expected })
  })

  test.each([...row.unfitModels, 'sim/search'])(
    'the model %s is refused, because it has another endpoint',
    async (model) => {
      const expected = { httpStatus: 400, code: 'unsupported_model', param: 'model' }
      await expectRefusal(row, { body: { ...row.body, model }, expected })
    },
  )

  // Others refuse a field that they do not know.
  const testPlugins = NAMES_COST ? test : null
  testPlugins?.each([
    ['response-healing', [{ id: 'response-healing' }]],
    ['file-parser with hosted-ai', [parser('hosted-ai')]],
    ['file-parser with native', [parser('native')]],
  ])('the plugin %s is free', async (_, plugins) => {
    const answer = await bench.send(row, { body: { ...row.body, plugins } })
    expect(answer.httpStatus, answer.text).toBe(200)
  })
})

const UPSTREAM_PARSER = [parser('cloudflare-ai')]

function upstreamPlugins(): unknown {
  return bench.world.simulator.requests.findLast(({ isInference }) => isInference)?.json?.[
    'plugins'
  ]
}

describe.each(ROWS)('$endpoint, with a file', (row) => {
  const { parts } = row
  const body = parts.body(parts.file)

  if (parts.unreadFile === 'refused') {
    test('a model that reads none needs the free parser to be set', async () => {
      const expected = { httpStatus: 400, code: 'unsupported_parameter', param: parts.path }
      await expectRefusal(row, { body, expected })
      const native = { ...body, plugins: [parser('native')] }
      await expectRefusal(row, { body: native, expected })
    })
  } else {
    test('a model that reads none gets the free parser added', async () => {
      const healing = { id: 'response-healing' }
      expect((await bench.send(row, { body })).httpStatus).toBe(200)
      expect(upstreamPlugins()).toEqual(UPSTREAM_PARSER)
      await bench.send(row, { body: { ...body, plugins: [healing] } })
      expect(upstreamPlugins()).toEqual([healing, ...UPSTREAM_PARSER])
    })
  }

  const testParser = NAMES_COST ? test : null
  testParser?.("the free parser goes up in the provider's own word", async () => {
    const answer = await bench.send(row, {
      body: { ...body, plugins: [parser('hosted-ai')] },
    })
    expect(answer.httpStatus, answer.text).toBe(200)
    expect(upstreamPlugins()).toEqual(UPSTREAM_PARSER)
  })

  const { fileModel } = parts
  const testFile = VENDOR === undefined || row.endpoint !== 'completions' ? test : null
  if (fileModel !== null) {
    testFile?.('a model that reads files gets it as it is', async () => {
      const answer = await bench.send(row, { body: { ...body, model: fileModel } })
      expect(answer.httpStatus, answer.text).toBe(200)
      expect(upstreamPlugins()).toBeUndefined()
    })
  }
})

test('after all of it, the ledger is exact', () => bench.expectExactLedger())

function takesMetadata(endpoint: string): boolean {
  return endpoint === 'chat' || endpoint === 'responses'
}
