import type { JsonValue } from '../../src/json/walk.ts'
import { jsonOf, textAt } from './json-reading.ts'

/** One event of a stream as a client reads it; comments are none. */
export interface StreamEvent {
  /** Null where the frame has no `event:` line. */
  readonly name: string | null
  readonly data: string
  /** Undefined if the data is not JSON. */
  readonly json: JsonValue | undefined
  /** Its `type`, or its data if it has none: `message_stop`, `[DONE]`. */
  readonly kind: string
}

/** The whole events of a stream. Throws where its last one is unfinished. */
export function eventsOf(stream: string): readonly StreamEvent[] {
  const frames = stream.split('\n\n')
  if (frames.pop() !== '') throw new Error('the stream ends within an event')
  return frames.filter((frame) => /^data:/m.test(frame)).map(eventOf)
}

function eventOf(frame: string): StreamEvent {
  const fieldOf = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(frame)?.[1] ?? null
  const data = fieldOf('data') ?? ''
  const json = jsonOf(data)
  return { name: fieldOf('event'), data, json, kind: textAt(json, 'type') || data }
}
