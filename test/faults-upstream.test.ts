import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Fault } from '../simulator/faults.ts'
import { listRequests } from '../src/ledger/activity/activity.ts'
import { getBalance } from '../src/ledger/activity/balance.ts'
import type { RequestRow } from '../src/store/schema.ts'
import { MADE_DATABASES, type TestDatabase } from '../src/store/testing/test-databases.ts'
import { HOUR_MS, MINUTE_MS } from '../src/vocabulary/clock.ts'
import { startWorld, type TestAccount, type World } from './world.ts'

const CREDIT_MICROS = 50_000_000
const KEYS = 20
const MODELS = 400

/** The expected end of a request of the load, independent of the gateway: its answer and its charge. */
interface Ending {
  readonly stream: boolean
  readonly fault: (cost: Cost) => Fault
  readonly httpStatus: number
  readonly state: RequestRow['state']
  readonly paid: keyof Cost | 'nothing'
}

/** In micro-dollars: what the answer says of its cost, and what the provider has on record. */
interface Cost {
  readonly reported: number
  readonly recorded: number
}

const usd = (costMicros: number) => costMicros / 1_000_000
const costs = ({ reported, recorded }: Cost) => ({
  costUsd: usd(reported),
  lookupCostUsd: usd(recorded),
})

const ENDINGS: Readonly<Record<string, Ending>> = {
  answered: { stream: false, fault: costs, httpStatus: 200, state: 'final', paid: 'recorded' },
  streamed: { stream: true, fault: costs, httpStatus: 200, state: 'final', paid: 'recorded' },
  answeredWithoutId: {
    stream: false,
    fault: (cost) => ({ ...costs(cost), omit: ['id', 'generationHeader'] }),
    httpStatus: 200,
    state: 'final',
    paid: 'reported',
  },
  failed: {
    stream: false,
    fault: () => ({ status: 500 }),
    httpStatus: 502,
    state: 'released',
    paid: 'nothing',
  },
  failedAtACost: {
    stream: false,
    fault: ({ reported }) => ({
      status: 500,
      errorCostUsd: usd(reported),
      omit: ['generationHeader'],
    }),
    httpStatus: 502,
    state: 'final',
    paid: 'reported',
  },
  overloaded: {
    stream: true,
    fault: () => ({ status: 429 }),
    httpStatus: 429,
    state: 'released',
    paid: 'nothing',
  },
  lost: {
    stream: false,
    fault: () => ({ cut: { at: 'beforeHeaders', how: 'reset' } }),
    httpStatus: 502,
    state: 'unresolved',
    paid: 'nothing',
  },
  lostHalfWay: {
    stream: false,
    fault: (cost) => ({ ...costs(cost), cut: { at: { afterBytes: 10 }, how: 'reset' } }),
    httpStatus: 502,
    state: 'final',
    paid: 'recorded',
  },
  streamLost: {
    stream: true,
    fault: () => ({ cut: { at: 'beforeHeaders', how: 'close' } }),
    httpStatus: 502,
    state: 'released',
    paid: 'nothing',
  },
  streamLostHalfWay: {
    stream: true,
    fault: () => ({ cut: { at: { afterEvents: 2 }, how: 'reset' } }),
    httpStatus: 200,
    state: 'released',
    paid: 'nothing',
  },
}

/** Waits at the provider until that drops every connection. */
const DROPPED_WHOLE: Ending = {
  stream: false,
  fault: () => ({ hold: 'beforeHeaders' }),
  httpStatus: 502,
  state: 'unresolved',
  paid: 'nothing',
}

const DROPPED_STREAM: Ending = {
  stream: true,
  fault: () => ({ hold: 'beforeHeaders' }),
  httpStatus: 502,
  state: 'released',
  paid: 'nothing',
}

/** Sent while the provider refuses connections. */
const REFUSED: Ending = {
  stream: false,
  fault: () => ({}),
  httpStatus: 502,
  state: 'released',
  paid: 'nothing',
}

interface Round {
  readonly endings: readonly Ending[]
  readonly costs: Cost
  /** The step of the gateways' clock before it. */
  readonly clockStepMs: number
  /** Whether the provider goes away after it, with requests in flight, and comes back. */
  readonly flaps: boolean
}

interface Expected {
  readonly requestId: string
  readonly httpStatus: number
  readonly state: string
  readonly chargedMicros: number
}

/** Gateways on one store, each in front of its own provider, which follows a script for each request. */
class Load {
  readonly #worlds: readonly World[]
  readonly #account: TestAccount
  readonly #expected: Expected[] = []
  readonly #answered: Expected[] = []
  #sent = 0

  constructor(worlds: readonly World[], account: TestAccount) {
    this.#worlds = worlds
    this.#account = account
  }

  async run(round: Round): Promise<void> {
    await Promise.all(round.endings.map((ending) => this.#send(ending, round.costs)))
    if (!round.flaps) return
    for (const { simulator } of this.#worlds) simulator.gate().close()
    const dropped = this.#worlds.flatMap(() => [
      this.#send(DROPPED_WHOLE, round.costs),
      this.#send(DROPPED_STREAM, round.costs),
    ])
    await Promise.all(this.#worlds.map(({ simulator }) => simulator.gate().arrived(2)))
    await Promise.all(this.#worlds.map(({ simulator }) => simulator.refuseConnections()))
    await Promise.all(dropped)
    await Promise.all(this.#worlds.map(() => this.#send(REFUSED, round.costs)))
    await Promise.all(this.#worlds.map(({ simulator }) => simulator.acceptConnections()))
  }

  /** The answer, state and charge of every request, next to the expected ones. */
  async compare(): Promise<void> {
    const [world] = this.#worlds
    if (world === undefined) throw new Error('no gateways')
    for (const { gateway } of this.#worlds) await gateway.settled()
    const { db } = world.gateway.store
    const rows = async () => (await listRequests(db, { limit: 10_000 })).requests
    // Until nothing is left that the provider could still be asked about.
    await expect.poll(async () => (await rows()).filter(isOpenQuestion)).toEqual([])
    const settled = new Map((await rows()).map((row) => [row.id, row]))
    const actual = this.#answered.map((answered) => ({
      ...answered,
      state: settled.get(answered.requestId)?.state,
      chargedMicros: settled.get(answered.requestId)?.backedChargeMicros,
    }))
    expect(actual).toEqual(this.#expected)
    expect(settled.size).toBe(this.#expected.length)

    const chargedMicros = this.#expected.reduce((sum, each) => sum + each.chargedMicros, 0)
    const reserved = [...settled.values()].filter(({ state }) => state === 'unresolved')
    const heldMicros = reserved.reduce((sum, row) => sum + row.backedGrantedMicros, 0)
    const balance = await getBalance(db, { accountId: this.#account.id, nowMs: Date.now() })
    expect(balance?.backed).toMatchObject({
      balanceMicros: CREDIT_MICROS - chargedMicros,
      heldMicros,
    })
    expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
  }

  async #send(ending: Ending, cost: Cost): Promise<void> {
    const place = this.#sent++
    const world = this.#worlds[place % this.#worlds.length]
    if (world === undefined) throw new Error('no gateways')
    const model = modelOf(place)
    world.simulator.script({ ...ending.fault(cost), model })
    const apiKey = this.#account.apiKeys[place % KEYS] ?? ''
    const answer = await world.chat(apiKey, { model, stream: ending.stream, max_tokens: 500 })
    // A stream that broke off ends, as the client sees it, like any other.
    await answer.text()
    const requestId = answer.headers.get('x-request-id') ?? ''
    const { httpStatus, state } = ending
    const costMicros = ending.paid === 'nothing' ? 0 : cost[ending.paid]
    // 5% more, rounded half up.
    const chargedMicros = Math.floor((costMicros * 105 + 50) / 100)
    this.#expected.push({ requestId, httpStatus, state, chargedMicros })
    this.#answered.push({ requestId, httpStatus: answer.status, state: '', chargedMicros: 0 })
  }
}

function isOpenQuestion({ state, generationId }: RequestRow): boolean {
  return (
    state === 'open' || state === 'provisional' || (state === 'unresolved' && generationId !== null)
  )
}

/** Each request has its own model, so that a fault hits only that request. */
function modelOf(place: number): string {
  return `sim/text-${place}`
}

async function sellModels({ simulator, gateway }: World): Promise<void> {
  const row = simulator.catalog.find('sim/text')
  if (row === null) throw new Error('no sim/text')
  const rows = Array.from({ length: MODELS }, (_, place) => {
    const id = modelOf(place)
    return { ...row, id, canonical_slug: id }
  })
  simulator.catalog.replace(rows)
  await gateway.refresher.refreshNow()
}

function roundOf(clockStepsMs: readonly number[]): fc.Arbitrary<Round> {
  const costMicros = fc.integer({ min: 1, max: 2_000 })
  return fc.record({
    endings: fc.array(fc.constantFrom(...Object.values(ENDINGS)), {
      minLength: 1,
      maxLength: 20,
      size: 'max',
    }),
    costs: fc.record({ reported: costMicros, recorded: costMicros }),
    clockStepMs: fc.constantFrom(...clockStepsMs),
    flaps: fc.boolean(),
  })
}

interface Setting {
  readonly gateways: number
  /** One more day counts as passed time for a SQLite store, which has no clock. */
  readonly clockStepsMs: readonly number[]
}

// No step back by a minute or less: look-ups would wait for it.
const STEPS_MS = [0, -2 * HOUR_MS, -20 * MINUTE_MS, MINUTE_MS / 2, 10 * MINUTE_MS]

const SETTINGS: Readonly<Record<string, Setting>> = {
  SQLite: { gateways: 1, clockStepsMs: STEPS_MS },
  PostgreSQL: { gateways: 2, clockStepsMs: [...STEPS_MS, 25 * HOUR_MS, -25 * HOUR_MS] },
}

// A wait for a look-up is as long as the request is old, which steps make five minutes: then these are over.
const LAST_ROUND: Round = {
  endings: Object.values(ENDINGS).filter(({ paid }) => paid === 'recorded'),
  costs: { reported: 1, recorded: 2 },
  clockStepMs: 10 * MINUTE_MS,
  flaps: false,
}

async function play(rounds: readonly Round[], setting: Setting, database: TestDatabase) {
  let steppedMs = 0
  const clock = { nowMs: () => Date.now() + steppedMs }
  const worlds: World[] = []
  for (let started = 0; started < setting.gateways; started++) {
    const settings = { DATABASE_URL: database.url, TOLLGATE_LOOKUPS: 'all' }
    const world = await startWorld({ settings, clock })
    worlds.push(world)
    await sellModels(world)
  }
  const [first] = worlds
  if (first === undefined) throw new Error('no gateways')
  try {
    const account = await first.account({ creditMicros: CREDIT_MICROS, apiKeys: KEYS })
    const load = new Load(worlds, account)
    for (const round of [...rounds, LAST_ROUND]) {
      steppedMs += round.clockStepMs
      // A gateway refreshes prices within minutes: they are no older than an hour.
      for (const { gateway } of worlds) await gateway.refresher.refreshNow()
      await load.run(round)
    }
    await load.compare()
  } finally {
    for (const world of worlds) await world.close()
  }
}

for (const { engine, create } of MADE_DATABASES) {
  const setting = SETTINGS[engine]
  if (setting === undefined) throw new Error(`no setting for ${engine}`)

  describe(engine, () => {
    test('while the provider flaps and the clock steps, every request ends in the state and with the charge that the model predicts', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(roundOf(setting.clockStepsMs), { minLength: 8, maxLength: 14, size: 'max' }),
          async (rounds) => {
            const database = await create()
            try {
              await play(rounds, setting, database)
            } finally {
              await database.remove()
            }
          },
        ),
        { numRuns: 1, endOnFailure: true },
      )
    })
  })
}
