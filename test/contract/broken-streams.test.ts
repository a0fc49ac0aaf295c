import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fault, Omission } from '../../simulator/faults.ts'
import { Bench } from './bench.ts'
import { chargeOfCounts } from './charge.ts'
import {
  type Charge,
  estimateOf,
  expectCharge,
  RELEASED,
  reportedCharge,
  UNRESOLVED,
} from './expect-charge.ts'
import type { StreamedRow } from './format-row.ts'
import { objectAt } from './json-reading.ts'
import { STREAMED_ROWS } from './rows.ts'
import { eventsOf } from './stream-event.ts'
import { type StreamShape, shapeOf } from './stream-shape.ts'

let bench: Bench
let apiKey: string
/** A world in which silence is soon broken off: a stalled stream is one more that breaks. */
let impatientBench: Bench
let impatientKey: string

beforeAll(async () => {
  bench = await Bench.start()
  impatientBench = await Bench.start({ settings: { TOLLGATE_BODY_STALL_TIMEOUT_MS: '1500' } })
  apiKey = (await bench.payer()).apiKey
  impatientKey = (await impatientBench.payer()).apiKey
})
afterAll(async () => {
  await bench.close()
  await impatientBench.close()
})

const NO_ID: readonly Omission[] = ['id', 'generationHeader']
const COST_USD = 0.001234
const COST_MICROS = 1_296

const DROPPED = 'upstream_disconnected'

/** Ways in which a stream ends after so many events. */
const BREAKS: readonly (readonly [string, (afterEvents: number) => Fault, string])[] = [
  ['reset', (afterEvents) => ({ cut: { at: { afterEvents }, how: 'reset' } }), DROPPED],
  ['closed', (afterEvents) => ({ cut: { at: { afterEvents }, how: 'close' } }), DROPPED],
  ['ended', (afterEvents) => ({ cut: { at: { afterEvents }, how: 'end' } }), DROPPED],
  ['stalled', (afterEvents) => ({ stall: { afterEvents } }), 'upstream_timeout'],
]

interface Interruption {
  readonly when: string
  readonly fault: Fault
  readonly afterEvents: (shape: StreamShape) => number
  readonly charge: (row: StreamedRow, shape: StreamShape) => Charge
}

/** Whether a stream ends with its usage: a later break does not count. */
function endsWithUsage({ eventsToUsage, events }: StreamShape): boolean {
  return eventsToUsage === events
}

const INTERRUPTIONS: readonly Interruption[] = [
  {
    when: 'after its cost, is charged that',
    fault: { costUsd: COST_USD },
    afterEvents: ({ eventsToUsage }) => eventsToUsage,
    charge: (row) => reportedCharge(COST_MICROS, row),
  },
  {
    when: 'after its counts, is charged an estimate where it can be looked up',
    fault: { omit: ['cost'] },
    afterEvents: ({ eventsToUsage }) => eventsToUsage,
    charge: (row, { fullMicros }) => (row.hasGenerations ? estimateOf(fullMicros) : RELEASED),
  },
  {
    when: 'after its counts, without a generation id, is not charged',
    fault: { omit: ['cost', ...NO_ID] },
    afterEvents: ({ eventsToUsage }) => eventsToUsage,
    // A whole success without a cost does not count as interrupted.
    charge: (_, shape) => (endsWithUsage(shape) ? UNRESOLVED : RELEASED),
  },
  {
    when: 'before any counts, is not charged',
    fault: { omit: ['usage'] },
    afterEvents: () => 2,
    charge: () => RELEASED,
  },
  {
    when: 'before its last counts, is charged the first of them',
    fault: {},
    afterEvents: () => 2,
    charge: ({ body: { model } }, { firstCounts: counts }) =>
      counts === null ? RELEASED : estimateOf(chargeOfCounts(bench.world, { model, counts })),
  },
  {
    when: 'before its first event, is not charged',
    fault: {},
    afterEvents: () => 0,
    charge: () => RELEASED,
  },
]

describe.each(BREAKS)('a stream that is %s', (how, breakAfter, errorCode) => {
  describe.each(INTERRUPTIONS)('$when', (its) => {
    test.concurrent.each(STREAMED_ROWS)('$endpoint', async (row) => {
      const shape = await shapeOf(bench, { row, apiKey })
      const afterEvents = its.afterEvents(shape)
      const charge = its.charge(row, shape)
      const fault = { ...its.fault, ...breakAfter(afterEvents) }
      const [breaking, payingKey] =
        how === 'stalled' ? [impatientBench, impatientKey] : [bench, apiKey]
      const answer = await breaking.send(row, { apiKey: payingKey, stream: true, fault })
      expect(answer.httpStatus).toBe(200)

      // Only whole events of the received part are relayed, and nothing is added.
      const events = eventsOf(answer.text)
      expect(events).toHaveLength(afterEvents)
      expect(
        events.filter(({ name, json }) => name === 'error' || objectAt(json, 'error')),
      ).toEqual([])
      const isWhole = afterEvents === shape.events
      const hasCost = its.fault.costUsd !== undefined
      const isDone = isWhole || (how === 'ended' && hasCost)
      await expectCharge(breaking, answer, {
        ...charge,
        httpStatus: 200,
        errorCode: isDone ? null : errorCode,
      })
    })
  })
})

test.each(STREAMED_ROWS)('$endpoint: half an event is dropped', async (row) => {
  const { text } = await bench.send(row, { apiKey, stream: true })
  const ends = [...text.matchAll(/\n\n/g)].map(({ index }) => index + 2)
  const afterBytes = (ends[3] ?? 0) - 3
  for (const how of ['close', 'reset'] as const) {
    const fault = { cut: { at: { afterBytes }, how } }
    const answer = await bench.send(row, { apiKey, stream: true, fault })
    expect(answer.text.length).toBe(ends[2])
    expect(await bench.activity(answer)).toMatchObject({ errorCode: DROPPED })
  }
})

test('after all of it, the ledger is exact', async () => {
  await bench.expectExactLedger()
  await impatientBench.expectExactLedger()
})
