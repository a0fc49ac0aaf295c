import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Bench } from './bench.ts'
import { ROWS } from './rows.ts'

/** A client can steer its request to another provider of the model, which may be more expensive than the one listed. */

const HIGHER = { prompt: '0.0001', completion: '0.0004', image_output: '0.001', request: '0.01' }

const bench = Bench.ofFile({ settings: { TOLLGATE_ENDPOINTS_TIMEOUT_MS: '60000' } })
beforeAll(() => {
  for (const { body } of ROWS) {
    bench.world.simulator.catalog.addProvider(body.model, { parameter: 'seed', pricing: HIGHER })
  }
})
afterAll(() => bench.expectExactLedger())

describe.each(ROWS)('on $endpoint', (row) => {
  test("the hold covers the charge of the model's most expensive provider", async () => {
    const answer = await bench.send(row, { body: { ...row.body, seed: 7 } })
    expect(answer.httpStatus, answer.text).toBe(200)
    const request = await bench.activity(answer)
    const chargeMicros = request?.backedChargeMicros ?? 0
    // The price of the request alone, and the fee.
    expect(chargeMicros).toBeGreaterThanOrEqual(10_500)
    expect(chargeMicros).toBeLessThanOrEqual(request?.backedGrantedMicros ?? 0)
  })

  test('the prices that a charge is estimated by stay the listed ones', async () => {
    const fault = { omit: ['cost'] as const }
    const [steered, plain] = [{ ...row.body, seed: 7 }, row.body]
    const answers = [
      await bench.send(row, { body: steered, fault }),
      await bench.send(row, { body: plain, fault }),
    ]
    expect(answers.map(({ toldMicros }) => toldMicros)[0]).toBe(answers[1]?.toldMicros)
  })
})

test('endpoints that stall delay a request once, for the configured time, and are counted', async () => {
  const METRICS_TOKEN = 'metrics-token-of-the-test'
  const settings = { TOLLGATE_ENDPOINTS_TIMEOUT_MS: '50', METRICS_TOKEN }
  await using stack = new AsyncDisposableStack()
  const slow = await Bench.start({ settings })
  stack.defer(() => slow.close())
  slow.world.simulator.script({
    path: '/models/sim/steered/endpoints',
    stall: 'beforeHeaders',
    times: 'always',
  })
  const [row] = ROWS
  if (row === undefined) throw new Error('no format')
  const payer = await slow.payer()
  const body = { ...row.body, model: 'sim/steered' }
  for (let request = 0; request < 2; request++) {
    expect((await slow.send(row, { apiKey: payer.apiKey, body })).httpStatus).toBe(200)
  }
  const page = await fetch(slow.world.url('/metrics'), {
    headers: { authorization: `Bearer ${METRICS_TOKEN}` },
  })
  expect(await page.text()).toContain('tollgate_endpoint_price_reads_total{outcome="failed"} 1')
  const lines = slow.world.log.filter((line) =>
    line.includes('could not be read: holds use its listed prices'),
  )
  expect(lines.map((line) => JSON.parse(line).modelId)).toEqual(['sim/steered'])
})
