import fc from 'fast-check'
import { expect } from 'vitest'
import { chatAt, type ServeProcess } from '../tollgate-process.ts'
import type { CrashBench } from './crash-bench.ts'

/**
 * Draws after how many answers to clients each gateway is killed, and runs a history with it. A failure prints the seed
 * that repeats it.
 */
export async function withRandomKills(
  { kills, answersMax }: { readonly kills: number; readonly answersMax: number },
  survive: (killedAfter: readonly number[]) => Promise<void>,
): Promise<void> {
  const moments = fc.array(fc.integer({ min: 1, max: answersMax }), {
    minLength: kills,
    maxLength: kills,
  })
  await fc.assert(fc.asyncProperty(moments, survive), { numRuns: 1, endOnFailure: true })
}

const LANES_A_KEY = 4
/** Some set a cap; the others get one that fits the remaining credit. */
const BODIES = [{ max_tokens: 16 }, {}, { max_tokens: 64, stream: true }, { stream: true }]
/** After so many refusals in a row a lane leaves. The last one of all is refused only where nothing is left. */
const REFUSED_MAX = 8
/** From then on the gateway gives up requests that it cannot look up. */
const GIVES_UP = { TOLLGATE_SETTLE_AFTER_MS: '1' }

/**
 * Kills a gateway at each of the moments while its keys spend all that they may. Then starts another, which settles what
 * was left open, and lets the keys spend the rest. `holds` is called after each of these steps.
 */
export async function spendThroughKills(
  bench: CrashBench,
  {
    killedAfter,
    holds,
  }: {
    readonly killedAfter: readonly number[]
    /** Fails if a limit is exceeded; returns the held and spent amounts under each. */
    readonly holds: () => Promise<readonly Spent[]>
  },
): Promise<readonly Spent[]> {
  for (const answers of killedAfter) {
    const gateway = await bench.serve()
    const lanes = load(bench, { gateway, answers })
    await lanes.enough
    expect(await gateway.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
    await lanes.ended
    await bench.bury()
    await bench.audit()
    await holds()
  }
  // Requests whose process was killed are settled, and then the keys spend the rest.
  const last = await bench.serveHere(GIVES_UP)
  await bench.until((rows) => rows.every(({ state }) => state === 'final' || state === 'released'))
  for (const { heldMicros, openHolds } of await holds()) {
    expect({ heldMicros, openHolds }).toEqual({ heldMicros: 0, openHolds: 0 })
  }
  await load(bench, { gateway: last, answers: Number.POSITIVE_INFINITY }).ended
  await last.close()
  await bench.audit()
  for (const { backedChargeMicros, backedGrantedMicros } of await bench.requests()) {
    expect(backedChargeMicros).toBeLessThanOrEqual(backedGrantedMicros)
  }
  return holds()
}

/** The spent and held amounts of an account or a key. */
export interface Spent {
  readonly spentMicros: number
  readonly heldMicros: number
  readonly openHolds: number
}

interface Load {
  readonly gateway: Pick<ServeProcess, 'address'>
  /** So many answers are enough. */
  readonly answers: number
}

/** Every lane sends one request after another, until its connection is lost or its key has nothing left. */
function load(bench: CrashBench, { gateway, answers }: Load) {
  const { apiKeys } = bench
  const enough = Promise.withResolvers<void>()
  let answered = 0
  const runLane = async (lane: number): Promise<void> => {
    const apiKey = apiKeys[lane % apiKeys.length]?.text ?? ''
    // A request without a cap holds all that is left, for a moment.
    for (let place = lane, refused = 0; refused < REFUSED_MAX; place++) {
      const status = await ask(gateway, { apiKey, body: BODIES[place % BODIES.length] ?? {} })
      if (status === null) return
      refused = status === 402 ? refused + 1 : 0
      if (status === 200 && ++answered >= answers) enough.resolve()
    }
  }
  const lanes = Array.from({ length: apiKeys.length * LANES_A_KEY }, (_, lane) => runLane(lane))
  const ended = Promise.all(lanes)
  return { ended, enough: Promise.race([enough.promise, ended]) }
}

/** The status; null where the gateway was killed before the answer was whole. */
async function ask(
  gateway: Load['gateway'],
  { apiKey, body }: { readonly apiKey: string; readonly body: object },
): Promise<number | null> {
  try {
    const answer = await chatAt(gateway, apiKey, body)
    const text = await answer.text()
    // 503: on a machine with much other work the store may not answer for seconds.
    expect([200, 402, 503], text).toContain(answer.status)
    return answer.status
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}
