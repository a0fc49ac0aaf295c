import type { StreamEvent } from './format.ts'

/**
 * The text inside a stream's events, found by the names of the members that carry it. It is counted as
 * the events pass, so that a stream cut off before its usage event can still be charged.
 */

/**
 * Reads the text of one stream's events: what stands under these member names, anywhere in an event's
 * data. Data and text are latin-1, one character for each byte of UTF-8; escapes are resolved.
 */
export class StreamText {
  readonly #quotedMembers: readonly string[]
  /** Where the one text of the event last read stands; null: it had none, or several, or escapes. */
  #place: { readonly event: StreamEvent; readonly start: number; readonly end: number } | null =
    null
  /** An event but for its text: its name, and its data up to the text and from there. */
  #template: { readonly name: string | null; before: string; after: string } | null = null

  constructor(members: readonly string[]) {
    this.#quotedMembers = members.map((member) => `"${member}"`)
  }

  /** The text of any event. */
  read(event: StreamEvent): string {
    const { data } = event
    let text = ''
    let count = 0
    this.#place = null
    for (const member of this.#quotedMembers) {
      for (let at = data.indexOf(member); at !== -1; at = data.indexOf(member, at + 1)) {
        const start = stringStart(data, at + member.length)
        const end = start === -1 ? -1 : stringEnd(data, start)
        if (end === -1) continue
        text += data.slice(start, end)
        count++
        this.#place = { event, start, end }
      }
    }
    if (count > 1) this.#place = null
    if (!text.includes('\\')) return text
    this.#place = null
    return text.replace(ESCAPE, resolveEscape)
  }

  /** Remembers the event last read as one that says nothing but its text. */
  remember(): void {
    if (this.#place === null) return
    const { event, start, end } = this.#place
    const { name, data } = event
    this.#template = { name, before: data.slice(0, start), after: data.slice(end) }
  }

  /**
   * The text of an event that differs from the remembered one in its text alone, as most events of a
   * stream do from the one before; null where it may say more. A tenth of the time of `read`.
   */
  readAlike({ name, data }: StreamEvent): string | null {
    if (this.#template === null || name !== this.#template.name) return null
    const { before, after } = this.#template
    const end = data.length - after.length
    if (end < before.length || !data.startsWith(before) || !data.endsWith(after)) return null
    const text = data.slice(before.length, end)
    // A quote would end the text early, a backslash may hide one.
    return text.includes('"') || text.includes('\\') ? null : text
  }
}

// Where the characters of the string value after a member name start; -1 for other values.
function stringStart(data: string, nameEnd: number): number {
  let at = skipSpaces(data, nameEnd)
  if (data.charCodeAt(at) !== COLON) return -1
  at = skipSpaces(data, at + 1)
  return data.charCodeAt(at) === QUOTE ? at + 1 : -1
}

// Where the string's closing quote stands; -1: nowhere.
function stringEnd(data: string, start: number): number {
  for (let end = data.indexOf('"', start); end !== -1; end = data.indexOf('"', end + 1)) {
    if (!isEscaped(data, end)) return end
  }
  return -1
}

const QUOTE = 34
const COLON = 58
const BACKSLASH = 92
const SPACE = 32

function skipSpaces(data: string, from: number): number {
  let at = from
  while (data.charCodeAt(at) <= SPACE) at++
  return at
}

function isEscaped(data: string, at: number): boolean {
  let backslashes = 0
  while (data.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++
  return backslashes % 2 === 1
}

// Two halves of a pair stand side by side and make one character. The bound keeps the engine's stack.
const ESCAPE = /(?:\\u[0-9a-fA-F]{4}){1,1024}|\\./g

function resolveEscape(source: string): string {
  const letter = source.charAt(1)
  if (letter !== 'u' || source.length === 2) return PLAIN_ESCAPES[letter] ?? letter
  return Buffer.from(String(JSON.parse(`"${source}"`)), 'utf8').toString('latin1')
}

const PLAIN_ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}
