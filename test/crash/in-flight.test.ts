import { afterEach, expect, test } from 'vitest'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { chatAt } from '../tollgate-process.ts'
import { CREDIT_MICROS, type CrashBench, openCrashBench } from './crash-bench.ts'

const IN_FLIGHT = 100
const HOLDS_A_KEY = 8

let bench: CrashBench

afterEach(() => bench.close())

test.each(MADE_DATABASES)(
  'kill -9 on $engine with 100 requests in flight: each is unresolved, nothing is released or charged, and each of their places is free',
  async ({ create }) => {
    bench = await openCrashBench({
      createDatabase: create,
      apiKeys: Math.ceil(IN_FLIGHT / HOLDS_A_KEY),
    })
    const { simulator } = bench
    const first = await bench.serve()
    simulator.script({ hold: 'beforeHeaders', times: 'always' })
    const lost = sendAll(first.address).map((answer) =>
      answer.then(
        () => 'answered',
        () => 'lost',
      ),
    )
    await simulator.gate().arrived(IN_FLIGHT)
    expect(await first.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
    expect(new Set(await Promise.all(lost))).toEqual(new Set(['lost']))
    await bench.bury()

    const second = await bench.serveHere()
    const rows = await bench.requests()
    expect(rows.map(({ state }) => state)).toEqual(Array(IN_FLIGHT).fill('unresolved'))
    for (const row of rows) expect(row.backedHeldMicros).toBe(row.backedGrantedMicros)
    await bench.audit()
    const entries = await bench.entries()
    expect(entries.map(({ amountMicros }) => amountMicros)).toEqual([CREDIT_MICROS])

    // Their credit stays held, but as many again are in flight at once.
    const next = sendAll(second.address)
    await Promise.race([simulator.gate().arrived(2 * IN_FLIGHT), Promise.all(next)])
    expect(simulator.gate().arrivals).toBe(2 * IN_FLIGHT)
    simulator.gate().release()
    for (const answer of await Promise.all(next))
      expect(answer.status, await answer.text()).toBe(200)
    await second.close()
    await bench.audit()
  },
)

/** One request for each place that the keys have in flight, half of them streams. */
function sendAll(address: string): Promise<Response>[] {
  return Array.from({ length: IN_FLIGHT }, (_, place) => {
    const apiKey = bench.apiKeys[Math.floor(place / HOLDS_A_KEY)]?.text ?? ''
    return chatAt({ address }, apiKey, { max_tokens: 16, stream: place % 2 === 1 })
  })
}
