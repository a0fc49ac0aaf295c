import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { generateText } from 'ai'
import OpenAI from 'openai'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { FORMATS } from '../../src/formats/formats.ts'
import { clientOf, keyLine, CLIENTS as SETTINGS } from '../../web/parts/client-lines.ts'
import { worldOfFile } from '../world.ts'
import { ADDRESS, type PageRow, pageBlocks, pageRows } from './page.ts'

/** docs/clients.md, run as it reads; only the address is this test's own. */

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..')

let apiKey: string

const world = worldOfFile()
beforeAll(async () => {
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
  const account = await world.account()
  apiKey = account.apiKey
})
afterEach(() => vi.unstubAllEnvs())

/** Each client as it comes, with nothing but what its row tells it. */
const CLIENTS: Readonly<Record<string, (row: PageRow) => Promise<unknown>>> = {
  openai: () => new OpenAI().responses.create({ model: 'sim/text', input: 'Hi' }),
  '@anthropic-ai/sdk': () =>
    new Anthropic().messages.create({
      model: 'sim/text',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hi' }],
    }),
  '@ai-sdk/openai': () => generateText({ model: createOpenAI()('sim/text'), prompt: 'Hi' }),
  '@ai-sdk/anthropic': () => generateText({ model: createAnthropic()('sim/text'), prompt: 'Hi' }),
  '@ai-sdk/openai-compatible': ({ address }) =>
    generateText({
      model: createOpenAICompatible({ name: 'tollgate', baseURL: address, apiKey })('sim/text'),
      prompt: 'Hi',
    }),
}

/** The inference calls that the provider got; look-ups come at any time. */
function inferences(): number {
  return world.simulator.requests.filter(({ isInference }) => isInference).length
}

test('the table has a row for each client that is tested, and for no other', () => {
  expect(pageRows('').map(({ client }) => client)).toEqual(Object.keys(CLIENTS))
})

test.each(Object.keys(CLIENTS))('%s answers at its address, set by its variables', async (name) => {
  const row = pageRows(world.url('')).find(({ client }) => client === name)
  if (row === undefined) throw new Error(`no row for ${name}`)
  for (const variable of row.variables) {
    vi.stubEnv(variable, variable.endsWith('_URL') ? row.address : apiKey)
  }
  const before = inferences()
  await CLIENTS[name]?.(row)
  expect(inferences()).toBe(before + 1)
})

function modelOf(format: string): string {
  return format === 'images' ? 'sim/image' : 'sim/text'
}

const SIMULATED = { baseUrl: ADDRESS, smallModel: 'sim/open', contextTokens: 128_000 }

test('each block is the lines of a client as the page shows them under Connect, in its order', () => {
  const shown = SETTINGS.map(({ language, speaks, lines }) => ({
    language,
    text: lines({ ...SIMULATED, model: modelOf(speaks) }),
  }))
  const key = { language: 'sh', text: keyLine('paste-your-key-here') }
  expect(pageBlocks()).toEqual([key, ...shown])
})

// Python's packages are not installed here; agents have separate tests.
const RUN = SETTINGS.filter(
  ({ language, group }) => language !== 'python' && group !== 'Agents',
).map(({ id }) => id)

test.each(RUN)('the lines of %s run as they are printed', async (id) => {
  const { language, speaks, lines } = clientOf(id)
  const text = lines({ baseUrl: world.url('').replace(/\/$/, ''), model: modelOf(speaks) })
  const before = inferences()
  const [program, args] =
    language === 'js'
      ? [process.execPath, ['--input-type=module', '--eval', text]]
      : ['sh', ['-c', text]]
  const { stdout } = await run(program, args, {
    cwd: ROOT,
    env: { ...process.env, TOLLGATE_API_KEY: apiKey },
  })
  expect(stdout).toContain(speaks === 'images' ? 'image/png' : 'Say hello.')
  // The page shows its lines for models that are listed under this format.
  const sent = world.simulator.requests.filter(({ isInference }) => isInference).at(-1)
  expect(FORMATS.find(({ endpoint }) => endpoint === speaks)?.path).toBe(`/v1${sent?.path}`)
  expect(inferences()).toBe(before + 1)
})

test.each(['/v1/v1/chat/completions', '/chat/completions', '/messages', '/v1/v1/messages'])(
  '%s, with a doubled or missing /v1, is a 404',
  async (path) => {
    const headers = { 'x-api-key': apiKey }
    const response = await fetch(world.url(path), { method: 'POST', headers, body: '{}' })
    expect(response.status).toBe(404)
  },
)

test('the AI SDK asks messages for 4,096 tokens of a model that it does not know', async () => {
  vi.stubEnv('ANTHROPIC_BASE_URL', world.url('/v1'))
  vi.stubEnv('ANTHROPIC_API_KEY', apiKey)
  await generateText({ model: createAnthropic()('sim/text'), prompt: 'How many?' })
  const asked = await world.simulator.waitFor(({ body }) => body.includes('How many?'))
  expect(JSON.parse(String(asked.body))).toMatchObject({ max_tokens: 4096 })
})
