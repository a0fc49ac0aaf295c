import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Simulator, startSimulator } from '../../simulator/simulator.ts'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import { upstreamSettings } from '../../src/upstreams/testing/upstream-settings.ts'
import { startWorld, type World } from '../world.ts'
import { vendorSettings } from './vendor-settings.ts'

/* One id at two addresses of a vendor: Anthropic's own API, and one of OpenAI's layout for chats. */

let chats: Simulator
let world: World
let apiKey: string

beforeEach(async () => {
  chats = await startSimulator({ vendor: 'openai-compatible' })
  const { rows } = chats.catalog
  const second = {
    ...vendorSettings(upstreamSettings({ baseUrl: chats.baseUrl }), {
      vendor: 'openai-compatible',
      rows,
    }),
    name: 'chats',
    formats: ['chat'],
  }
  world = await startWorld({
    vendor: 'anthropic',
    configured: (usual) => ({ ...usual, upstreams: [...usual.upstreams, second] }),
  })
  apiKey = (await world.account()).apiKey
})
afterEach(async () => {
  await world.close()
  await chats.close()
})

const ASKED = { model: 'sim/text', max_tokens: 50 }
const messages = [{ role: 'user' as const, content: 'Say hello.' }]

describe('one id at two upstreams', () => {
  test('is listed once, with the formats of both', async () => {
    const { data } = await new OpenAI({ apiKey, baseURL: world.url('/v1') }).models.list()
    const [row, ...more] = data.filter(({ id }) => id === 'sim/text')
    expect([row, more]).toMatchObject([{ endpoints: ['messages', 'chat'] }, []])
    const one = await fetch(world.url('/v1/models/sim/text'))
    expect(await one.json()).toEqual(row)
  })

  test('goes to each address in its own format, is charged there, and its record names that upstream', async () => {
    const openai = new OpenAI({ apiKey, baseURL: world.url('/v1'), maxRetries: 0 })
    const anthropic = new Anthropic({ apiKey, baseURL: world.url(''), maxRetries: 0 })
    const chat = await openai.chat.completions.create({ ...ASKED, messages })
    const message = await anthropic.messages.create({ ...ASKED, messages })
    expect(chat.choices[0]?.message.content).toContain('Say hello.')
    expect(message.content[0]).toMatchObject({ type: 'text' })
    await world.gateway.settled()
    const { requests } = await listRequests(world.gateway.store.db, { limit: 10 })
    expect(
      requests.map(({ modelId, endpoint, upstream, state }) => [
        modelId,
        endpoint,
        upstream,
        state,
      ]),
    ).toEqual([
      ['sim/text', 'messages', 'anthropic', 'final'],
      ['sim/text', 'chat', 'chats', 'final'],
    ])
    const ran = ({ requests: all }: Simulator) => all.filter(({ isInference }) => isInference)
    expect([ran(world.simulator).length, ran(chats).length]).toEqual([1, 1])
    expect((await world.audit()).ok).toBe(true)
  })

  test('is refused in a format that neither answers, with the paths of the formats that work', async () => {
    const openai = new OpenAI({ apiKey, baseURL: world.url('/v1'), maxRetries: 0 })
    await expect(openai.responses.create({ model: 'sim/text', input: 'x' })).rejects.toMatchObject({
      status: 400,
      code: 'unsupported_model',
      message:
        '400 Model "sim/text" can\'t be called at POST /v1/responses. Use POST /v1/chat/completions or POST /v1/messages. `endpoints` in GET /v1/models has the formats of each model.',
    })
  })

  test('continues in the format of one while the other is unavailable', async () => {
    await chats.refuseConnections()
    const openai = new OpenAI({ apiKey, baseURL: world.url('/v1'), maxRetries: 0 })
    const anthropic = new Anthropic({ apiKey, baseURL: world.url(''), maxRetries: 0 })
    const away = openai.chat.completions.create({ ...ASKED, messages })
    await expect(away).rejects.toMatchObject({ status: 502, code: 'upstream_error' })
    expect((await anthropic.messages.create({ ...ASKED, messages })).stop_reason).toBe('end_turn')
  })
})
