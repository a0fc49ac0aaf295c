import type { StreamEvent } from '../wire/format.ts'

/**
 * Reads one whole server-sent event: its name and its data, several data lines joined by LF as the
 * event-stream format says. Null where it has no data (comments, blank lines), which nobody observes.
 */
export function readEvent(bytes: Buffer): StreamEvent | null {
  const text = bytes.toString('latin1')
  // Nearly every event is one data line ended by LF LF, for which no line need be cut out.
  if (text.startsWith('data: ')) {
    const lineEnd = text.indexOf('\n')
    if (lineEnd === text.length - 2 && text.charCodeAt(lineEnd - 1) !== CR) {
      return { name: null, data: text.slice(6, lineEnd) }
    }
  }
  return readLines(text)
}

const CR = 13

function readLines(text: string): StreamEvent | null {
  let name: string | null = null
  let data: string | null = null
  for (const line of text.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':')
    if (colon <= 0) continue
    const field = line.slice(0, colon)
    const value = line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1)
    if (field === 'event') name = value
    else if (field === 'data') data = data === null ? value : `${data}\n${value}`
  }
  return data === null ? null : { name, data }
}
