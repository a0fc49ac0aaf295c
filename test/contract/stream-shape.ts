import { expect } from 'vitest'
import type { Bench } from './bench.ts'
import type { StreamedRow } from './format-row.ts'
import { eventsOf } from './stream-event.ts'

/** The places of parts in the stream of a row's own request, in events from the start. */
export interface StreamShape {
  /** Events up to the last that carries usage, and so the cost. */
  readonly eventsToUsage: number
  readonly events: number
  /** Tokens in and out, as the first event with usage has them; null: it has none that early. */
  readonly firstCounts: readonly [number, number] | null
  /** The charge of the whole stream. */
  readonly fullMicros: number
}

/** Streams the row's request undisturbed, and says what its stream is like. */
export async function shapeOf(
  bench: Bench,
  { row, apiKey }: { readonly row: StreamedRow; readonly apiKey: string },
): Promise<StreamShape> {
  const answer = await bench.send(row, { apiKey, stream: true })
  const events = eventsOf(answer.text)
  const eventsToUsage = events.findLastIndex((event) => row.streams.usage(event) !== undefined) + 1
  expect(eventsToUsage).toBeGreaterThan(2)
  const [first] = events
  const firstUsage = first === undefined ? undefined : row.streams.firstUsage?.(first)
  expect(firstUsage !== undefined).toBe(row.streams.firstUsage !== null)
  const fullMicros = (await bench.activity(answer))?.backedChargeMicros ?? 0
  expect(fullMicros).toBeGreaterThan(0)
  return {
    eventsToUsage,
    events: events.length,
    firstCounts: firstUsage === undefined ? null : row.counts(firstUsage),
    fullMicros,
  }
}
