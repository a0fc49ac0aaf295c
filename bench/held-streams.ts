import { setTimeout as delay } from 'node:timers/promises'
import { openAll, Sender, type Workload } from './load.ts'
import type { LoadConnection } from './load-connection.ts'
import type { Target } from './target.ts'

interface HeldStreamsInput {
  readonly target: Target
  readonly workload: Workload
  /** How many are open at once: one that ends is followed by a new one. */
  readonly streams: number
  /** How long the first ones take to begin, at random moments, so that they don't run in step. */
  readonly rampMs: number
  /** How long to measure, from the moment when streams have begun, ended and been looked up. */
  readonly windowMs: number
}

/** The figures of a target while so many streams ran through it. */
export interface HeldStreams {
  readonly cpuMs: number
  readonly windowMs: number
  /** Events that clients got in the window. */
  readonly events: number
  /** The times to the first event of the streams that began after the ramp. */
  readonly firstEventMs: readonly number[]
  /** The most that it occupied. */
  readonly residentPeakBytes: number
}

// A stream's look-up comes a second after its end.
const LOOKUP_AFTER_MS = 1_500
const EVENT_END = '\n\n'

/** Keeps so many streams open through a target, and looks at a window in the middle of it. */
export async function heldStreams(input: HeldStreamsInput): Promise<HeldStreams> {
  const { target, streams, rampMs, windowMs } = input
  const connections = await openAll(target.address, streams)
  const [ramping, held] = [new Sender(input), new Sender(input)]
  const counter = new EventCounter()
  const startedAtMs = performance.now()
  const endAtMs = startedAtMs + rampMs + LOOKUP_AFTER_MS + windowMs
  target.tree.resetPeak()
  const client = async (connection: LoadConnection): Promise<void> => {
    await delay(Math.random() * rampMs)
    const onPiece = counter.counterOf()
    while (performance.now() < endAtMs) {
      const sender = performance.now() < startedAtMs + rampMs ? ramping : held
      await sender.send(connection, onPiece)
    }
  }
  const clients = Promise.all(connections.map(client))
  await delay(rampMs + LOOKUP_AFTER_MS)
  const before = { cpuMs: target.tree.cpuMs(), events: counter.events, atMs: performance.now() }
  await delay(endAtMs - performance.now())
  const cpuMs = target.tree.cpuMs() - before.cpuMs
  const events = counter.events - before.events
  const measuredMs = performance.now() - before.atMs
  await clients
  for (const connection of connections) connection.close()
  return {
    cpuMs,
    events,
    windowMs: measuredMs,
    firstEventMs: held.result().firstEventMs,
    residentPeakBytes: target.tree.residentPeakBytes(),
  }
}

/** Counts the events of many streams, wherever their bytes are cut. */
export class EventCounter {
  events = 0

  /** Counts for one connection, whose pieces follow each other. */
  counterOf(): (piece: Buffer) => void {
    let endsInNewline = false
    return (piece) => {
      if (endsInNewline && piece[0] === 0x0a) this.events += 1
      for (let at = piece.indexOf(EVENT_END); at !== -1; at = piece.indexOf(EVENT_END, at + 2)) {
        this.events += 1
      }
      endsInNewline = piece.at(-1) === 0x0a && piece.at(-2) !== 0x0a
    }
  }
}
