import { beforeAll, expect, test } from 'vitest'
import { collectGarbage } from '../src/store/sqlite/store-thread.ts'
import { type TestAccount, worldOfFile } from './world.ts'

const KEYS = 5
const IN_FLIGHT = 8

let account: TestAccount

const world = worldOfFile()
beforeAll(async () => {
  account = await world.account({ apiKeys: KEYS })
})

/** Sends as many requests as may be in flight; each resolves with its whole answer. */
function sendMany(body: object): Promise<string>[] {
  return account.apiKeys.flatMap((apiKey) =>
    Array.from({ length: IN_FLIGHT }, async () => {
      const answer = await world.send(apiKey, {
        ...body,
        messages: [{ role: 'user', content: 'Say hello.' }],
      })
      return answer.text()
    }),
  )
}

/** Collects all unreferenced objects, and lets their finalizers run. */
async function collectAll(): Promise<void> {
  const dropped = new WeakRef({})
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
  }
  await new Promise((resolve) => setImmediate(resolve))
  expect(dropped.deref()).toBeUndefined()
}

test.each([
  ['streams', { model: 'sim/text', stream: true }, { hold: { afterEvents: 2 } }],
  ['whole answers', { model: 'sim/text' }, { hold: { afterBytes: 20 } }],
] as const)(
  'no garbage collection ends a request that waits for the provider: %s',
  async (_what, body, fault) => {
    const [like = ''] = await Promise.all(sendMany(body))
    world.simulator.script({ ...fault, times: 'always' })
    const answers = sendMany(body)
    await world.simulator.gate().arrived(KEYS * IN_FLIGHT)
    await collectAll()
    world.simulator.gate().release()
    const plain = (text: string) => text.replace(/"id":"[^"]*"|"created":\d+/g, '')
    for (const answer of await Promise.all(answers)) expect(plain(answer)).toBe(plain(like))
    world.simulator.reset()
  },
)
