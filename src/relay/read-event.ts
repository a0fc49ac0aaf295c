import type { StreamEvent } from '../wire/format.ts'

// As latin-1 reads it; a stream may begin with one.
const BYTE_ORDER_MARK = '\xef\xbb\xbf'

/**
 * Reads one whole server-sent event: its name and its data, several data lines joined by LF as the
 * event-stream format says. Null where it has no data (comments, blank lines), which nobody observes.
 */
export function readEvent(bytes: Buffer): StreamEvent | null {
  const text = bytes.toString('latin1')
  // Nearly every event is one data line ended by LF LF, for which no line need be cut out.
  if (text.startsWith('data: ') && text.indexOf('\n') === text.length - 2 && !text.includes('\r')) {
    return { name: null, data: text.slice(6, -2) }
  }
  return readLines(text.startsWith(BYTE_ORDER_MARK) ? text.slice(3) : text)
}

function readLines(text: string): StreamEvent | null {
  let name: string | null = null
  let data: string | null = null
  for (const line of text.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    if (field !== 'data' && field !== 'event') continue
    const value = colon === -1 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))
    if (field === 'event') name = value
    else data = data === null ? value : `${data}\n${value}`
  }
  return data === null ? null : { name, data }
}
