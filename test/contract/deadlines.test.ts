import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Place } from '../../simulator/faults.ts'
import { type Answer, Bench } from './bench.ts'
import { type Charge, expectCharge, RELEASED, UNRESOLVED } from './expect-charge.ts'
import { expectError } from './expect-error.ts'
import type { FormatRow, StreamedRow } from './format-row.ts'
import { NAMES_COST, ROWS, STREAMED_ROWS } from './rows.ts'
import { eventsOf } from './stream-event.ts'

// Long enough for two events of five streams on a slow machine.
const SHORT_MS = 1_500

interface Deadline {
  /** The part of a call that it bounds. */
  readonly of: string
  /** The settings that are short; all others are as they come, in minutes. */
  readonly settings: readonly string[]
  readonly bounds: (row: FormatRow) => boolean
  readonly boundsStream: (row: StreamedRow) => boolean
}

const WHOLES = ['TOLLGATE_TOTAL_TIMEOUT_MS', 'TOLLGATE_IMAGE_TIMEOUT_MS'] as const

const DEADLINES: readonly Deadline[] = [
  {
    of: 'silence',
    settings: ['TOLLGATE_HEADERS_TIMEOUT_MS', 'TOLLGATE_BODY_STALL_TIMEOUT_MS'],
    bounds: () => true,
    boundsStream: () => true,
  },
  ...WHOLES.filter((setting) => ROWS.some((row) => row.totalTimeout === setting)).map(
    (setting) => ({
      of: setting,
      settings: [setting],
      bounds: (row: FormatRow) => row.totalTimeout === setting,
      boundsStream: (row: StreamedRow) =>
        row.totalTimeout === setting && row.streams.hasTotalTimeout,
    }),
  ),
]

const WHOLE_PLACES: readonly Place[] = ['beforeHeaders', 'afterHeaders', { afterBytes: 20 }]

describe.each(DEADLINES)('the deadline of $of', ({ settings, bounds, boundsStream }) => {
  let bench: Bench
  let apiKey: string
  beforeAll(async () => {
    const short = settings.map((name) => [name, String(SHORT_MS)])
    bench = await Bench.start({ settings: Object.fromEntries(short) })
    apiKey = (await bench.payer()).apiKey
  })
  afterAll(() => bench.close())

  async function expectTimeout(
    row: FormatRow,
    { answer, charge, stream }: { answer: Answer; charge: Charge; stream: boolean },
  ) {
    const mayStream = row.streams !== null && !row.streams.hasTotalTimeout
    const advice = mayStream && !stream ? 'Try again, and stream long answers.' : 'Try again.'
    const message = `The provider did not answer before the deadline. ${advice}`
    expectError({ bench, row, answer }, { httpStatus: 504, code: 'upstream_timeout', message })
    await expectCharge(bench, answer, { ...charge, httpStatus: 504, errorCode: 'upstream_timeout' })
  }

  describe.each(WHOLE_PLACES)('passes at %j', (stall) => {
    test.concurrent.each(ROWS.filter(bounds))('$endpoint: unresolved', async (row) => {
      const answer = await bench.send(row, { apiKey, fault: { stall } })
      await expectTimeout(row, { answer, charge: UNRESOLVED, stream: false })
    })
  })

  // A group for each: what runs at the same time must not take each other's faults.
  const streamed = STREAMED_ROWS.filter(boundsStream)
  if (streamed.length > 0) {
    describe('passes before the headers of a stream', () => {
      test.concurrent.each(streamed)('$endpoint: free', async (row) => {
        const fault = { stall: 'beforeHeaders' } as const
        const answer = await bench.send(row, { apiKey, stream: true, fault })
        await expectTimeout(row, { answer, charge: RELEASED, stream: true })
      })
    })

    describe('passes within a stream', () => {
      test.concurrent.each(streamed)('$endpoint: broken off', async (row) => {
        const fault = { stall: { afterEvents: 2 }, omit: ['usage'] } as const
        const answer = await bench.send(row, { apiKey, stream: true, fault })
        expect([answer.httpStatus, eventsOf(answer.text).length]).toEqual([200, 2])
        const charge = NAMES_COST ? RELEASED : UNRESOLVED
        const expected = { ...charge, httpStatus: 200, errorCode: 'upstream_timeout' }
        await expectCharge(bench, answer, expected)
      })
    })
  }

  /** Comes back when a request that is sent now has passed the deadline. */
  async function deadlinePassed(): Promise<void> {
    const row = ROWS.find(bounds)
    if (row === undefined) throw new Error('the deadline bounds no format')
    const { apiKey: otherKey } = await bench.payer()
    const fault = { stall: 'beforeHeaders' } as const
    expect((await bench.send(row, { apiKey: otherKey, fault })).httpStatus).toBe(504)
  }

  const whole = ROWS.filter((row) => !bounds(row)).map((row) => ({ row, stream: false }))
  const streams = STREAMED_ROWS.filter((row) => !boundsStream(row))
  const unbounded = [...whole, ...streams.map((row) => ({ row, stream: true }))]

  const testUnbounded = unbounded.length === 0 ? null : test
  testUnbounded?.('what it does not bound outlives it', async () => {
    const gate = bench.world.simulator.gate()
    const fault = { hold: 'afterHeaders' } as const
    const sent = unbounded.map(async ({ row, stream }) => {
      const payer = await bench.payer()
      return bench.send(row, { apiKey: payer.apiKey, stream, fault })
    })
    await gate.arrived(unbounded.length)
    await deadlinePassed()
    gate.release()
    for (const answer of await Promise.all(sent)) {
      expect(answer.httpStatus, answer.text).toBe(200)
      expect(await bench.activity(answer)).toMatchObject({ errorCode: null, httpStatus: 200 })
    }
  })

  test('after all of it, the ledger is exact', () => bench.expectExactLedger())
})
