import { afterEach, expect, test } from 'vitest'
import { MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import type { ServeProcess } from '../tollgate-process.ts'
import { CREDIT_MICROS, type CrashBench, openCrashBench } from './crash-bench.ts'

const SETTINGS = { TOLLGATE_LOOKUPS: 'verify', TOLLGATE_STANDS_AFTER_MS: '300' }
const CHARGE_MICROS = 1_050
const AT_ONCE = 8
const REQUESTS = 6 * AT_ONCE

let bench: CrashBench

afterEach(() => bench.close())

test.each(MADE_DATABASES)(
  'kill -9 on $engine while reported costs become final: the next gateway continues, and every figure is exact',
  async ({ create }) => {
    bench = await openCrashBench({ createDatabase: create })
    bench.simulator.script({ costUsd: 0.001, times: 'always' })
    const first = await bench.serve(SETTINGS)
    for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) await sendSome(first)
    const atKill = await bench.until((rows) => rows.some(({ state }) => state === 'final'))
    expect(await first.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
    expect(atKill.length).toBe(REQUESTS)
    await bench.audit()

    await bench.serveHere(SETTINGS)
    const rows = await bench.until((all) => all.every(({ state }) => state === 'final'))
    // All except the costs that were drawn for a look-up.
    expect(rows.filter(({ costStands }) => costStands).length).toBeGreaterThan(REQUESTS / 2)
    await bench.audit()
    const entries = await bench.entries()
    expect(entries.map(({ amountMicros }) => amountMicros)).toEqual([
      CREDIT_MICROS,
      ...Array(REQUESTS).fill(-CHARGE_MICROS),
    ])
  },
)

async function sendSome({ address }: ServeProcess): Promise<void> {
  const answers = Array.from({ length: AT_ONCE }, (_, place) =>
    fetch(`${address}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bench.apiKeys[0].text}` },
      body: JSON.stringify({
        model: 'sim/text',
        stream: place % 2 === 0,
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    }),
  )
  for (const answer of await Promise.all(answers)) {
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)])
  }
}
