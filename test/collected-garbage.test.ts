import { beforeAll, expect, test } from 'vitest'
import { collectGarbage } from '../src/store/sqlite/store-thread.ts'
import { type TestAccount, worldOfFile } from './world.ts'

const KEYS = 5
/** Half of what a key may have in flight. */
const EACH_KIND = 4

let account: TestAccount

const world = worldOfFile()
beforeAll(async () => {
  account = await world.account({ apiKeys: KEYS })
})

/** Sends many requests at once; each resolves with its whole answer. */
function sendMany(body: object): Promise<string>[] {
  return account.apiKeys.flatMap((apiKey) =>
    Array.from({ length: EACH_KIND }, async () => {
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

const STREAM = { model: 'sim/text', stream: true }
const WHOLE = { model: 'sim/open' }

test('no garbage collection ends a request that waits for the provider, a stream or not', async () => {
  const like = await Promise.all([STREAM, WHOLE].flatMap((body) => sendMany(body)))
  world.simulator.script([
    { model: STREAM.model, hold: { afterEvents: 2 }, times: 'always' },
    { model: WHOLE.model, hold: { afterBytes: 20 }, times: 'always' },
  ])
  const answers = [STREAM, WHOLE].flatMap((body) => sendMany(body))
  await world.simulator.gate().arrived(2 * KEYS * EACH_KIND)
  await collectAll()
  world.simulator.gate().release()
  const plain = (text: string) => text.replace(/"id":"[^"]*"|"created":\d+/g, '')
  expect((await Promise.all(answers)).map(plain)).toEqual(like.map(plain))
})
