import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { Bench, pathUpstream } from './bench.ts'
import type { StreamedRow } from './format-row.ts'
import { STREAMED_ROWS } from './rows.ts'
import { eventsOf } from './stream-event.ts'

const bench = Bench.ofFile()

const WHOLE_EVENTS = /^.*\n\n/s

/**
 * Reads a stream of which the provider sends so many events, and the rest once the client has those. Resolves with the
 * number of events of the whole stream; it never resolves if an event waits in the gateway for the next one.
 */
async function readInTwoParts(row: StreamedRow, firstEvents: number): Promise<number> {
  const gateName = `${row.endpoint} ${firstEvents}`
  const hold = { afterEvents: firstEvents }
  bench.world.simulator.script({ path: pathUpstream(row), hold, gate: gateName })
  const gate = bench.world.simulator.gate(gateName)
  const { statusCode, body } = await request(bench.world.url(row.path), {
    method: 'POST',
    headers: { 'x-api-key': bench.apiKey },
    body: JSON.stringify({ ...row.body, stream: true }),
  })
  expect(statusCode).toBe(200)
  let text = ''
  for await (const piece of body) {
    text += String(piece)
    const [whole = ''] = WHOLE_EVENTS.exec(text) ?? []
    if (eventsOf(whole).length >= firstEvents) gate.release()
  }
  return eventsOf(text).length
}

describe.each(STREAMED_ROWS)('$endpoint', (row) => {
  test('every event reaches the client before the provider sends the next one', async () => {
    const events = await readInTwoParts(row, 1)
    expect(events).toBeGreaterThan(2)
    for (let firstEvents = 2; firstEvents < events; firstEvents++) {
      expect(await readInTwoParts(row, firstEvents)).toBe(events)
    }
  })
})

test('after all of it, the ledger is exact', () => bench.expectExactLedger())
