import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { API_KEYS } from '../../src/store/schema.ts'
import { TEST_DATABASES, type TestDatabase } from '../../src/store/testing/test-databases.ts'
import { micros } from '../../src/vocabulary/money.ts'
import type { ServeProcess } from '../tollgate-process.ts'
import { type CrashBench, type KeyLimits, openCrashBench } from './crash-bench.ts'

const KILLS = 3
const KEYS = 4
const LANES_A_KEY = 4
/** The limit of each key: some tens of requests. */
const LIMIT_MICROS = micros(2_000)
/** Some have a cap of their own; the others get one that fits the rest of the limit. */
const BODIES = [{ max_tokens: 16 }, {}, { max_tokens: 64, stream: true }, { stream: true }]
/** After so many refusals in a row a key has nothing left. */
const REFUSED_MAX = 40
/** From then on the gateway gives up what it cannot look up. */
const GIVES_UP = { TOLLGATE_SETTLE_AFTER_MS: '1' }

const MONTHLY: NonNullable<KeyLimits['allowance']> = {
  allowanceMicros: LIMIT_MICROS,
  allowancePeriod: 'month',
  allowanceTimeZone: 'UTC',
}

describe.each(TEST_DATABASES)('kill -9 under load on $engine', ({ create }) => {
  test(`${KILLS} times at any moment: no key spends or holds more than its limit, and what it holds is free in the end`, async () => {
    // How many answers clients have had when the process is killed.
    const moments = fc.array(fc.integer({ min: 1, max: 40 }), {
      minLength: KILLS,
      maxLength: KILLS,
    })
    const survives = fc.asyncProperty(moments, (killedAfter) =>
      surviveKills({ createDatabase: create, killedAfter }),
    )
    await fc.assert(survives, { numRuns: 1, endOnFailure: true })
  })
})

interface Kills {
  readonly createDatabase: () => Promise<TestDatabase>
  readonly killedAfter: readonly number[]
}

async function surviveKills({ createDatabase, killedAfter }: Kills): Promise<void> {
  const bench = await openCrashBench({
    createDatabase,
    apiKeys: KEYS,
    limitsOf: (place) =>
      place % 2 === 0 ? { creditLimitMicros: LIMIT_MICROS } : { allowance: MONTHLY },
  })
  try {
    for (const answers of killedAfter) {
      const gateway = await bench.serve()
      const lanes = load(bench, { gateway, answers })
      await lanes.enough
      expect(await gateway.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
      await lanes.ended
      await bench.bury()
      await limitsHold(bench)
    }
    // Requests whose process was killed are settled, and then the keys spend what is left.
    const last = await bench.serve(GIVES_UP)
    await bench.until((rows) =>
      rows.every(({ state }) => state === 'final' || state === 'released'),
    )
    for (const { heldMicros, openHolds } of await limitsHold(bench)) {
      expect({ heldMicros, openHolds }).toEqual({ heldMicros: 0, openHolds: 0 })
    }
    await load(bench, { gateway: last, answers: Number.POSITIVE_INFINITY }).ended
    expect(await last.stop('SIGTERM')).toEqual({ code: 0, signal: null })
    for (const { spentMicros } of await limitsHold(bench)) {
      expect(spentMicros).toBeGreaterThan(LIMIT_MICROS / 2)
    }
  } finally {
    await bench.close()
  }
}

interface Load {
  readonly gateway: ServeProcess
  /** So many answers are enough. */
  readonly answers: number
}

/** Every lane sends one request after another, until its connection is lost or its key has nothing left. */
function load(bench: CrashBench, { gateway, answers }: Load) {
  const enough = Promise.withResolvers<void>()
  let answered = 0
  const runLane = async (lane: number): Promise<void> => {
    const apiKey = bench.apiKeys[lane % KEYS]?.text ?? ''
    // A request without a cap holds all that is left, for a moment.
    for (let place = lane, refused = 0; refused < REFUSED_MAX; place++) {
      const status = await ask(gateway, { apiKey, body: BODIES[place % BODIES.length] ?? {} })
      if (status === null) return
      refused = status === 402 ? refused + 1 : 0
      if (status === 200 && ++answered >= answers) enough.resolve()
    }
  }
  const lanes = Array.from({ length: KEYS * LANES_A_KEY }, (_, lane) => runLane(lane))
  const ended = Promise.all(lanes)
  return { ended, enough: Promise.race([enough.promise, ended]) }
}

/** The status; null where the gateway was killed before the answer was whole. */
async function ask(
  gateway: ServeProcess,
  { apiKey, body }: { readonly apiKey: string; readonly body: object },
): Promise<number | null> {
  try {
    const answer = await fetch(`${gateway.address}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey },
      body: JSON.stringify({
        ...body,
        model: 'sim/text',
        messages: [{ role: 'user', content: 'Say hello.' }],
      }),
    })
    const text = await answer.text()
    // 503: on a machine with much other work the store may not answer for seconds.
    expect([200, 402, 503], text).toContain(answer.status)
    return answer.status
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}

/** Fails unless every key is within its limit and every figure exact; what each key holds and has spent. */
async function limitsHold(bench: CrashBench) {
  await bench.audit()
  const apiKeys = await bench.look(async ({ db }) => {
    const rows = await db.selectFrom('api_keys').selectAll().orderBy('name').execute()
    return rows.map((row) => API_KEYS.read(row))
  })
  const requests = await bench.requests()
  for (const { backedChargeMicros, backedGrantedMicros } of requests) {
    expect(backedChargeMicros).toBeLessThanOrEqual(backedGrantedMicros)
  }
  return apiKeys.map(({ id, spendMicros, heldMicros, openHolds, allowance, period }) => {
    const spentMicros = allowance === null ? spendMicros : (period?.periodSpendMicros ?? 0)
    const periodHeldMicros = allowance === null ? heldMicros : (period?.periodHeldMicros ?? 0)
    expect(spentMicros + periodHeldMicros).toBeLessThanOrEqual(LIMIT_MICROS)
    const own = requests.filter(({ apiKeyId }) => apiKeyId === id)
    const charged = own.reduce((sum, { backedChargeMicros }) => sum + backedChargeMicros, 0)
    expect([spentMicros, periodHeldMicros]).toEqual([charged, heldMicros])
    return { spentMicros, heldMicros, openHolds }
  })
}
