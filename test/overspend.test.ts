import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { getRequest, listRequests } from '../src/ledger/activity/activity.ts'
import { listApiKeys, updateApiKey } from '../src/ledger/api-keys.ts'
import { TEST_DATABASES, type TestDatabase } from '../src/store/testing/test-databases.ts'
import { micros } from '../src/vocabulary/money.ts'
import { startWorld, type World } from './world.ts'

const REQUESTS = 1_000
/** Each sends as many requests as it may have in flight. */
const KEYS = 125
const FITTING = 333
const CREDIT_REFUSALS = REQUESTS - FITTING
const IN_FLIGHT = 8
const KEY_FITTING = 3
const BODY = JSON.stringify({
  model: 'sim/text',
  max_tokens: 64,
  messages: [{ role: 'user', content: 'Say hello.' }],
})

/** A SQLite store has one gateway; a PostgreSQL database any number. Each has one thread or several. */
const CASES = TEST_DATABASES.flatMap((database) =>
  [1, 2].map((workers) => ({
    ...database,
    workers,
    gateways: database.engine === 'SQLite' ? 1 : 2,
  })),
)

function send(world: World, apiKey: string): Promise<Response> {
  return fetch(world.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: BODY,
  })
}

/** What each of these requests holds. */
async function holdMicrosOf(world: World): Promise<number> {
  const probe = await world.account()
  const probed = await send(world, probe.apiKey)
  await probed.text()
  const requestId = probed.headers.get('x-request-id') ?? ''
  const row = await getRequest(world.gateway.store.db, requestId)
  const holdMicros = row?.backedGrantedMicros ?? 0
  expect(holdMicros).toBeGreaterThan(0)
  return holdMicros
}

/** Resolves once so many were answered, which those that are held at the provider can't be. */
async function answered(answers: readonly Promise<Response>[], count: number): Promise<void> {
  const enough = Promise.withResolvers<void>()
  let seen = 0
  for (const answer of answers) {
    void answer.then(() => {
      if (++seen === count) enough.resolve()
    })
  }
  await enough.promise
}

for (const { engine, create, workers, gateways } of CASES) {
  describe(`on ${engine}, in ${gateways} gateways of ${workers} threads`, () => {
    let database: TestDatabase
    let worlds: World[]

    beforeEach(async () => {
      database = await create()
      worlds = []
      for (let started = 0; started < gateways; started++) {
        const settings = { DATABASE_URL: database.url, WORKERS: String(workers) }
        worlds.push(await startWorld({ settings }))
      }
    })

    afterEach(async () => {
      for (const world of worlds) await world.close()
      await database.remove()
    })

    test(`of ${REQUESTS} requests at once on credit for exactly ${FITTING}, so many run, all others get 402, and the balance is exact`, async () => {
      const [first] = worlds
      if (first === undefined) throw new Error(`no gateways for ${engine}`)
      const creditMicros = (await holdMicrosOf(first)) * FITTING
      const account = await first.account({ creditMicros, apiKeys: KEYS })
      for (const { simulator } of worlds) {
        simulator.script({ hold: 'beforeHeaders', times: 'always' })
      }

      const answers = worlds.flatMap((world) =>
        Array.from({ length: REQUESTS / gateways }, (_, place) =>
          send(world, account.apiKeys[place % KEYS] ?? ''),
        ),
      )
      await answered(answers, CREDIT_REFUSALS)
      for (const { simulator } of worlds) simulator.gate().release()

      let chargedMicros = 0
      const verdicts = new Map<string, number>()
      for (const answer of await Promise.all(answers)) {
        const { error }: { error?: { code?: string } } = JSON.parse(await answer.text())
        const verdict = `${answer.status} ${error?.code ?? 'answered'}`
        verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1)
        if (answer.status === 200) chargedMicros += Number(answer.headers.get('x-service-cost'))
      }
      expect(Object.fromEntries(verdicts)).toEqual({
        '200 answered': FITTING,
        '402 insufficient_credit': CREDIT_REFUSALS,
      })
      const forwarded = worlds.map(({ simulator }) => simulator.gate().arrivals)
      expect(forwarded.reduce((sum, count) => sum + count, 0)).toBe(FITTING)
      expect(chargedMicros).toBeGreaterThan(0)
      expect(await first.backedBalanceMicros(account.id)).toBe(creditMicros - chargedMicros)
      expect(await first.audit()).toMatchObject({ ok: true, differences: [] })
      const { requests } = await listRequests(first.gateway.store.db, { limit: REQUESTS })
      const ranIn = new Set(requests.map(({ instanceId }) => instanceId))
      expect(ranIn.size).toBe(gateways * workers)
    })

    test('of 8 requests at once on a key with a limit for exactly 3, those run and all others get 402', async () => {
      const [first] = worlds
      if (first === undefined) throw new Error(`no gateways for ${engine}`)
      const limitMicros = (await holdMicrosOf(first)) * KEY_FITTING
      const { id: accountId, apiKey } = await first.account()
      const { db } = first.gateway.store
      const { apiKeys } = await listApiKeys(db, { accountId, limit: 1 })
      const id = apiKeys[0]?.id ?? ''
      await updateApiKey(db, { id, creditLimitMicros: micros(limitMicros) })
      for (const { simulator } of worlds) {
        simulator.script({ hold: 'beforeHeaders', times: 'always' })
      }

      const answers = worlds.flatMap((world) =>
        Array.from({ length: IN_FLIGHT / gateways }, () => send(world, apiKey)),
      )
      await answered(answers, IN_FLIGHT - KEY_FITTING)
      for (const { simulator } of worlds) simulator.gate().release()
      const statuses = (await Promise.all(answers)).map(({ status }) => status)
      expect(statuses.toSorted()).toEqual([200, 200, 200, 402, 402, 402, 402, 402])
      const forwarded = worlds.map(({ simulator }) => simulator.gate().arrivals)
      expect(forwarded.reduce((sum, count) => sum + count, 0)).toBe(KEY_FITTING)
      for (const { gateway } of worlds) await gateway.settled()
      expect(await first.audit()).toMatchObject({ ok: true, differences: [] })
    })
  })
}
