import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Simulator, startSimulator } from '../../simulator/simulator.ts'
import { vendorSettings } from '../../test/dialects/vendor-settings.ts'
import { DEFAULT_CATALOG_SETTINGS } from '../catalog/catalog.ts'
import { DEFAULT_PUBLIC_NAMES } from '../formats/testing/exchange.ts'
import { loadDialect } from '../upstreams/dialects.ts'
import { upstreamSettings } from '../upstreams/testing/upstream-settings.ts'
import type { UpstreamSettings } from '../upstreams/upstream-settings.ts'
import { type CommandLine, failedWith, openCommandLine } from './testing/command-line.ts'

let simulator: Simulator
let lines: CommandLine[]

beforeEach(async () => {
  simulator = await startSimulator()
  lines = []
})
afterEach(async () => {
  for (const line of lines) line.close()
  await simulator.close()
})

/** The command line of these upstreams; the first is the simulator. */
function open(...others: readonly UpstreamSettings[]): CommandLine {
  const line = openCommandLine({
    upstreams: {
      load: async () => ({
        mode: 'live',
        upstreams: [upstreamSettings({ name: 'first', baseUrl: simulator.baseUrl }), ...others],
        aliases: new Map(),
      }),
      catalog: DEFAULT_CATALOG_SETTINGS,
      loadDialect,
      publicNames: DEFAULT_PUBLIC_NAMES,
    },
  })
  lines.push(line)
  return line
}

test('each upstream is called, and shown with its models and with the models that another upstream has', async () => {
  const second = upstreamSettings({
    name: 'second',
    baseUrl: simulator.baseUrl,
    only: ['sim/text', 'sim/cached'],
  })
  const { exitCode, out, notes } = await open(second).run('upstream', 'check')
  expect(exitCode).toBe(0)
  expect(out).toMatch(/^UPSTREAM +DIALECT +ADDRESS +MODELS +NOT OFFERED +SHADOWED\n/)
  expect(out).toMatch(/^first .* 1 +0$/m)
  expect(out).toMatch(/^second .* 2 +0 +2$/m)
  expect(notes).toMatch(/second: another upstream has .*sim\/text/)
  expect(notes).toMatch(/first: .* is not offered: /)
})

test('without an upstream, the check says that the simulator answers, and which setting names one', async () => {
  const line = openCommandLine()
  lines.push(line)
  expect(await line.run('upstream', 'check')).toEqual(
    failedWith(
      1,
      'no upstream is configured, and the built-in simulator answers: set UPSTREAM_DIALECT and UPSTREAM_API_KEY, or TOLLGATE_UPSTREAMS for several',
    ),
  )
})

test('each model that is not offered is listed once, with the line to add', async () => {
  const played = await startSimulator({ vendor: 'openai' })
  try {
    const base = upstreamSettings({ name: 'openai', baseUrl: played.baseUrl })
    const { rows } = played.catalog
    const settings = vendorSettings(base, { vendor: 'openai', rows })
    const models = settings.models.filter(({ id }) => id === 'sim/text')
    const { notes } = await open({ ...settings, models }).run('upstream', 'check', 'openai')
    const said = notes.match(/openai\/\S+ is not offered: /g) ?? []
    expect(said).toHaveLength(rows.length - 1)
    expect(new Set(said).size).toBe(said.length)
    expect(notes).toContain('upstream_id: open, prices: { input: …, output: … }')
    expect(notes.match(/upstream_id: open[,}]/g)).toHaveLength(1)
  } finally {
    await played.close()
  }
})

test('an upstream that is away or refuses its key is named with the reason, and the command fails', async () => {
  simulator.script({ path: '/models', status: 401 })
  const away = upstreamSettings({ name: 'away', baseUrl: 'http://127.0.0.1:9/v1' })
  const { exitCode, notes } = await open(away).run('upstream', 'check')
  expect(exitCode).toBe(1)
  expect(notes).toMatch(/first: the upstream answers 401/)
  expect(notes).toMatch(/away: .*ECONNREFUSED/)
  expect(notes).toContain('2 upstreams cannot be used')
  expect(notes).not.toContain('key"')
})

test('a check with --json has each upstream with its models or its failure', async () => {
  const away = upstreamSettings({ name: 'away', baseUrl: 'http://127.0.0.1:9/v1' })
  const { exitCode, out, notes } = await open(away).run('upstream', 'check', '--json')
  expect(exitCode).toBe(1)
  expect(JSON.parse(notes)).toMatchObject({ error: { message: '1 upstream cannot be used' } })
  expect(JSON.parse(out)).toMatchObject({
    object: 'list',
    data: [
      { object: 'upstream_check', name: 'first', ok: true, failure: null, spent: null },
      { name: 'away', ok: false, failure: expect.stringContaining('ECONNREFUSED'), models: null },
    ],
  })
})

test('an upstream that answers and lists no prices has no models: it is not called unreachable', async () => {
  const played = await startSimulator({ vendor: 'openai' })
  try {
    const unpriced = upstreamSettings({
      name: 'unpriced',
      dialect: 'openai-compatible',
      baseUrl: played.baseUrl,
    })
    const opened = open(unpriced)
    expect((await opened.run('catalog', 'refresh')).notes).toContain('models and no prices')
    const { out } = await opened.run('upstream', 'list')
    expect(out).toMatch(/^first +\S+ +healthy /m)
    expect(out).toMatch(/^unpriced +\S+ +no models /m)
  } finally {
    await played.close()
  }
})

test('one upstream can be checked alone, and an unknown name is refused with the known names', async () => {
  const away = upstreamSettings({ name: 'away', baseUrl: 'http://127.0.0.1:9/v1' })
  const one = await open(away).run('upstream', 'check', 'first')
  expect(one.exitCode).toBe(0)
  expect(one.out).not.toContain('away')
  const none = await open(away).run('upstream', 'check', 'third')
  expect(none).toMatchObject({
    exitCode: 3,
    notes: 'tollgate: No upstream has the name "third". The settings have: first, away.\n',
  })
})

test('a refresh names each upstream that failed, stores the others, and fails', async () => {
  const away = (name: string) => upstreamSettings({ name, baseUrl: 'http://127.0.0.1:9/v1' })
  const opened = open(away('away'), away('gone'))
  const { exitCode, notes } = await opened.run('catalog', 'refresh')
  expect(exitCode).toBe(1)
  expect(notes).toMatch(/from away at .*ECONNREFUSED.*; nor from gone at .*ECONNREFUSED/)
  expect(notes).toContain('all other upstreams were refreshed')
  expect((await opened.run('catalog', 'list')).out).toContain('sim/text')
})

test('a key that the upstream does not know is found, though its list of models is public', async () => {
  const wrong = upstreamSettings({ name: 'wrong', baseUrl: simulator.baseUrl, apiKey: 'sk-bad' })
  const { exitCode, out, notes } = await open(wrong).run('upstream', 'check', 'wrong')
  expect(exitCode).toBe(1)
  expect(out).toMatch(/^wrong .* - +- +-$/m)
  expect(notes).toMatch(
    /wrong: the upstream answers 401: it does not know the API key: (check its key in [A-Z_]+|set its api_key)/,
  )
})

test.each([
  [402, "the provider's account has no credit left"],
  [403, 'the provider does not allow this key'],
])('a key whose usage is answered %d is refused, with the reason', async (status, why) => {
  simulator.script({ path: '/key', status })
  const { exitCode, notes } = await open().run('upstream', 'check')
  expect(exitCode).toBe(1)
  expect(notes).toContain(`first: the upstream answers ${status}: ${why}`)
})

test("the rest of a key's limit is shown", async () => {
  const data = { usage: 25.5, limit: 100, limit_remaining: 74.5 }
  simulator.script({ path: '/key', rawBody: JSON.stringify({ data }) })
  const { notes } = await open().run('upstream', 'check')
  expect(notes).toContain('first: its key has $74.50 left')
})

describe('one token on request', () => {
  test('is asked of the cheapest model that has a price, and its cost is shown', async () => {
    const { exitCode, notes } = await open().run('upstream', 'check', '--spend')
    expect(exitCode).toBe(0)
    const [sent, ...more] = simulator.requests.filter(({ isInference }) => isInference)
    expect(more).toEqual([])
    const prices = simulator.catalog.rows
      .filter(({ pricing }) => Number(pricing.completion) > 0)
      // A reasoning model may not get to an answer within one token.
      .filter(({ supported_parameters: names }) => !names.includes('reasoning'))
      .map(({ pricing }) => Number(pricing.completion))
    const body = JSON.parse(sent?.body.toString() ?? '')
    expect(body).toMatchObject({ max_tokens: 1 })
    const asked = simulator.catalog.find(body.model)
    expect(Number(asked?.pricing.completion)).toBe(Math.min(...prices))
    expect(notes).toMatch(/first: sim\/\S+ \(chat\) answered, at a reported cost of \$0\.0+\d+$/m)
  })

  test('is not paid for without a request, nor at an upstream that is not named', async () => {
    const second = upstreamSettings({ name: 'second', baseUrl: simulator.baseUrl })
    const opened = open(second)
    await opened.run('upstream', 'check')
    expect(simulator.requests.filter(({ isInference }) => isInference)).toEqual([])
    await opened.run('upstream', 'check', 'second', '--spend')
    expect(simulator.requests.filter(({ isInference }) => isInference)).toHaveLength(1)
  })

  test('that is refused or not counted fails the command, and the reason is named', async () => {
    simulator.script({ status: 402 })
    const opened = open()
    const refused = await opened.run('upstream', 'check', '--spend')
    expect(refused.exitCode).toBe(1)
    expect(refused.notes).toMatch(/first: sim\/\S+ \(chat\) was refused with 402/)
    simulator.script({ omit: ['usage', 'cost'] })
    const uncounted = await opened.run('upstream', 'check', '--spend')
    expect(uncounted.exitCode).toBe(1)
    expect(uncounted.notes).toContain('answered without counting its tokens')
  })

  test('is asked without the fields that the upstream leaves out', async () => {
    const vendor = 'openai-compatible'
    const played = await startSimulator({ vendor })
    try {
      const base = upstreamSettings({ name: vendor, baseUrl: played.baseUrl })
      const { rows } = played.catalog
      const opened = open({ ...vendorSettings(base, { vendor, rows }), leavesOut: ['user'] })
      await opened.run('upstream', 'check', vendor, '--spend')
      const [sent] = played.requests.filter(({ isInference }) => isInference)
      expect(JSON.parse(sent?.body.toString() ?? '')).not.toHaveProperty('user')
    } finally {
      await played.close()
    }
  })

  test.each(['openai', 'anthropic', 'openai-compatible'] as const)(
    'is asked in the words of %s, which counts it',
    async (vendor) => {
      const played = await startSimulator({ vendor })
      try {
        const base = upstreamSettings({ name: vendor, baseUrl: played.baseUrl })
        const { rows } = played.catalog
        const opened = open(vendorSettings(base, { vendor, rows }))
        const { exitCode, notes } = await opened.run('upstream', 'check', vendor, '--spend')
        expect(notes).toMatch(/counted \d+ tokens of input and 1 of output/)
        expect(exitCode).toBe(0)
      } finally {
        await played.close()
      }
    },
  )
})
