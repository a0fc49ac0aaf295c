import { OpenRouter } from '@openrouter/sdk'
import { OpenRouterError } from '@openrouter/sdk/models/errors'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { VendorName } from '../../simulator/vendors.ts'
import { startWorld, type World } from '../world.ts'
import { failureOf } from './failure.ts'

/** OpenRouter's own SDK, whose schemas refuse an answer that lacks a field. */

let world: World
let client: OpenRouter
const NOON_MS = Date.parse('2026-11-25T12:00:00Z')

beforeAll(async () => {
  const startedMs = Date.now()
  // Far from where a day, a week or a month begins.
  world = await startWorld({ clock: { nowMs: () => NOON_MS + Date.now() - startedMs } })
  client = clientWith((await world.account()).apiKey, world)
})
afterAll(() => world.close())

function clientWith(apiKey: string, { url }: World): OpenRouter {
  return new OpenRouter({ apiKey, serverURL: url('/v1') })
}

/** A whole chat. By position: who asks, and for which model. */
function chat(openrouter: OpenRouter, model = 'sim/text') {
  return openrouter.chat.send({
    chatRequest: { model, maxTokens: 50, messages: [{ role: 'user', content: 'Say hello.' }] },
  })
}

describe.each<VendorName | undefined>([undefined, 'openai', 'anthropic', 'openai-compatible'])(
  'on models of %s',
  (vendor) => {
    test('every model is listed, and the key is described', async () => {
      const own = await startWorld(vendor === undefined ? {} : { vendor })
      try {
        const openrouter = clientWith((await own.account()).apiKey, own)
        const { result } = await openrouter.models.list()
        expect(result.data.length).toBeGreaterThan(5)
        expect(result.totalCount).toBe(result.data.length)
        const { data } = await openrouter.apiKeys.getCurrentKeyMetadata()
        expect(data).toMatchObject({ limit: null, usage: 0, isFreeTier: false })
      } finally {
        await own.close()
      }
    })
  },
)

test('a chat is answered, whole and streamed', async () => {
  expect(await chat(client)).toMatchObject({
    choices: [{ message: { content: expect.stringContaining('Say hello.') } }],
  })
  const stream = await client.chat.send({
    chatRequest: {
      model: 'sim/text',
      maxTokens: 50,
      messages: [{ role: 'user', content: 'Say hello.' }],
      stream: true,
    },
  })
  if ('choices' in stream) throw new Error('not a stream')
  let text = ''
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
  expect(text).toContain('Say hello.')
})

test('the key has its limit and its spend, in dollars', async () => {
  const { id, apiKey } = await world.account()
  const asking = clientWith(apiKey, world)
  await chat(asking)
  await world.gateway.settled()
  const spentMicros = 10_000_000 - (await world.backedBalanceMicros(id))
  const { data } = await asking.apiKeys.getCurrentKeyMetadata()
  expect(data.usage).toBeGreaterThan(0)
  expect(data.usage).toBe(spentMicros / 1_000_000)
  expect([data.usageDaily, data.usageWeekly, data.usageMonthly]).toEqual([
    data.usage,
    data.usage,
    data.usage,
  ])
  expect(data.workspaceId).toBe(id)
})

/** The error that the SDK throws: its error schemas require numeric codes, so only the body has the text. */
async function refused(asking: PromiseLike<unknown>): Promise<readonly [number, string]> {
  const { statusCode, body } = await failureOf(OpenRouterError, asking)
  const { error }: { readonly error: { readonly message: string } } = JSON.parse(body)
  return [statusCode, error.message]
}

describe('a refusal is thrown with its status, and with the text of the gateway in its body', () => {
  test('of an unknown key', async () => {
    const asking = chat(clientWith('sk-tollgate-unknown', world))
    expect(await refused(asking)).toEqual([401, expect.stringMatching(/^This is not an API key/)])
  })

  test('of an account without credit', async () => {
    const { apiKey } = await world.account({ creditMicros: 0 })
    const text = expect.stringContaining('This request needs a hold of $')
    expect(await refused(chat(clientWith(apiKey, world)))).toEqual([402, text])
  })

  test('of an unknown model', async () => {
    const text = expect.stringContaining('Model "sim/none" is not in the catalog')
    expect(await refused(chat(client, 'sim/none'))).toEqual([404, text])
  })

  test("of a field of the client's own, which is named", async () => {
    const error = { message: "Unknown parameter: 'top_a'.", type: 'invalid_request_error' }
    world.simulator.script({ status: 400, rawBody: JSON.stringify({ error }) })
    const asking = client.chat.send({
      chatRequest: { model: 'sim/text', topA: 1, messages: [{ role: 'user', content: 'Hi' }] },
    })
    expect(await refused(asking)).toEqual([
      400,
      'Unknown parameter: `top_a`. Leave it out or use another model.',
    ])
  })

  test('of a cap that the gateway set, which the text says', async () => {
    const own = await startWorld({ vendor: 'openai-compatible' })
    try {
      const message = 'max_tokens is too large: 8192. This model supports at most 4096 tokens.'
      own.simulator.script({ status: 400, rawBody: JSON.stringify({ error: { message } }) })
      const asking = clientWith((await own.account()).apiKey, own).chat.send({
        chatRequest: { model: 'sim/text', messages: [{ role: 'user', content: 'Hi' }] },
      })
      const text = expect.stringContaining('The gateway set `max_tokens` to ')
      expect(await refused(asking)).toEqual([400, text])
    } finally {
      await own.close()
    }
  })
})

test('after all of it, the ledger is exact', () => world.expectExactLedger())
