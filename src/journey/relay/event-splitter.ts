import { GrowingBytes } from '../../vocabulary/growing-bytes.ts'

/** What a splitter hands whole events to, in order. */
interface SplitSink {
  /** `bytes` is one event with its blank line, exactly as it came. */
  onEvent(bytes: Buffer): void
}

// Where the scan stands in a server-sent event stream. Lines end in LF, CRLF or CR; a blank line ends
// an event.
const IN_LINE = 0
const LINE_START = 1
const AFTER_CR = 2
// A blank line that ended in CR: whether an LF belongs to it is known with the next byte.
const AFTER_BLANK_CR = 3

const LF = 10
const CR = 13

/**
 * Cuts a byte stream into whole server-sent events, wherever the chunks are cut. It holds the
 * unfinished event's bytes and nothing else, and looks at each byte once.
 */
export class EventSplitter {
  readonly #eventBytesMax: number
  #state = LINE_START
  readonly #tail = new GrowingBytes()

  constructor(eventBytesMax: number) {
    this.#eventBytesMax = eventBytesMax
  }

  /** False where an event is over its limit; the stream can't go on then. */
  push(chunk: Buffer, sink: SplitSink): boolean {
    let eventStart = 0
    let state = this.#state
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]
      if (state === AFTER_BLANK_CR) {
        const end = byte === LF ? i + 1 : i
        this.#emit(chunk.subarray(eventStart, end), sink)
        eventStart = end
        state = LINE_START
        if (byte === LF) continue
      }
      if (byte === LF) {
        if (state === LINE_START) {
          this.#emit(chunk.subarray(eventStart, i + 1), sink)
          eventStart = i + 1
        }
        state = LINE_START
      } else if (byte === CR) {
        state = state === IN_LINE ? AFTER_CR : AFTER_BLANK_CR
      } else {
        state = IN_LINE
      }
    }
    this.#state = state
    if (eventStart < chunk.length) {
      this.#tail.add(eventStart === 0 ? chunk : chunk.subarray(eventStart))
    }
    return this.#tail.length <= this.#eventBytesMax
  }

  /** What stood after the last blank line when the stream ended cleanly; empty where nothing did. */
  takeTail(): Buffer {
    this.#state = LINE_START
    return this.#tail.take()
  }

  #emit(end: Buffer, sink: SplitSink): void {
    if (this.#tail.length === 0) sink.onEvent(end)
    else sink.onEvent(this.#tail.take(end))
  }
}
