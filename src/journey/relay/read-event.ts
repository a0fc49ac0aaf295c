import { isPlainWord } from '../../formats/event-data.ts'
import type { StreamEvent } from '../../formats/format.ts'

/** One whole server-sent event as it was read, and what of it clients get. */
export interface ReadEvent extends StreamEvent {
  /** Several data lines are joined by LF. Empty: there is nothing to observe. */
  readonly data: string
  /**
   * What may be relayed: the event as it came where it has nothing but lines that the format uses, else
   * those lines alone. Empty where none is left.
   */
  readonly bytes: Buffer
}

// As latin-1 reads it; a stream may begin with one.
const BYTE_ORDER_MARK = '\xef\xbb\xbf'

const NOTHING = Buffer.alloc(0)
const KEEP_ALIVE = Buffer.from(':\n\n')

/**
 * Reads the events of one stream as the event-stream format says. Only `data:` lines, and `event:` lines
 * where the format names its events, reach clients: an event without data is dropped, comments become
 * bare keep-alives, and other fields are left out, because a provider can write anything into them.
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
    // Nearly every event is one data line ended by LF LF, with an event line before it in the formats
    // that name their events. No line need be cut out of it then.
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
    // Whether the event has nothing but lines that may be relayed.
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
    const dataLines = `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`
    return Buffer.from(`${comment}${eventLine}${dataLines}`, 'latin1')
  }
}
