import type { StreamEvent } from '../../formats/format.ts'
import type { JsonBody, JsonObject } from '../../json/walk.ts'
import { estimateTextTokensOfLatin1 } from '../../tokens/estimate.ts'
import { NOTHING_REPORTED, type Reported } from '../../vocabulary/outcome.ts'
import type { StreamEventReading, StreamObserver } from '../upstream.ts'

/** The reading of an event that is relayed unchanged. */
export const RELAY: StreamEventReading = { kind: 'relay' }

/** An observer that adds up the reports of a stream's events and estimates the tokens of their text. */
export abstract class TallyObserver implements StreamObserver {
  readonly #text: StreamText
  #reported: Reported = NOTHING_REPORTED
  #relayedTokens = 0

  constructor(...members: ConstructorParameters<typeof StreamText>) {
    this.#text = new StreamText(...members)
  }

  abstract onEvent(event: StreamEvent): StreamEventReading

  /** True, with its text counted, for an event that differs from the template in nothing but its text. */
  protected matchesTemplate(event: StreamEvent): boolean {
    const text = this.#text.matchTemplate(event)
    if (text === null) return false
    this.#addText(text)
    return true
  }

  /** Counts the text of any event. */
  protected addTextOf(event: StreamEvent): void {
    this.#addText(this.#text.read(event))
  }

  /** Makes the event of the last {@link addTextOf}, whose data is JSON, the template of later events. */
  protected learnTemplate(): void {
    this.#text.learnTemplate()
  }

  /** Takes the report of an event, after its text. Counts are cumulative: later ones replace earlier ones. */
  protected learn({ usage, costUsd, generationId, ...tier }: Reported): void {
    if (usage !== null) this.#relayedTokens = 0
    this.#reported = {
      ...this.#reported,
      ...tier,
      usage: usage ?? this.#reported.usage,
      costUsd: costUsd ?? this.#reported.costUsd,
      generationId: this.#reported.generationId ?? generationId,
    }
  }

  reported(): Reported {
    return this.#reported
  }

  relayedTokens(): number {
    return this.#relayedTokens
  }

  // Latin-1: one character for each byte of UTF-8.
  #addText(text: string): void {
    if (text !== '') this.#relayedTokens += estimateTextTokensOfLatin1(text)
  }
}

/** An event's JSON object together with its bytes, for the digits of its numbers. By position: data, object. */
export function eventBody(data: string, root: JsonObject): JsonBody {
  return { bytes: Buffer.from(data, 'latin1'), root }
}

/**
 * Finds the text in one stream's events: the strings under these member names, anywhere in an event's data. It
 * is counted as the events pass, so that a stream that breaks off before its usage event can still be charged.
 * Data and text are latin-1, one character for each byte of UTF-8; escapes are resolved.
 */
export class StreamText {
  readonly #quotedMembers: readonly string[]
  /** The place of the text in the event last read; null: it had no text, or several. */
  #place: { readonly event: StreamEvent; readonly start: number; readonly end: number } | null =
    null
  readonly #counter: RegExp | null
  #template: Template | null = null

  /** `counter`: a member whose number grows from event to event; null for none. */
  constructor(members: readonly string[], counter: string | null = null) {
    this.#quotedMembers = members.map((member) => `"${member}"`)
    this.#counter =
      counter === null ? null : new RegExp(`^([^]*"${counter}":)[0-9]+([^0-9.eE][^]*)$`)
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
    return unescaped(text)
  }

  /** Makes the event last read, whose data is JSON, the template of events that report nothing but text. */
  learnTemplate(): void {
    if (this.#place === null) return
    const { event, start, end } = this.#place
    const { name, data } = event
    const [before, beforeCounted] = this.#cutAtCounter(data.slice(0, start))
    const [afterText, afterCounted] = this.#cutAtCounter(data.slice(end))
    this.#template = { name, before, beforeCounted, afterText, afterCounted }
  }

  #cutAtCounter(source: string): readonly [string, string | null] {
    const [, upToNumber, fromThere] = this.#counter?.exec(source) ?? []
    if (upToNumber === undefined || fromThere === undefined) return [source, null]
    return [upToNumber, fromThere]
  }

  /**
   * The text of an event that differs from the template in nothing but text and counter, as most events of a
   * stream do; null if it may report more, or be no JSON. Takes a tenth of the time of `read`.
   */
  matchTemplate({ name, data }: StreamEvent): string | null {
    const template = this.#template
    if (template === null || name !== template.name) return null
    const { before, beforeCounted, afterText, afterCounted } = template
    // `startsWith` with a position takes ten times as long.
    const has = (part: string, at: number) => data.slice(at, at + part.length) === part
    if (!has(before, 0)) return null
    let start = before.length
    if (beforeCounted !== null) {
      start = wholeNumberEnd(data, start)
      if (start === -1 || !has(beforeCounted, start)) return null
      start += beforeCounted.length
    }
    let end = data.length
    if (afterCounted !== null) {
      end -= afterCounted.length
      if (!has(afterCounted, end)) return null
      end = wholeNumberStart(data, end)
      if (end === -1) return null
    }
    end -= afterText.length
    if (end < start || !has(afterText, end)) return null
    const text = data.slice(start, end)
    // Other content would end the text early, or make the data invalid JSON.
    return isStringContent(text) ? unescaped(text) : null
  }
}

/** An event without its text and without the number of its counter. */
interface Template {
  readonly name: string | null
  /** The data up to the text, or to the counter before it. */
  readonly before: string
  /** The data between that counter and the text; null: no counter is before the text. */
  readonly beforeCounted: string | null
  /** The data after the text, or up to the counter after it. */
  readonly afterText: string
  /** The data after that counter; null: no counter is after the text. */
  readonly afterCounted: string | null
}

// The end of the whole number that starts here; -1: there is none. A leading zero makes it none.
function wholeNumberEnd(data: string, start: number): number {
  let end = start
  while (isDigit(data.charCodeAt(end))) end++
  return isWholeNumber(data, { start, end }) ? end : -1
}

// The start of the whole number that ends here; -1: there is none.
function wholeNumberStart(data: string, end: number): number {
  let start = end
  while (isDigit(data.charCodeAt(start - 1))) start--
  return isWholeNumber(data, { start, end }) ? start : -1
}

function isWholeNumber(data: string, { start, end }: { start: number; end: number }): boolean {
  const digits = end - start
  return digits === 1 || (digits > 1 && data.charCodeAt(start) !== ZERO)
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9
}

const ZERO = 48

function unescaped(text: string): string {
  return text.includes('\\') ? text.replace(ESCAPE, resolveEscape) : text
}

/** Whether a text may be the content of a JSON string. */
function isStringContent(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE || code < SPACE) return false
    if (code !== BACKSLASH) continue
    at++
    const letter = text.charAt(at)
    if (letter === 'u') {
      if (!/^[0-9a-fA-F]{4}$/.test(text.slice(at + 1, at + 5))) return false
      at += 4
    } else if (letter === '' || !'"\\/bfnrt'.includes(letter)) return false
  }
  return true
}

// The start of the characters of the string value after a member name; -1 for other values.
function stringStart(data: string, nameEnd: number): number {
  let at = skipSpaces(data, nameEnd)
  if (data.charCodeAt(at) !== COLON) return -1
  at = skipSpaces(data, at + 1)
  return data.charCodeAt(at) === QUOTE ? at + 1 : -1
}

// The place of the string's closing quote; -1: there is none.
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

// Adjacent escapes may be the two halves of one character. The bound protects the regex engine's stack.
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
