import { describe, expect, test } from 'vitest'
import { DEFAULT_MARKER } from '../../simulator/faults.ts'
import { Bench } from './bench.ts'
import { expectCharge, RELEASED, reportedCharge } from './expect-charge.ts'
import { STREAMED_ROWS } from './rows.ts'
import { eventsOf } from './stream-event.ts'

const bench = Bench.ofFile()

/** The provider's error, and the error that clients get. */
const CAUSES = [
  { code: 502, words: { code: 'upstream_error', type: 'api_error' } },
  { code: 429, words: { code: 'provider_rate_limited', type: 'rate_limit_error' } },
] as const

describe.each(STREAMED_ROWS)('$endpoint', (row) => {
  describe.each(row.streams.failures)(
    'an error of the form $fault',
    ({ fault, event, carriesUsage }) => {
      test.each(CAUSES)(
        "$code is reported in the gateway's words, and costs nothing",
        async ({ code, words }) => {
          const errorEvent = { ...fault, code, afterEvents: 2 }
          const answer = await bench.send(row, { stream: true, fault: { errorEvent } })
          expect(answer.httpStatus).toBe(200)
          const message = expect.stringMatching(/^\S.*\S$/)
          const expected = event({ ...words, message, requestId: answer.requestId })
          const [, , failure, ...rest] = eventsOf(answer.text)
          expect(failure?.json).toMatchObject(expected)
          expect(rest.filter(({ kind }) => kind !== '[DONE]')).toEqual([])
          expect(answer.text).not.toContain(DEFAULT_MARKER)
          await expectCharge(bench, answer, { ...RELEASED, httpStatus: 200, errorCode: words.code })
        },
      )

      if (carriesUsage) {
        test('its cost is charged nevertheless', async () => {
          const errorEvent = { ...fault, afterEvents: 2, withUsage: true }
          const sent = { stream: true, fault: { errorEvent, costUsd: 0.01 } }
          await expectCharge(bench, await bench.send(row, sent), {
            ...reportedCharge(10_500, row),
            httpStatus: 200,
            errorCode: 'upstream_error',
          })
        })
      }
    },
  )

  test("an event that is not JSON is an error in the gateway's words, and its cost is charged", async () => {
    const whole = await bench.send(row)
    const fault = { answer: 'malformedJson' } as const
    const answer = await bench.send(row, { stream: true, fault })
    const [failure] = row.streams.failures
    const words = { code: 'upstream_error', type: 'api_error', requestId: answer.requestId }
    const events = eventsOf(answer.text)
    const message = expect.stringMatching(/^\S.*\S$/)
    const expected = Object.entries(failure?.event({ ...words, message }) ?? {})
    // An unreadable event has no `object` that could be kept.
    const kept = expected.filter(([name]) => name !== 'object')
    expect(events[1]?.json).toMatchObject(Object.fromEntries(kept))
    for (const { json, kind } of events) expect(json === undefined).toBe(kind === '[DONE]')
    await expectCharge(bench, answer, {
      ...reportedCharge(whole.toldMicros ?? 0, row),
      httpStatus: 200,
      errorCode: 'upstream_error',
    })
  })
})

test('after all of it, the ledger is exact', () => bench.expectExactLedger())
