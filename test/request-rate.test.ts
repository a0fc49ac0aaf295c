import { describe, expect, test } from 'vitest'
import { TEST_DATABASES } from '../src/store/testing/test-databases.ts'
import { micros } from '../src/vocabulary/money.ts'
import { worldOfEach } from './world.ts'

// A fifth of the default: the requests must all be sent within a minute, also on a machine with much other work.
const PER_MINUTE_MAX = 60
const PER_MINUTE_MAX_UNBACKED = 20
const AT_ONCE = 8

const ADMITTED = '{"model":"sim/open","max_tokens":16,"messages":[{"role":"user","content":"Hi"}]}'

/** Bodies, and what they are answered while there is room in the minute. */
const KINDS = [
  { body: ADMITTED, httpStatus: 200 },
  { body: ADMITTED.replace('sim/open', 'sim/none'), httpStatus: 404 },
  { body: '{', httpStatus: 400 },
] as const

// Either may be refused one too many: what would have run, and what would have been refused anyway.
const ONE_MORE = [ADMITTED, '{'] as const

for (const { engine, create } of TEST_DATABASES) {
  describe(engine, () => {
    const settings = { TOLLGATE_REQUESTS_PER_MINUTE: String(PER_MINUTE_MAX) }
    const world = worldOfEach({ database: create, settings })

    async function send(apiKey: string, body: string): Promise<Response> {
      const answer = await world.send(apiKey, body)
      await answer.text()
      return answer
    }

    /** Sends kind after kind, as many at once as a key may have in flight, key after key. */
    async function fillMinute(apiKeys: readonly string[], count: number): Promise<void> {
      const kinds = Array.from({ length: count }, (_, place) => KINDS[place % KINDS.length])
      for (let sent = 0; sent < count; sent += AT_ONCE) {
        const apiKey = apiKeys[(sent / AT_ONCE) % apiKeys.length] ?? ''
        const together = kinds.slice(sent, sent + AT_ONCE)
        const answers = await Promise.all(together.map((kind) => send(apiKey, kind?.body ?? '')))
        expect(answers.map(({ status }) => status)).toEqual(
          together.map((kind) => kind?.httpStatus),
        )
      }
    }

    async function expectRefused(apiKey: string): Promise<void> {
      for (const body of ONE_MORE) {
        const answer = await send(apiKey, body)
        expect(answer.status).toBe(429)
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
        expect(answer.headers.get('ratelimit')).toMatch(/"(?:key|account)";r=0;t=[1-9]/)
        expect(answer.headers.get('ratelimit-policy')).toMatch(/"(?:key|account)";q=\d+;w=60/)
      }
    }

    test('the request of a key beyond its limit of a minute is refused, whatever became of those before', async () => {
      const { apiKeys } = await world.account({ apiKeys: 2 })
      const [apiKey = '', other = ''] = apiKeys
      await fillMinute([apiKey], PER_MINUTE_MAX)
      await expectRefused(apiKey)
      expect((await send(other, ADMITTED)).status).toBe(200)
    })

    test('the 21st request on an account that never had paid credit is refused, whatever became of the 20', async () => {
      const { id, apiKeys } = await world.account({ creditMicros: 0, apiKeys: 3 })
      await world.gateway.ledger.addCredit({
        accountId: id,
        purse: 'free',
        amountMicros: micros(1_000_000),
        expiresAtMs: Date.now() + 86_400_000,
        reference: 'free',
      })
      await fillMinute(apiKeys, PER_MINUTE_MAX_UNBACKED)
      for (const apiKey of apiKeys) await expectRefused(apiKey)
    })
  })
}
