import { isPlainWord, type StreamEvent } from '../../formats/format.ts'
import { guessBytes, SIXTIETHS } from '../../formats/token-guess.ts'
import type { JsonBody, JsonObject } from '../../json/walk.ts'
import {
  NOTHING_REPORTED,
  promptTokensOf,
  type Reported,
  type TokenUsage,
} from '../../vocabulary/outcome.ts'
import type { StreamEventReading, StreamObserver } from '../wire.ts'

/** The reading of an event that is relayed unchanged. */
export const RELAY: StreamEventReading = { kind: 'relay' }

/** An observer that adds up the reports of a stream's events and estimates the tokens of their text. */
export abstract class TallyObserver implements StreamObserver {
  readonly #text: StreamText
  #reported: Reported = NOTHING_REPORTED
  /** The likely tokens of the text so far, in sixtieths. */
  #textGuess = 0
  /** The guessed tokens up to the provider's last count. */
  #countedGuess = 0

  constructor(...members: ConstructorParameters<typeof StreamText>) {
    this.#text = new StreamText(...members)
  }

  abstract onEvent(event: StreamEvent): StreamEventReading

  takeAlike(chunk: Buffer, start: number): number {
    for (let end = start; ; ) {
      const next = this.#text.matchTemplate(chunk, end)
      if (next === -1) return end
      this.#textGuess += guessBytes(this.#text.matched)
      end = next
    }
  }

  /** True, with its text counted, for an event that differs from the template only in its text. */
  protected matchesTemplate({ name, data }: StreamEvent): boolean {
    const bytes = Buffer.from(`${headOf(name)}${data}${END}`, 'latin1')
    // If the data has several lines, one of them could end the event early.
    return !data.includes('\n') && this.takeAlike(bytes, 0) === bytes.length
  }

  /** Counts the text of any event. */
  protected addTextOf(event: StreamEvent): void {
    this.#addText(this.#text.read(event))
  }

  /** Makes the event of the last {@link addTextOf}, whose data is JSON, the template of later events. */
  protected learnTemplate(): void {
    this.#text.learnTemplate()
  }

  /**
   * Takes the report of an event, after its text. Counts are cumulative: later ones replace earlier ones. But no prompt
   * is empty, and a zero replaces no count of it.
   */
  protected learn({ usage, costUsd, generationId, ...tier }: Reported): void {
    if (usage !== null && countsAny(usage)) this.#countedGuess = this.#textGuess
    this.#reported = {
      ...this.#reported,
      ...tier,
      usage: laterUsage(this.#reported.usage, usage),
      costUsd: costUsd ?? this.#reported.costUsd,
      generationId: this.#reported.generationId ?? generationId,
    }
  }

  /** Drops the last counts. */
  protected forgetCounts(): void {
    this.#countedGuess = 0
    this.#reported = { ...this.#reported, usage: null }
  }

  reported(): Reported {
    return this.#reported
  }

  relayedTokens(): number {
    return Math.ceil((this.#textGuess - this.#countedGuess) / SIXTIETHS)
  }

  textTokens(): number {
    return Math.ceil(this.#textGuess / SIXTIETHS)
  }

  // Latin-1: one character for each byte of UTF-8.
  #addText(text: string): void {
    if (text !== '') this.#textGuess += guessBytes(Buffer.from(text, 'latin1'))
  }
}

/**
 * By position: the usage until an event, and the usage that the event reports. A new object for each event that reports
 * any, even if no count changes: by this an observer sees that an event has counts.
 */
function laterUsage(earlier: TokenUsage | null, later: TokenUsage | null): TokenUsage | null {
  if (earlier === null || later === null) return later ?? earlier
  if (promptTokensOf(later) > 0) return later
  if (!countsAny(later)) return { ...earlier }
  const { outputTokens, reasoningTokens, imageOutputTokens, searches } = later
  return { ...earlier, outputTokens, reasoningTokens, imageOutputTokens, searches }
}

function countsAny(usage: TokenUsage): boolean {
  return promptTokensOf(usage) + usage.outputTokens > 0
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
  #template: {
    readonly before: TemplatePart
    readonly after: TemplatePart
  } | null = null

  /** `counter`: a member whose number grows from event to event; null for none. */
  constructor(members: readonly string[], counter: string | null = null) {
    this.#quotedMembers = members.map((member) => `"${member}"`)
    this.#counter =
      counter === null ? null : new RegExp(`^([^]*"${counter}":)[0-9]+([^0-9.eE][^]*)$`)
  }

  /** The text of any event. The same text under a second name is not a second text: some providers repeat it. */
  read(event: StreamEvent): string {
    const { data } = event
    let text = ''
    let count = 0
    let firstText = ''
    let firstMember = ''
    let others: Map<string, string> | null = null
    this.#place = null
    for (const member of this.#quotedMembers) {
      for (let at = data.indexOf(member); at !== -1; at = data.indexOf(member, at + 1)) {
        const start = stringStart(data, at + member.length)
        const end = start === -1 ? -1 : stringEnd(data, start)
        if (end === -1) continue
        const found = data.slice(start, end)
        if (count++ === 0) {
          firstText = found
          firstMember = member
        }
        // Most events have one text: they need no map.
        let name = found === firstText ? firstMember : others?.get(found)
        if (name === undefined) {
          name = member
          others ??= new Map()
          others.set(found, name)
        }
        if (name === member) text += found
        this.#place = { event, start, end }
      }
    }
    if (count > 1) this.#place = null
    return unescaped(text)
  }

  /** Makes the event last read, whose data is JSON, the template of events that report only text. */
  learnTemplate(): void {
    if (this.#place === null) return
    const { event, start, end } = this.#place
    // The event keeps its chunk in memory for as long as the stream is open.
    this.#place = null
    const { name, data } = event
    // Neither passes unchanged: data of several lines, and a name that is no word, which is not relayed.
    if (data.includes('\n') || (name !== null && !isPlainWord(name))) return
    this.#template = {
      before: this.#cutAtCounter(headOf(name) + data.slice(0, start)),
      after: this.#cutAtCounter(data.slice(end) + END),
    }
  }

  #cutAtCounter(source: string): TemplatePart {
    const [, upToNumber = source, fromThere] = this.#counter?.exec(source) ?? []
    return {
      start: keptBytes(upToNumber),
      end: fromThere === undefined ? null : keptBytes(fromThere),
    }
  }

  /** The text of the event that {@link matchTemplate} matched; empty: it matched none. */
  matched: Uint8Array = NOTHING

  /**
   * The end of the event that begins here, if it differs from the template only in text and counter, as most
   * events of a stream do; -1 if it may report more, not be JSON, or continue in the next chunk.
   */
  matchTemplate(bytes: Buffer, eventStart: number): number {
    this.matched = NOTHING
    if (this.#template === null) return -1
    const { before, after } = this.#template
    const start = partEnd(bytes, eventStart, before)
    const textEnd = start === -1 ? -1 : stringEndIn(bytes, start)
    const end = textEnd === -1 ? -1 : partEnd(bytes, textEnd, after)
    if (end === -1) return -1
    const text = bytes.subarray(start, textEnd)
    this.matched = text.includes(BACKSLASH)
      ? Buffer.from(unescaped(text.toString('latin1')), 'latin1')
      : text
    return end
  }
}

// The bytes of latin-1 text, in memory that they share with nothing: Node's pool would be kept with them, 64 KB.
function keptBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(text.length)
  bytes.write(text, 'latin1')
  return bytes
}

/** The bytes on one side of the text, without the number of the counter. */
interface TemplatePart {
  /** All of them, or those up to the counter. */
  readonly start: Buffer
  /** The bytes after the counter; null: there is no counter on this side. */
  readonly end: Buffer | null
}

/** The lines of an event as nearly all providers write them. */
function headOf(name: string | null): string {
  return name === null ? 'data: ' : `event: ${name}\ndata: `
}

const END = '\n\n'
const NOTHING = Buffer.alloc(0)

// The end of a part of the template that starts here, with a whole number for its counter; -1: it does not.
function partEnd(bytes: Buffer, at: number, part: TemplatePart): number {
  const startEnd = bytesEnd(bytes, at, part.start)
  if (startEnd === -1 || part.end === null) return startEnd
  const numberEnd = wholeNumberEnd(bytes, startEnd)
  return numberEnd === -1 ? -1 : bytesEnd(bytes, numberEnd, part.end)
}

function bytesEnd(bytes: Buffer, start: number, expected: Buffer): number {
  const end = start + expected.length
  if (end > bytes.length) return -1
  return bytes.compare(expected, 0, expected.length, start, end) === 0 ? end : -1
}

// The end of the whole number that starts here; -1: there is none. A leading zero makes it none.
function wholeNumberEnd(bytes: Buffer, start: number): number {
  let end = start
  while (isDigit(bytes[end] ?? 0)) end++
  const digits = end - start
  return digits === 1 || (digits > 1 && bytes[start] !== ZERO) ? end : -1
}

// The place of the quote that ends the content of a JSON string; -1: there is none, or it is no content.
function stringEndIn(bytes: Buffer, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) return at
    if (byte < SPACE) return -1
    if (byte !== BACKSLASH) continue
    at++
    const letter = String.fromCharCode(bytes[at] ?? 0)
    if (letter === 'u') {
      if (!/^[0-9a-fA-F]{4}$/.test(bytes.toString('latin1', at + 1, at + 5))) return -1
      at += 4
    } else if (!'"\\/bfnrt'.includes(letter)) return -1
  }
  return -1
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= ZERO + 9
}

const ZERO = 48

function unescaped(text: string): string {
  return text.includes('\\') ? text.replace(ESCAPE, resolveEscape) : text
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
