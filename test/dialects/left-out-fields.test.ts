import OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { parseObject } from '../../simulator/json-value.ts'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import type { OwnField } from '../../src/upstreams/upstream-settings.ts'
import { startWorld, type World } from '../world.ts'

/* Servers that refuse the fields that the gateway adds. */

let world: World
afterEach(() => world.close())

async function start(leavesOut: readonly OwnField[]): Promise<OpenAI> {
  world = await startWorld({
    vendor: 'openai-compatible',
    configured: (usual) => ({ ...usual, upstreams: [{ ...usual.upstreams[0], leavesOut }] }),
  })
  const { apiKey } = await world.account()
  return new OpenAI({ apiKey, baseURL: world.url('/v1'), maxRetries: 0 })
}

/** Which of the two the server got, of each inference request. */
function received(): readonly (readonly string[])[] {
  return world.simulator.requests
    .filter(({ isInference }) => isInference)
    .map(({ body }) => parseObject(String(body)) ?? {})
    .map((body) => ['user', 'stream_options'].filter((name) => name in body))
}

const ASKED = { model: 'sim/text', messages: [{ role: 'user' as const, content: 'Hi' }] }
const OF_CLIENT = { user: 'ada', stream_options: { include_usage: true } }

describe('`leave_out`', () => {
  test.each<readonly [readonly OwnField[], readonly string[]]>([
    [[], ['user', 'stream_options']],
    [['user'], ['stream_options']],
    [['stream_options'], ['user']],
    [['user', 'stream_options'], []],
  ])('of %j sends the server %j, also where the client sets both', async (leavesOut, sent) => {
    const openai = await start(leavesOut)
    for (const own of [{}, OF_CLIENT]) {
      const stream = await openai.chat.completions.create({ ...ASKED, ...own, stream: true })
      let text = ''
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
      expect(text).toContain('Hi')
    }
    expect(received()).toEqual([sent, sent])
    await world.gateway.settled()
    const { requests } = await listRequests(world.gateway.store.db, { limit: 10 })
    expect(requests.every(({ backedChargeMicros }) => backedChargeMicros > 0)).toBe(true)
    expect((await world.audit()).ok).toBe(true)
  })

  test('of `user` leaves it out of embeddings', async () => {
    const openai = await start(['user'])
    await openai.embeddings.create({ model: 'sim/embed', input: 'Hi', user: 'ada' })
    expect(received()).toEqual([[]])
  })
})
