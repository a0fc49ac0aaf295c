import { request } from 'undici'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listRequests } from '../src/ledger/activity/activity.ts'
import { listApiKeys } from '../src/ledger/api-keys.ts'
import type { RequestRow } from '../src/store/schema.ts'
import { MADE_DATABASES } from '../src/store/testing/test-databases.ts'
import { micros } from '../src/vocabulary/money.ts'
import { bundled } from './bundled.ts'
import { chatAt, serve } from './tollgate-process.ts'
import { startWorld, type World } from './world.ts'

const REQUESTS = 400
/** Each sends as many requests as it may have in flight. */
const KEYS = 50
const FITTING = 133
const CREDIT_REFUSALS = REQUESTS - FITTING
const IN_FLIGHT = 8
const KEY_FITTING = 3
const ASKED = {
  model: 'sim/text',
  max_tokens: 64,
  messages: [{ role: 'user', content: 'Say hello.' }],
}

/** Gateways that share a store: in this process, or in separate processes on one port. */
interface Fleet {
  /** The first is for the test to look at the store. */
  readonly worlds: readonly [World, ...World[]]
  /** The addresses that requests are sent to. */
  readonly addresses: readonly string[]
  /** How many gateways there are behind them. */
  readonly processes: number
}

type StartFleet = (url: string, closing: AsyncDisposableStack) => Promise<Fleet>

async function startGateways(count: number, ...[url, closing]: Parameters<StartFleet>) {
  const start = async (): Promise<World> => {
    const world = await startWorld({ settings: { DATABASE_URL: url } })
    closing.defer(() => world.close())
    return world
  }
  const worlds: [World, ...World[]] = [await start()]
  while (worlds.length < count) worlds.push(await start())
  return { worlds, addresses: worlds.map(({ gateway }) => gateway.address), processes: count }
}

/** Two processes on one port, and an idle gateway whose simulator is the provider. */
async function startOnOnePort(...[url, closing]: Parameters<StartFleet>): Promise<Fleet> {
  const { worlds } = await startGateways(1, url, closing)
  const [{ folder, simulator }] = worlds
  const env = {
    DATABASE_URL: url,
    TOLLGATE_REUSE_PORT: 'on',
    UPSTREAM_BASE_URL: simulator.baseUrl,
    UPSTREAM_API_KEY: 'upstream-key',
  }
  const start = async (PORT: string): Promise<string> => {
    const server = await serve({
      folder,
      env: { ...env, PORT },
      page: 'off',
      program: bundled('tollgate'),
    })
    closing.defer(async () => {
      await server.stop('SIGTERM')
    })
    return server.address
  }
  const address = await start('0')
  await start(new URL(address).port)
  return { worlds, addresses: [address], processes: 2 }
}

/** A SQLite store has one gateway; a PostgreSQL database any number, each on its own port or several on one. */
const CASES = MADE_DATABASES.flatMap(({ engine, create }) => {
  const inGateways =
    (count: number): StartFleet =>
    (url, closing) =>
      startGateways(count, url, closing)
  return engine === 'SQLite'
    ? [{ engine, create, fleetName: 'one gateway', start: inGateways(1) }]
    : [
        { engine, create, fleetName: 'two gateways', start: inGateways(2) },
        { engine, create, fleetName: 'two processes on one port', start: startOnOnePort },
      ]
})

/** How often the requests of one test may still be sent again. */
interface Again {
  left: number
}

/**
 * On a busy machine a gateway may have an account's row for longer than another waits for it: 503, and sent again. A
 * gateway that answers it more often than a busy machine explains fails the test by that answer.
 */
async function send(
  address: string,
  { apiKey, again }: { readonly apiKey: string; readonly again: Again },
): Promise<Response> {
  for (;;) {
    const answer = await chatAt({ address }, apiKey, ASKED)
    if (answer.status !== 503 || again.left === 0) return answer
    again.left -= 1
    await answer.arrayBuffer()
  }
}

/**
 * Has each process run a request of another account, since the first one that asks for a model waits for
 * its prices, and answers what each request holds.
 */
async function warm({ worlds: [world], addresses, processes }: Fleet): Promise<number> {
  const { apiKey } = await world.account()
  for (;;) {
    for (const address of addresses) {
      // On a new connection: the system gives each to any of the processes.
      const { statusCode, body } = await request(`${address}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}` },
        body: JSON.stringify(ASKED),
        reset: true,
      })
      expect(statusCode, await body.text()).toBe(200)
    }
    const { requests } = await listRequests(world.gateway.store.db, { limit: REQUESTS })
    const [{ backedGrantedMicros = 0 } = {}] = requests
    expect(backedGrantedMicros).toBeGreaterThan(0)
    if (instancesOf(requests).size === processes) return backedGrantedMicros
  }
}

function instancesOf(requests: readonly RequestRow[]): Set<string> {
  return new Set(requests.map(({ instanceId }) => instanceId))
}

/** Resolves once this many were answered; requests held at the provider can't be. */
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

for (const { engine, create, fleetName, start } of CASES) {
  describe(`on ${engine}, in ${fleetName}`, () => {
    let closing: AsyncDisposableStack
    let fleet: Fleet

    beforeEach(async () => {
      closing = new AsyncDisposableStack()
      const database = await create()
      closing.defer(() => database.remove())
      fleet = await start(database.url, closing)
    })

    afterEach(() => closing.disposeAsync())

    test(`of ${REQUESTS} requests at once on credit for ${FITTING}, exactly ${FITTING} run, the others get 402, and the balance is exact`, async () => {
      const { worlds, addresses } = fleet
      const [first] = worlds
      const creditMicros = (await warm(fleet)) * FITTING
      const account = await first.account({ creditMicros, apiKeys: KEYS })
      for (const { simulator } of worlds) {
        simulator.script({ hold: 'beforeHeaders', times: 'always' })
      }

      const again = { left: REQUESTS / 10 }
      const answers = Array.from({ length: REQUESTS }, (_, place) => {
        const apiKey = account.apiKeys[place % KEYS] ?? ''
        return send(addresses[place % addresses.length] ?? '', { apiKey, again })
      })
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
      const { db } = first.gateway.store
      const { requests } = await listRequests(db, { accountId: account.id, limit: REQUESTS })
      expect(instancesOf(requests).size).toBe(fleet.processes)
    })

    test('of 8 requests at once on a key with a limit for exactly 3, three run and all others get 402', async () => {
      const { worlds, addresses } = fleet
      const [first] = worlds
      const limitMicros = (await warm(fleet)) * KEY_FITTING
      const { id: accountId, apiKey } = await first.account()
      const { db } = first.gateway.store
      const { rows: apiKeys } = await listApiKeys(db, { accountId, limit: 1 })
      const id = apiKeys[0]?.id ?? ''
      await first.gateway.ledger.updateApiKey({ id, creditLimitMicros: micros(limitMicros) })
      for (const { simulator } of worlds) {
        simulator.script({ hold: 'beforeHeaders', times: 'always' })
      }

      const again = { left: IN_FLIGHT }
      const answers = Array.from({ length: IN_FLIGHT }, (_, place) =>
        send(addresses[place % addresses.length] ?? '', { apiKey, again }),
      )
      await answered(answers, IN_FLIGHT - KEY_FITTING)
      for (const { simulator } of worlds) simulator.gate().release()
      const statuses = (await Promise.all(answers)).map(({ status }) => status)
      expect(statuses.toSorted()).toEqual([200, 200, 200, 402, 402, 402, 402, 402])
      const forwarded = worlds.map(({ simulator }) => simulator.gate().arrivals)
      expect(forwarded.reduce((sum, count) => sum + count, 0)).toBe(KEY_FITTING)
      await expect
        .poll(async () => (await listRequests(db, { accountId, state: 'open', limit: 1 })).requests)
        .toEqual([])
      expect(await first.audit()).toMatchObject({ ok: true, differences: [] })
    })
  })
}
