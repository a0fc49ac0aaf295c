import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DIALECTS } from '../../upstreams/dialects.ts'
import { openrouter } from '../../upstreams/openrouter/openrouter.ts'
import { PATIENT_TIMEOUTS } from '../../upstreams/testing/upstream-settings.ts'
import type { Dialect } from '../../upstreams/upstream.ts'
import type { ConfiguredUpstreams } from '../../upstreams/upstream-settings.ts'
import { ConfigError } from './setting.ts'
import { readUpstreamsFile } from './upstreams-file.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-upstreams-'))
  path = join(folder, 'upstreams.yaml')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** An operator's own server: without an address, and with IDs that are not catalog IDs. */
const OWN: Dialect = {
  ...openrouter,
  baseUrl: null,
  hasCatalogIds: false,
  billsLeftCalls: false,
  usualFormats: ['chat'],
}

const TWO_DIALECTS = new Map([
  ['openrouter', async () => openrouter],
  ['own', async () => OWN],
])

function read(
  text: string,
  dialects: ReadonlyMap<string, () => Promise<Dialect>> = TWO_DIALECTS,
): Promise<ConfiguredUpstreams> {
  writeFileSync(path, text)
  const env = { ROUTER_KEY: 'sk-router', BAD_KEY: 'two words' }
  return readUpstreamsFile(path, { env, timeouts: PATIENT_TIMEOUTS, dialects })
}

/** The faults of the message, without its first line. */
async function faultsOf(text: string): Promise<string[]> {
  const error = await read(text).catch((cause: unknown) => cause)
  expect(error).toBeInstanceOf(ConfigError)
  const [first, ...faults] = String(error).split('\n')
  expect(first).toContain(path)
  return faults.map((fault) => fault.replace(/^ {2}- /, ''))
}

const LOCAL = `
upstreams:
  router: { dialect: openrouter, api_key: "\${ROUTER_KEY}", except: ["openai/*"] }
  local:
    dialect: own
    base_url: http://127.0.0.1:8000/v1/
    formats: [chat, messages]
    headers: { x-team: blue, x-secret: "\${ROUTER_KEY}" }
    max_in_flight: 4
    read_on: true
    timeouts: { queue_ms: 500, headers_ms: 60000 }
    models:
      - upstream_id: Qwen/Qwen3-8B
        context: 131072
        max_output: 32768
        max_thinking: 16384
        prices: { input: 0.05, cache_read: 0.010000, output: 2e-1, search: 0.001 }
        open_weights: true
      - id: local/small
aliases: { small: local/small }
`

test('a configuration of LiteLLM is named as that, with the page that has it in both forms', async () => {
  await expect(read('model_list:\n  - { model_name: gpt-5-mini }\n')).rejects.toThrow(
    new ConfigError(
      `TOLLGATE_UPSTREAMS is ${path}, which is a configuration of LiteLLM: docs/moving.md has the same models in both forms`,
    ),
  )
})

describe('a file of upstreams', () => {
  test('is read whole, in its order, with secrets of the environment', async () => {
    const { mode, upstreams, aliases } = await read(LOCAL)
    expect(mode).toBe('live')
    expect(upstreams.map(({ name }) => name)).toEqual(['router', 'local'])
    const [router, local] = upstreams
    expect(router).toMatchObject({
      baseUrl: 'https://openrouter.ai/api/v1',
      apiKey: 'sk-router',
      apiKeyVariable: 'ROUTER_KEY',
      except: ['openai/*'],
      only: null,
      inFlightMax: null,
      readOn: false,
      timeouts: PATIENT_TIMEOUTS,
    })
    expect(local).toMatchObject({
      baseUrl: 'http://127.0.0.1:8000/v1',
      apiKey: null,
      apiKeyVariable: null,
      formats: ['chat', 'messages'],
      headers: ['x-team', 'blue', 'x-secret', 'sk-router'],
      inFlightMax: 4,
      readOn: true,
      timeouts: { ...PATIENT_TIMEOUTS, queueTimeoutMs: 500, headersTimeoutMs: 60_000 },
    })
    expect(local?.models).toMatchObject([
      {
        id: 'local/Qwen/Qwen3-8B',
        upstreamModelId: 'Qwen/Qwen3-8B',
        contextTokens: 131_072,
        outputTokensMax: 32_768,
        uncappedThinkingTokens: 16_384,
        openWeights: true,
      },
      { id: 'local/small', upstreamModelId: 'small', prices: null, openWeights: null },
    ])
    expect([...aliases]).toEqual([['small', 'local/small']])
  })

  test('vouches for fields, and for no field that a table lists or refuses for its cost', async () => {
    const file = (dialect: string, lines: string): string =>
      `upstreams: { a: { dialect: ${dialect}, base_url: "http://h/v1", ${lines}, models: [{ id: a/m }] } }`
    const readAs = (dialect: string, lines: string) => read(file(dialect, lines), DIALECTS)
    const lines =
      'allow_fields: [priority, messages.partial], cache_salt: true, leave_out: [user, stream_options]'
    const { upstreams } = await readAs('openai-compatible', lines)
    expect(upstreams[0]).toMatchObject({
      allowFields: ['priority', 'messages.partial'],
      saltsCache: true,
      leavesOut: ['user', 'stream_options'],
    })
    const faulty = readAs(
      'openai-compatible',
      'leave_out: [store], allow_fields: [n_predict, max_tokens, thread, messages.content, messages.audio, "a b"]',
    )
    await expect(faulty).rejects.toThrow(
      /allow_fields\[0\] can't be vouched for: `n_predict` sets the length of the answer, which a hold must know[\s\S]*`max_tokens` is listed already[\s\S]*`thread` reads data that the vendor keeps[\s\S]*`messages.content` is listed already[\s\S]*`messages.audio` reads data that the vendor keeps[\s\S]*must be a field/,
    )
    const variable = '$'.concat('{ROUTER_KEY}')
    const ofAnthropic = await readAs(
      'anthropic',
      `api_key: "${variable}", allow_fields: [diagnostics]`,
    )
    expect(ofAnthropic.upstreams[0].allowFields).toEqual(['diagnostics'])
    const elsewhere = readAs('openrouter', 'allow_fields: [x], cache_salt: true, leave_out: [user]')
    await expect(elsewhere).rejects.toThrow(
      /passes on every field[\s\S]*no such field[\s\S]*accept what the gateway sends/,
    )
  })

  test('has no price of images, which no answer counts', async () => {
    const file =
      'upstreams: { a: { dialect: own, base_url: "http://h/v1", models: [{ id: a/m, prices: { input: 1, output: 1, image: 0.001 } }] } }'
    await expect(read(file)).rejects.toThrow(/line 1: .*prices.image cannot be charged/)
  })

  test('has exact prices, which never were floats', async () => {
    const priceOf = async (text: string): Promise<unknown> => {
      const file = `upstreams: { a: { dialect: own, base_url: "http://h/v1", models: [{ id: a/m, prices: { input: ${text}, output: 0 } }] } }`
      return (await read(file)).upstreams[0].models[0]?.prices?.input
    }
    expect(await priceOf('0.1')).toBe(100_000n)
    expect(await priceOf('0.000001')).toBe(1n)
    expect(await priceOf('"0.3"')).toBe(300_000n)
    expect(await priceOf('123456789.123457')).toBe(123_456_789_123_457n)
    for (const wrong of ['0.0000001', '-1', '1.5.1', 'free', '0x10', '1e400', '9999999999999']) {
      await expect(priceOf(wrong), wrong).rejects.toThrow(/line 1: .*prices.input/)
    }
  })

  describe('prices of long prompts', () => {
    const priced = (lines: string) =>
      `upstreams: { a: { dialect: own, base_url: "http://h/v1", models: [{ id: a/m, ${lines} }] } }`
    const SHORT = 'prices: { input: 1, cache_read: 0.1, output: 2 }'

    test('are exact, and rise with the length of the prompt', async () => {
      const file = priced(
        `${SHORT}, long_prompts: [{ above: 100000, input: 1.5, cache_read: 0.1, output: 3 }, { above: 200000, input: 2, cache_read: 0.2, output: 3 }]`,
      )
      expect((await read(file)).upstreams[0].models[0]?.longPrompts).toEqual([
        {
          inputTokensAbove: 100_000,
          prices: { input: 1_500_000n, cacheRead: 100_000n, output: 3_000_000n },
        },
        {
          inputTokensAbove: 200_000,
          prices: { input: 2_000_000n, cacheRead: 200_000n, output: 3_000_000n },
        },
      ])
    })

    test.each([
      'input: 1, output: 2',
      'input: 1, output: 2, reasoning: 0',
      'input: 1, output: 2, reasoning: 3',
    ])('can have an output price up to the price of reasoning: %s', async (prices) => {
      const file = priced(
        `prices: { ${prices} }, long_prompts: [{ above: 1, input: 2, output: 3 }]`,
      )
      expect((await read(file)).upstreams[0].models[0]?.longPrompts).toHaveLength(1)
    })

    test.each([
      [
        `long_prompts: [{ above: 1, input: 1, output: 2 }]`,
        'long_prompts applies only with prices',
      ],
      [`${SHORT}, long_prompts: [{ input: 2, cache_read: 1, output: 3 }]`, 'has no above'],
      [
        `${SHORT}, long_prompts: [{ above: 1, input: 2, output: 3 }]`,
        'long_prompts[0] has no cache_read price, which shorter prompts have',
      ],
      [
        `${SHORT}, long_prompts: [{ above: 1, input: 2, cache_read: 0.09, output: 3 }]`,
        'long_prompts[0].cache_read is lower than the price of shorter prompts',
      ],
      [
        `${SHORT}, long_prompts: [{ above: 9, input: 2, cache_read: 1, output: 3 }, { above: 9, input: 2, cache_read: 1, output: 3 }]`,
        'long_prompts[1].above is "9": it must be a whole number, 10 to',
      ],
      [
        `${SHORT}, long_prompts: [{ above: 1, input: 2, cache_read: 1, output: 3, search: 1 }]`,
        'long_prompts[0].search is not a setting here',
      ],
      [
        `prices: { input: 1, output: 2, reasoning: 2 }, long_prompts: [{ above: 1, input: 2, output: 2 }, { above: 2, input: 2, output: 3 }]`,
        'long_prompts[1].output is higher than the reasoning price, which is the same for prompts of any length',
      ],
    ])('have a fault in %s', async (lines, fault) => {
      expect((await faultsOf(priced(lines))).join()).toContain(fault)
    })
  })

  test('reports all its faults at once, with their lines', async () => {
    const faults = await faultsOf(`upstreams:
  Two Words:
    dialect: own
  b:
    dialect: none
  c:
    dialect: own
    base_url: ftp://host
    api_key: sk-written-here
    colour: blue
    formats: [chat, telegraph]
    only: ["*"]
    max_in_flight: 0
    headers: { authorization: x }
    models:
      - context: 1.5
      - { id: c/m, prices: { input: 1 } }
  d:
    dialect: openrouter
    api_key: "\${MISSING_KEY}"
  e:
    dialect: openrouter
  f: { dialect: openrouter, api_key: "\${BAD_KEY}", models: [{ id: a/b }] }
aliases:
  x: no-id
`)
    expect(faults).toEqual([
      'line 3: upstreams.Two Words has a name that cannot be used: it must be 1 to 32 of the characters a-z, 0-9, . _ -',
      'line 3: upstreams.Two Words has no base_url',
      'line 5: upstreams.b.dialect is "none": it must be one of openrouter, own',
      'line 8: upstreams.c.base_url must be an http or https address without a query, like https://api.example.com/v1',
      expect.stringMatching(
        /^line 9: .*api_key must name a variable of the environment, like "\$.C_API_KEY."/,
      ),
      expect.stringMatching(
        /^line 10: upstreams\.c\.colour is not a setting here: the settings are dialect, /,
      ),
      expect.stringMatching(
        /^line 11: upstreams\.c\.formats\[1\] is "telegraph": it must be one of /,
      ),
      'line 12: upstreams.c.only[0] must be the ID of a model, or all models of an author, like acme/*',
      'line 13: upstreams.c.max_in_flight is "0": it must be a whole number, 1 to 100000',
      'line 14: upstreams.c.headers.authorization is a header that tollgate sets',
      'line 16: upstreams.c.models[0] has no id, and no upstream_id to make one from',
      'line 16: upstreams.c.models[0].context is "1.5": it must be a whole number, 1 to 1000000000',
      'line 17: upstreams.c.models[1].prices has no output price; a price of nothing is 0',
      'line 20: upstreams.d.api_key names MISSING_KEY, which is set neither in the environment nor in .env',
      expect.stringMatching(
        /^line 22: upstreams\.e has no api_key: write api_key: "\$.E_API_KEY."$/,
      ),
      'line 23: upstreams.f.models does not apply to openrouter, whose list has all figures: leave it out',
      expect.stringMatching(
        /^line 23: .*api_key names .*BAD_KEY., which has characters that no key/,
      ),
      'line 25: aliases.x must be the ID of a model, like acme/sage-pro',
    ])
    expect(faults.join()).not.toContain('sk-written-here')
    expect(faults.join()).not.toContain('two words')
  })

  const twice = (one: string, other: string) => `upstreams:
  one: { dialect: own, base_url: "http://h/v1", formats: [${one}], models: [{ id: acme/m, upstream_id: m }] }
  two: { dialect: own, base_url: "http://h/v2", formats: [${other}], models: [{ id: acme/m, upstream_id: m2 }] }
`

  test('may write an id for two upstreams that answer different formats', async () => {
    const { upstreams } = await read(twice('chat, responses', 'messages'))
    expect(upstreams.map(({ models }) => models.map(({ id }) => id))).toEqual([
      ['acme/m'],
      ['acme/m'],
    ])
  })

  test('that writes an id twice for one format names both lines and the format', async () => {
    expect(await faultsOf(twice('chat, responses', 'messages, responses'))).toEqual([
      'line 3: upstreams.two.models[0] claims acme/m for responses, as upstreams.one.models[0] on line 2 does: an ID can be written for two upstreams if their `formats` differ',
    ])
  })

  test('that writes an id or an alias twice names both places', async () => {
    const own = 'dialect: own, base_url: "http://h/v1"'
    expect(
      await faultsOf(`upstreams:
  a: { ${own}, models: [{ id: acme/m, upstream_id: m }] }
  b:
    { ${own}, models: [{ id: Acme/M, upstream_id: m }] }
aliases:
  acme/m: a/other
`),
    ).toEqual([
      'line 4: upstreams.b.models[0] claims Acme/M, as upstreams.a.models[0] on line 2 does',
      'line 6: aliases.acme/m claims acme/m, as upstreams.a.models[0] on line 2 does',
    ])
  })

  test.each([
    ['is no YAML', 'upstreams: [', /line \d+: /],
    ['has an unquoted name in braces', `upstreams: { a: { api_key: \${ROUTER_KEY} } }`, /line 1: /],
    ['has a name twice', 'upstreams:\n  a: {}\n  a: {}\n', /line 3: Map keys must be unique/],
    ['is empty', '', /line 1: the file must be names and values/],
    ['has no upstream', 'upstreams: {}', /line 1: upstreams has no upstream/],
    ['is a list', '- a', /line 1: the file must be names and values/],
    [
      'has other names',
      'upstream: {}',
      /line 1: upstream is not a setting here: the settings are upstreams/,
    ],
  ])('that %s says so', async (_, text, message) => {
    expect((await faultsOf(text)).join('\n')).toMatch(message)
  })

  test('that is not there is named', async () => {
    const dialects = new Map()
    const missing = join(folder, 'none.yaml')
    const reading = readUpstreamsFile(missing, { env: {}, timeouts: PATIENT_TIMEOUTS, dialects })
    await expect(reading).rejects.toThrow(
      /TOLLGATE_UPSTREAMS is .*none\.yaml, which cannot be read/,
    )
  })
})
