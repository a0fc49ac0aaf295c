import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fault } from '../../simulator/faults.ts'
import { Bench } from './bench.ts'
import { expectCharge, RELEASED, UNRESOLVED } from './expect-charge.ts'
import { expectError } from './expect-error.ts'
import { NAMES_COST, ROWS, STREAMED_ROWS } from './rows.ts'

const bench = Bench.ofFile()

const LOST = { httpStatus: 502, code: 'upstream_error' } as const

/** Places at which a whole answer is lost after the provider has accepted the request. */
const LOSSES: readonly (readonly [string, Fault])[] = [
  ['reset before its headers', { cut: { at: 'beforeHeaders', how: 'reset' } }],
  ['closed before its headers', { cut: { at: 'beforeHeaders', how: 'close' } }],
  ['reset after its headers', { cut: { at: 'afterHeaders', how: 'reset' } }],
  ['reset within its body', { cut: { at: { afterBytes: 40 }, how: 'reset' } }],
  ['closed within its body', { cut: { at: { afterBytes: 40 }, how: 'close' } }],
  ['ended in order within its body', { cut: { at: { afterBytes: 40 }, how: 'end' } }],
  ['malformed', { answer: 'malformedJson' }],
  ['cut short', { answer: 'truncatedJson' }],
  ['empty', { answer: 'empty' }],
  ['no object', { rawBody: '[{"id":"gen-1-x","usage":{"cost":1}}]' }],
  ['coded although it must not be', { contentEncoding: 'gzip' }],
  ['said to be coded and is not', { contentEncoding: 'broken' }],
]

describe.each(ROWS)('$endpoint', (row) => {
  test.each(LOSSES)('an answer that is %s is unresolved', async (_, fault) => {
    const answer = await bench.send(row, { fault })
    expectError({ bench, row, answer }, LOST)
    const expected = { ...UNRESOLVED, httpStatus: 502, errorCode: 'upstream_error' }
    await expectCharge(bench, answer, expected)
  })
})

/** Ways in which a stream is lost before its headers have come, or comes as no stream. */
const STREAM_LOSSES: readonly (readonly [string, Fault])[] = [
  ['reset before its headers', { cut: { at: 'beforeHeaders', how: 'reset' } }],
  ['closed before its headers', { cut: { at: 'beforeHeaders', how: 'close' } }],
  ['empty and no stream', { answer: 'empty' }],
  ['no stream and malformed', { rawBody: '{"id":"gen-1-x",' }],
]

describe.each(STREAMED_ROWS)('$endpoint, streamed', (row) => {
  test.each(STREAM_LOSSES)('an answer that is %s is not charged', async (_, fault) => {
    const answer = await bench.send(row, { stream: true, fault })
    expectError({ bench, row, answer }, LOST)
    // Without look-ups, nothing more is learned of an answer that began.
    const isUnknown = !NAMES_COST && !('cut' in fault)
    const charge = isUnknown ? UNRESOLVED : RELEASED
    const expected = { ...charge, httpStatus: 502, errorCode: 'upstream_error' }
    await expectCharge(bench, answer, expected)
  })
})

describe('a provider that takes no connection', () => {
  beforeAll(() => bench.world.simulator.refuseConnections())
  afterAll(() => bench.world.simulator.acceptConnections())

  test.each(ROWS)('$endpoint: costs nothing', async (row) => {
    for (const stream of row.streams === null ? [false] : [false, true]) {
      const answer = await bench.send(row, { stream })
      expectError({ bench, row, answer }, LOST)
      const expected = { ...RELEASED, httpStatus: 502, errorCode: 'upstream_error' }
      await expectCharge(bench, answer, expected)
    }
  })
})

test.each(ROWS)('$endpoint: requests run again as soon as it accepts connections', async (row) => {
  const answer = await bench.send(row)
  expect(answer.httpStatus, answer.text).toBe(200)
})

test('after all of it, the ledger is exact', () => bench.expectExactLedger())
