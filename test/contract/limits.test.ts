import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Bench } from './bench.ts'
import { expectError } from './expect-error.ts'
import type { FormatRow } from './format-row.ts'
import { ROWS } from './rows.ts'

const MIB = 1024 * 1024
const IN_FLIGHT_MAX = 8
const PER_MINUTE_MAX = 3

let bench: Bench
/** A world with few requests per minute, whose clock moves only when a test moves it. */
let slowBench: Bench
let nowMs = Date.now()

beforeAll(async () => {
  bench = await Bench.start()
  slowBench = await Bench.start({
    settings: { TOLLGATE_REQUESTS_PER_MINUTE: String(PER_MINUTE_MAX) },
    clock: { nowMs: () => nowMs },
  })
})
afterAll(async () => {
  await bench.close()
  await slowBench.close()
})

const HEAD_BYTES = 16 * 1024

/** The row's request, followed by blanks up to so many bytes. */
function padded(row: FormatRow, { model, bytes }: { model: string; bytes: number }): Buffer {
  const body = Buffer.alloc(bytes, ' ')
  expect(body.write(JSON.stringify({ ...row.body, model }))).toBeLessThan(HEAD_BYTES)
  return body
}

const gzippedBlanks = new Map<number, Buffer>()

/** A start of a body and blanks up to so many bytes, gzipped: two members; the larger is the same for all rows. */
function gzippedPadded(start: Buffer, bytes: number): Buffer {
  const blankBytes = bytes - HEAD_BYTES
  const blanks = gzippedBlanks.get(bytes) ?? gzipSync(Buffer.alloc(blankBytes, ' '), { level: 1 })
  gzippedBlanks.set(bytes, blanks)
  return Buffer.concat([gzipSync(start), blanks])
}

describe.each(ROWS)('$endpoint', (row) => {
  test('a ninth request in flight is too many, until one of the eight has ended', async () => {
    const [{ apiKey }, other] = [await bench.payer(), await bench.payer()]
    const gate = bench.world.simulator.gate(row.endpoint)
    const fault = { hold: 'beforeHeaders', gate: row.endpoint } as const
    const held = Array.from({ length: IN_FLIGHT_MAX }, () => bench.send(row, { apiKey, fault }))
    await gate.arrived(IN_FLIGHT_MAX)

    const ninth = await bench.send(row, { apiKey })
    expectError(
      { bench, row, answer: ninth },
      { httpStatus: 429, code: 'too_many_concurrent_requests', retryAfter: '1' },
    )
    const ofOther = await bench.send(row, { apiKey: other.apiKey })
    expect(ofOther.httpStatus, ofOther.text).toBe(200)

    gate.release(1)
    const first = await Promise.race(held)
    expect(first.httpStatus, first.text).toBe(200)
    const after = await bench.send(row, { apiKey })
    expect(after.httpStatus, after.text).toBe(200)

    gate.release()
    const statuses = (await Promise.all(held)).map(({ httpStatus }) => httpStatus)
    expect(statuses).toEqual(new Array(IN_FLIGHT_MAX).fill(200))
    expect(await bench.activity(ninth)).toBeNull()
  })

  test.each([
    ['run', row.body, 200],
    ['are refused', { ...row.body, model: 'sim/none' }, 404],
    ['cannot be read', '{', 400],
  ] as const)(
    'over its requests per minute, which %s, a key gets the second at which to retry',
    async (_, body, httpStatus) => {
      const [{ apiKey: early }, { apiKey: inTime }] = [
        await slowBench.payer(),
        await slowBench.payer(),
      ]
      const send = (apiKey: string) => slowBench.send(row, { apiKey, body })
      for (let i = 0; i < PER_MINUTE_MAX; i++) {
        for (const apiKey of [early, inTime])
          expect((await send(apiKey)).httpStatus).toBe(httpStatus)
        nowMs += 7_000
      }
      const expectLimited = async (apiKey: string) => {
        const answer = await send(apiKey)
        const retryAfter = expect.stringMatching(/^[1-9]\d?$/)
        const expected = { httpStatus: 429, code: 'rate_limited', retryAfter }
        expectError({ bench: slowBench, row, answer }, expected)
        expect(await slowBench.activity(answer)).toBeNull()
        expect(answer.headers['ratelimit']).toMatch(/"key";r=0;t=[1-9]/)
        expect(answer.headers['ratelimit-policy']).toMatch(/"key";q=\d+;w=60/)
        return Number(answer.headers['retry-after'])
      }
      const retryAfterSeconds = await expectLimited(early)
      expect(await expectLimited(inTime)).toBe(retryAfterSeconds)

      nowMs += (retryAfterSeconds - 1) * 1_000
      await expectLimited(early)
      nowMs += 1_000
      expect((await send(inTime)).httpStatus).toBe(httpStatus)
    },
  )

  test('a body of its limit is read, one byte more is too large', async () => {
    const { apiKey } = await bench.payer()
    const bytes = row.bodyMebibytesMax * MIB
    // Most of the work is to count the tokens of so much: one format does, and the others see that it is no JSON.
    const [start, expected] =
      row === ROWS[0]
        ? [
            padded(row, { model: 'sim/none', bytes: HEAD_BYTES }),
            { httpStatus: 404, code: 'model_not_found', param: 'model' },
          ]
        : [Buffer.alloc(HEAD_BYTES, '!'), { httpStatus: 400, code: 'invalid_json' }]
    const most = await bench.send(row, {
      apiKey,
      body: gzippedPadded(start, bytes),
      headers: { 'content-encoding': 'gzip' },
    })
    expectError({ bench, row, answer: most }, expected)

    const body = padded(row, { model: row.body.model, bytes: bytes + 1 })
    const over = await bench.send(row, { apiKey, body })
    expectError({ bench, row, answer: over }, { httpStatus: 413, code: 'request_too_large' })
    expect(await bench.activity(over)).toBeNull()
  })
})

test('after all of it, the ledger is exact', async () => {
  await bench.expectExactLedger()
  await slowBench.expectExactLedger()
})

test.each(ROWS)('$endpoint: with prices older than an hour no request runs', async (row) => {
  const { apiKey } = await slowBench.payer()
  nowMs += 61 * 60_000
  const answer = await slowBench.send(row, { apiKey })
  expectError({ bench: slowBench, row, answer }, { httpStatus: 503, code: 'model_prices_stale' })
  expect(await slowBench.activity(answer)).toBeNull()
})
