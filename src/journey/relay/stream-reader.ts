import type { IncomingHttpHeaders } from 'node:http'
import { isPlainWord, type StreamEvent } from '../../formats/format.ts'
import { parseEventData } from '../../json/body.ts'
import type { Attempt } from '../../upstreams/attempt.ts'
import type { StreamEventReading, StreamObserver } from '../../upstreams/wire.ts'
import { GrowingBytes } from '../../vocabulary/growing-bytes.ts'
import { NOTHING_REPORTED, type Reported } from '../../vocabulary/outcome.ts'
import type { HeldRequest, RelayEnding } from '../held-request.ts'

/** A stream whose headers have come, and the listener for the end of its relay. */
export interface StreamRelayInput {
  readonly attempt: Attempt
  readonly headers: IncomingHttpHeaders
  readonly resolve: (ending: RelayEnding) => void
}

/** Takes the events of one stream, in order. */
export interface EventSink {
  onEvent(event: ReadEvent): void
  /** Takes events that are relayed unchanged and report nothing new to the reader. */
  onMatched(events: Buffer): void
}

/** Reads the events of one stream, and keeps what the events and the headers report. */
export class StreamReader {
  /** The answer's generation id, if its headers have one. */
  readonly headerGenerationId: string | null
  readonly #observer: StreamObserver
  readonly #splitter: EventSplitter
  readonly #events: EventReader
  readonly #namesEvents: boolean
  readonly #sink: EventSink
  /** Whether the terminal event has come. */
  #isOver = false

  constructor(held: HeldRequest, headers: IncomingHttpHeaders, sink: EventSink) {
    this.headerGenerationId = held.wire.generationIdOf(headers)
    this.#observer = held.observeStream()
    this.#splitter = new EventSplitter(held.limits.eventBytesMax)
    this.#events = new EventReader(held.request.format)
    this.#namesEvents = held.request.format.namesEvents
    this.#sink = sink
  }

  /** Passes on each event that the chunk completes. False if an event is over its limit. */
  push(chunk: Buffer): boolean {
    return this.#splitter.push(chunk, this)
  }

  /** The bytes of the event that has begun. */
  get unfinishedBytes(): number {
    return this.#splitter.unfinishedBytes
  }

  /** Takes as many events as it can from a chunk, from `start` on, and returns the end of the last one. */
  takeAlike(chunk: Buffer, start: number): number {
    if (this.#isOver) return start
    // In a format that does not name its events, a line with a name is not relayed.
    if (!this.#namesEvents && chunk[start] === FIRST_OF_EVENT) return start
    const end = this.#observer.takeAlike(chunk, start)
    if (end > start) this.#sink.onMatched(chunk.subarray(start, end))
    return end
  }

  /** Takes one whole event from the splitter. */
  onEvent(whole: Buffer): void {
    this.#sink.onEvent(this.#events.read(whole))
  }

  /** Passes on the last event, whose blank line may be missing. Data that is not whole was cut off. */
  end(): void {
    const tail = this.#events.read(this.#splitter.takeTail())
    if (isWholeData(tail.data)) this.#sink.onEvent(tail)
  }

  /**
   * Reads an event with the wire's observer. After the terminal event, only `[DONE]` is relayed: the hold is settled,
   * so no account would pay for more.
   */
  observe(event: ReadEvent): StreamEventReading {
    const reading = this.#observer.onEvent(event)
    if (this.#isOver) return event.data === '[DONE]' && reading.kind === 'relay' ? reading : DROP
    this.#isOver = reading.kind === 'terminal'
    return reading
  }

  /** Whether any event had text. */
  get hasText(): boolean {
    return this.#observer.textTokens() > 0
  }

  relayedTokens(): number {
    return this.#observer.relayedTokens()
  }

  reported(): Reported {
    const reported = this.#observer.reported()
    if (reported.generationId !== null || this.headerGenerationId === null) return reported
    return { ...reported, generationId: this.headerGenerationId }
  }

  /** Like {@link reported}, for use after a fault that may be the observer's. */
  reportedAtLeast(): Reported {
    try {
      return this.reported()
    } catch {
      return { ...NOTHING_REPORTED, generationId: this.headerGenerationId }
    }
  }
}

const DROP: StreamEventReading = { kind: 'drop' }

interface SplitSink {
  /** Takes one event with its blank line, unchanged. Called in order. */
  onEvent(bytes: Buffer): void
  /**
   * Takes whole events that end in two line feeds, from `start`, where an event begins. Returns the end of the last
   * one, or `start` if it took none; then the next event is split off.
   */
  takeAlike(chunk: Buffer, start: number): number
}

// States of the scan of a server-sent event stream. Lines end in LF, CRLF or CR; a blank line ends an event.
const IN_LINE = 0
const LINE_START = 1
const AFTER_CR = 2
// After a blank line that ended in CR: the next byte shows whether an LF belongs to it.
const AFTER_BLANK_CR = 3

const LF = 10
const CR = 13
const FIRST_OF_EVENT = 101

// An event of millions of lines would block the thread with as many objects. Pretty-printed JSON has a few hundred
// lines.
const EVENT_LINES_MAX = 10_000

/**
 * Cuts a byte stream into whole server-sent events, for any division into chunks. It keeps only the bytes of
 * the unfinished event and looks at each byte once.
 */
export class EventSplitter {
  readonly #eventBytesMax: number
  #state = LINE_START
  /** Line ends in the unfinished event. */
  #lines = 0
  readonly #tail = new GrowingBytes()

  constructor(eventBytesMax: number) {
    this.#eventBytesMax = eventBytesMax
  }

  /** False if an event is over its limit: the stream can't continue. */
  push(chunk: Buffer, sink: SplitSink): boolean {
    let eventStart = 0
    let state = this.#state
    for (let i = 0; i < chunk.length; i++) {
      if (i === eventStart && state === LINE_START && this.#tail.length === 0) {
        eventStart = i = sink.takeAlike(chunk, i)
        if (i === chunk.length) break
      }
      const byte = chunk[i]
      if (state === AFTER_BLANK_CR) {
        const end = byte === LF ? i + 1 : i
        this.#emit(chunk.subarray(eventStart, end), sink)
        eventStart = end
        state = LINE_START
        if (byte === LF) continue
      }
      if (byte === LF) {
        if (state !== AFTER_CR) this.#lines++
        if (state === LINE_START) {
          this.#emit(chunk.subarray(eventStart, i + 1), sink)
          eventStart = i + 1
        }
        state = LINE_START
      } else if (byte === CR) {
        this.#lines++
        state = state === IN_LINE ? AFTER_CR : AFTER_BLANK_CR
      } else {
        state = IN_LINE
      }
    }
    this.#state = state
    if (eventStart < chunk.length) {
      this.#tail.add(eventStart === 0 ? chunk : chunk.subarray(eventStart))
    }
    return this.#tail.length <= this.#eventBytesMax && this.#lines <= EVENT_LINES_MAX
  }

  get unfinishedBytes(): number {
    return this.#tail.length
  }

  /** The bytes after the last blank line of a stream that ended cleanly. */
  takeTail(): Buffer {
    this.#state = LINE_START
    return this.#tail.take()
  }

  #emit(end: Buffer, sink: SplitSink): void {
    this.#lines = 0
    if (this.#tail.length === 0) sink.onEvent(end)
    else sink.onEvent(this.#tail.take(end))
  }
}

/** One whole server-sent event, and the bytes of it that clients get. */
export interface ReadEvent extends StreamEvent {
  /** Several data lines are joined by LF. Empty: the event has no data. */
  readonly data: string
  /**
   * The bytes to relay: the event unchanged if all its lines are of the format, else only those lines. May be
   * empty.
   */
  readonly bytes: Buffer
}

// The byte order mark that a stream may begin with, as latin-1 decodes its bytes.
const BYTE_ORDER_MARK = '\xef\xbb\xbf'

const NOTHING = Buffer.alloc(0)
const KEEP_ALIVE = Buffer.from(':\n\n')

/**
 * Reads the events of one stream. Only `data:` lines, and `event:` lines if the format names its events, reach
 * clients: an event without data is dropped, comments become bare keep-alives, and other fields are left out,
 * because a provider can write anything into them.
 */
export class EventReader {
  readonly #namesEvents: boolean
  #isFirst = true

  constructor({ namesEvents }: { readonly namesEvents: boolean }) {
    this.#namesEvents = namesEvents
  }

  read(bytes: Buffer): ReadEvent {
    const text = bytes.toString('latin1')
    const isFirst = this.#isFirst
    this.#isFirst = false
    // Fast path: nearly every event is one data line ended by LF LF, after an event line in formats that
    // name their events.
    const lineEnd = text.indexOf('\n')
    if (!text.includes('\r')) {
      const last = text.length - 2
      if (lineEnd === last && last > 6 && text.startsWith('data: ')) {
        return { name: null, data: text.slice(6, -2), bytes }
      }
      const start = lineEnd + 1
      if (
        this.#namesEvents &&
        text.startsWith('event: ') &&
        text.startsWith('data: ', start) &&
        text.indexOf('\n', start) === last &&
        last > start + 6
      ) {
        const name = text.slice(7, lineEnd)
        if (isPlainWord(name)) return { name, data: text.slice(start + 6, -2), bytes }
      }
    }
    const hasMark = isFirst && text.startsWith(BYTE_ORDER_MARK)
    return this.#readLines(hasMark ? text.slice(BYTE_ORDER_MARK.length) : text, bytes)
  }

  #readLines(text: string, bytes: Buffer): ReadEvent {
    let name: string | null = null
    let data: string | null = null
    let hasComment = false
    // Whether every line may be relayed.
    let isClean = true
    for (const line of text.split(/\r\n|\n|\r/)) {
      if (line === '') continue
      const colon = line.indexOf(':')
      const field = colon === -1 ? line : line.slice(0, colon)
      const value = colon === -1 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))
      if (field === 'data') data = data === null ? value : `${data}\n${value}`
      else if (field === 'event') {
        isClean &&= this.#namesEvents && name === null && isPlainWord(value)
        name = value
      } else {
        isClean &&= line === ':'
        hasComment ||= field === ''
      }
    }
    if (data === null || data === '') {
      const isBlank = data === null && name === null && isClean
      return { name, data: '', bytes: isBlank ? bytes : hasComment ? KEEP_ALIVE : NOTHING }
    }
    return { name, data, bytes: isClean ? bytes : this.#rewritten({ name, data, hasComment }) }
  }

  #rewritten({ name, data, hasComment }: StreamEvent & { hasComment: boolean }): Buffer {
    const comment = hasComment ? ':\n' : ''
    const isNamed = this.#namesEvents && name !== null && isPlainWord(name)
    const eventLine = isNamed ? `event: ${name}\n` : ''
    return Buffer.from(`${comment}${eventLine}${dataLines(data)}`, 'latin1')
  }
}

/** The lines that end an event with this data, which may have several lines itself. */
export function dataLines(data: string): string {
  return `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`
}

/** Whether an event's data can be read, so that it was not cut off. */
function isWholeData(data: string): boolean {
  return data === '[DONE]' || parseEventData(data) !== null
}
