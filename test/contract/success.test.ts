import { describe, expect, test } from 'vitest'
import { Bench } from './bench.ts'
import { chargeOf, chargeOfCounts } from './charge.ts'
import { numberAt, objectAt } from './json-reading.ts'
import { FORMATS, NAMES_COST, ROWS, STREAMED_ROWS } from './rows.ts'
import { eventsOf } from './stream-event.ts'

const bench = Bench.ofFile()

test('every format of the gateway has its row', () => {
  const endpoints = ROWS.map(({ endpoint, path }) => [endpoint, path])
  expect(endpoints.sort()).toEqual(FORMATS.map(({ endpoint, path }) => [endpoint, path]).sort())
})

describe.each(ROWS)('$endpoint', (row) => {
  test('answers whole, with its charge', async () => {
    const answer = await bench.send(row)
    expect(answer.httpStatus, answer.text).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(row.output(answer.json).length).toBeGreaterThan(10)
    const usage = objectAt(answer.json, 'usage') ?? {}
    const [inputTokens, outputTokens] = row.counts(usage)
    const chargeMicros = NAMES_COST
      ? chargeOf(numberAt(usage, 'cost'))
      : chargeOfCounts(bench.world, {
          model: row.body.model,
          counts: [inputTokens, row.endpoint === 'embeddings' ? 0 : outputTokens],
        })
    if (NAMES_COST) expect(chargeMicros).toBeGreaterThan(0)
    expect(answer.toldMicros).toBe(chargeMicros)
    expect(await bench.activity(answer)).toMatchObject({
      endpoint: row.endpoint,
      modelId: row.body.model,
      stream: false,
      httpStatus: 200,
      errorCode: null,
      backedChargeMicros: chargeMicros,
      usage: { inputTokens, outputTokens },
    })
  })

  test("a whole answer is the provider's, byte for byte", async () => {
    const rawBody =
      '{"id" : "gen-1-x","caf\\u00e9":[ 1.0,1e2 ],"usage":{"cost":1.0e-5,"cost_details":{}}, "unknown":12345678901234567890}'
    const answer = await bench.send(row, { fault: { rawBody } })
    expect(answer.text).toBe(rawBody)
    expect(answer.toldMicros).toBe(NAMES_COST ? 11 : 0)
  })

  test.each([
    ['application/json; charset=utf-8', 'application/json; charset=utf-8'],
    ['application/json; note=x', 'application/json'],
    ['text/plain', 'application/json'],
  ])('a content-type of %j is relayed as %j', async (contentType, expected) => {
    const fault = { headers: { 'content-type': contentType } }
    const { headers } = await bench.send(row, { fault })
    expect(headers['content-type']).toBe(expected)
  })

  test('a query string is ignored', async () => {
    const answer = await bench.send(row, { query: '?beta=true&model=sim/none' })
    expect(answer.httpStatus, answer.text).toBe(200)
    const last = bench.world.simulator.requests.findLast(({ isInference }) => isInference)
    expect(last?.query).toBe('')
  })
})

describe.each(STREAMED_ROWS)('$endpoint, streamed', (row) => {
  test('has the same text, ends with its last event, and is charged the same', async () => {
    const whole = await bench.send(row)
    const streamed = await bench.send(row, { stream: true })
    expect(streamed.httpStatus, streamed.text).toBe(200)
    expect(streamed.headers['content-type']).toBe('text/event-stream')
    const events = eventsOf(streamed.text)
    expect(events.length).toBeGreaterThan(2)
    expect(row.streams.output(events)).toBe(row.output(whole.json))
    expect(events.findIndex(({ kind }) => kind === row.streams.last)).toBe(events.length - 1)
    const usage = events.map(row.streams.usage).findLast((found) => found !== undefined)
    expect(row.counts(usage ?? {})).toEqual(row.counts(objectAt(whole.json, 'usage') ?? {}))
    expect(await bench.activity(streamed)).toMatchObject({
      stream: true,
      httpStatus: 200,
      errorCode: null,
      backedChargeMicros: whole.toldMicros,
    })
  })

  test.each([
    ['text/event-stream; charset=utf-8', 'text/event-stream; charset=utf-8'],
    ['text/event-stream;charset="utf-8"', 'text/event-stream'],
    ['text/event-stream; note=x', 'text/event-stream'],
  ])('a content-type of %j is relayed as %j', async (contentType, expected) => {
    const fault = { headers: { 'content-type': contentType } }
    const answer = await bench.send(row, { stream: true, fault })
    expect(answer.headers['content-type']).toBe(expected)
    expect(eventsOf(answer.text).at(-1)?.kind).toBe(row.streams.last)
  })

  test('a provider that does not stream is relayed as a whole answer, with the charge', async () => {
    const rawBody = '{"id":"gen-1-whole","usage":{"cost":0.01}}'
    const answer = await bench.send(row, { stream: true, fault: { rawBody } })
    expect([answer.httpStatus, answer.text, answer.toldMicros]).toEqual([
      200,
      rawBody,
      NAMES_COST ? 10_500 : 0,
    ])
  })
})

test('after all of it, the ledger is exact', () => bench.expectExactLedger())
