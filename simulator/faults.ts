import type { JsonObject } from './json-value.ts'

/** A point in the life of one answer. `afterBytes` counts body bytes, `afterEvents` stream events. */
export type Place =
  /** Before the request's body is read; only faults that name no model can match so early. */
  | 'beforeBody'
  /** The request is read whole, nothing is answered. */
  | 'beforeHeaders'
  /** The status and headers are sent, no byte of the body is. */
  | 'afterHeaders'
  | { readonly afterBytes: number }
  | { readonly afterEvents: number }

/** How a connection ends before its answer does: a TCP reset, a plain close, or an orderly end. */
export type CutManner = 'reset' | 'close' | 'end'

/** What an answer can leave out. */
export type Omission =
  | 'usage'
  | 'cost'
  /** The body's generation id. */
  | 'id'
  /** The `x-generation-id` header. */
  | 'generationHeader'
  /** `data: [DONE]`. */
  | 'done'
  /** A stream's last event of substance: finish chunk, `message_stop`, `response.completed`. */
  | 'terminal'

/** What stands in a 200 body in the place of the answer. */
export type WrongAnswer =
  /** An error envelope. */
  | 'errorObject'
  /** An answer that failed half-way: `finish_reason: error`, or a response of status failed. */
  | 'failedAnswer'
  /** In a stream, one event that is no JSON, after the first that is. */
  | 'malformedJson'
  | 'truncatedJson'
  | 'empty'

/** What a model does of its own will: says this, or calls this tool with these arguments. */
export type Act =
  | { readonly say: string }
  | { readonly call: string; readonly arguments: JsonObject }

/** Errors that a provider words in a way that gateways recognise. */
export type ErrorKind =
  | 'contextLength'
  | 'contentPolicy'
  | 'invalidParameter'
  | 'unsupportedParameter'
  | 'noEndpoints'

/**
 * One fault: which requests it befalls, what is answered instead, what is changed in the answer, and
 * how it is delivered. The parts combine. All of it is JSON, so that it can be posted.
 */
export interface Fault {
  /** The path below `/v1`, as `/chat/completions` or `/models`. Default: every inference path. */
  readonly path?: string
  /** The model as the request names it. Default: every model. */
  readonly model?: string
  /** How many requests it befalls. Default 1. */
  readonly times?: number | 'always'
  /** Stands in every text that must not leak. Default {@link DEFAULT_MARKER}. */
  readonly marker?: string

  /** Answer this status with a leaky error body. */
  readonly status?: number
  /** With `status`: an error of a recognised wording. */
  readonly kind?: ErrorKind
  /** With `status`: what kind of body. Default `json`; `skinless` is the chat envelope on every path. */
  readonly errorBody?: 'json' | 'skinless' | 'html' | 'empty'
  /** With `status`: the cost that the failed request reports all the same, in dollars. */
  readonly errorCostUsd?: number
  /** Answer these characters as the body, with `status` or 200. */
  readonly rawBody?: string

  readonly answer?: WrongAnswer
  /** What a text model says or calls, whatever it was asked: a list of these plays out a task. */
  readonly act?: Act
  readonly omit?: readonly Omission[]
  /** End a stream by the format's own error event after so many events. */
  readonly errorEvent?: ErrorEvent
  /** The cost that the answer reports, in dollars, whatever it would be. */
  readonly costUsd?: number
  /** The cost that the generation look-up reports, in dollars. */
  readonly lookupCostUsd?: number
  /** Adds a piece of text so many bytes long: a huge answer, or one huge event. */
  readonly fillBytes?: number
  /** Puts bytes that are no UTF-8 into the text. */
  readonly invalidUtf8?: boolean
  /** Replaces what matches this regular expression in the body, or in each event. */
  readonly rewrite?: { readonly pattern: string; readonly replacement: string }
  /** The stream's events have no `event:` lines, and end with `[DONE]` on every format. */
  readonly dataOnlyEvents?: boolean
  /** A client that goes away does not stop the generation: it is billed in full. */
  readonly ignoresCancel?: boolean

  /** Headers of the answer, beside or instead of its own. */
  readonly headers?: Readonly<Record<string, string>>
  /** Waits at this place until the gate is released. */
  readonly hold?: Place
  /** The gate of `hold`. Default `gate`. */
  readonly gate?: string
  /** Waits at this place for ever. */
  readonly stall?: Place
  readonly cut?: { readonly at: Place; readonly how: CutManner }
  /** Sends so many bytes a write, each flushed, with this pause between. */
  readonly drip?: { readonly bytes: number; readonly everyMs: number }
  readonly eventsPerWrite?: number
  /** `most`: it costs the most that the request as it was sent allows, whatever the answer says. */
  readonly bills?: 'most'
  /** Milliseconds between events. */
  readonly eventsEveryMs?: number
  readonly lineEnds?: 'crlf'
  /** `broken`: says gzip and is none. */
  readonly contentEncoding?: 'gzip' | 'br' | 'broken'
}

/** The error event that ends a stream. */
export interface ErrorEvent {
  readonly afterEvents: number
  /** Default 502. */
  readonly code?: number
  /** Whether usage and cost come with it, where the format has room. Default false. */
  readonly withUsage?: boolean
  /** Responses: the flat event, the nested one, or `response.failed`. Default `flat`. */
  readonly shape?: 'flat' | 'nested' | 'failed'
}

/** Stands in leaky error texts unless a fault names its own. */
export const DEFAULT_MARKER = 'LEAK-4c1f9e'

/** No fault at all. */
export const NO_FAULT: Fault = {}

const FIELDS: Readonly<Record<keyof Fault, (value: unknown) => boolean>> = {
  path: (value) => typeof value === 'string' && value.startsWith('/'),
  model: isString,
  times: (value) => value === 'always' || isCount(value),
  marker: isString,
  status: (value) => isCount(value) && value >= 200 && value <= 599,
  kind: isOneOf(
    'contextLength',
    'contentPolicy',
    'invalidParameter',
    'unsupportedParameter',
    'noEndpoints',
  ),
  errorBody: isOneOf('json', 'skinless', 'html', 'empty'),
  errorCostUsd: isNumber,
  rawBody: isString,
  answer: isOneOf('errorObject', 'failedAnswer', 'malformedJson', 'truncatedJson', 'empty'),
  act: (value) =>
    hasFields(value, { say: isString }) ||
    hasFields(value, { call: isString, arguments: isRecord }),
  omit: (value) => Array.isArray(value) && value.every(isOmission),
  errorEvent: isErrorEvent,
  costUsd: isNumber,
  lookupCostUsd: isNumber,
  bills: isOneOf('most'),
  fillBytes: isCount,
  invalidUtf8: isBoolean,
  rewrite: (value) => hasFields(value, { pattern: isPattern, replacement: isString }),
  dataOnlyEvents: isBoolean,
  ignoresCancel: isBoolean,
  headers: (value) => isRecord(value) && Object.values(value).every(isString),
  hold: isPlace,
  gate: isString,
  stall: isPlace,
  cut: (value) => hasFields(value, { at: isPlace, how: isOneOf('reset', 'close', 'end') }),
  drip: (value) => hasFields(value, { bytes: isPositive, everyMs: isNumber }),
  eventsPerWrite: isPositive,
  eventsEveryMs: isNumber,
  lineEnds: isOneOf('crlf'),
  contentEncoding: isOneOf('gzip', 'br', 'broken'),
}

/** Reads a fault that came as JSON. Throws TypeError naming the field that is unknown or wrong. */
function readFault(value: unknown): Fault {
  if (!isFault(value)) throw new TypeError('a fault is an object')
  return value
}

function isFault(value: unknown): value is Fault {
  if (!isRecord(value)) return false
  for (const [name, field] of Object.entries(value)) {
    if (!isFieldName(name)) throw new TypeError(`a fault has no field ${name}`)
    if (field !== undefined && !FIELDS[name](field)) {
      throw new TypeError(`a fault's ${name} can't be ${JSON.stringify(field)}`)
    }
  }
  return true
}

function isFieldName(name: string): name is keyof Fault {
  return Object.hasOwn(FIELDS, name)
}

/** The faults still to come, in the order in which they were scripted. */
export class FaultScript {
  #pending: { readonly fault: Fault; left: number }[] = []

  /** Adds faults behind those that are there. Throws TypeError for a fault that is none. */
  add(faults: Fault | readonly Fault[]): void {
    this.addJson(faults)
  }

  /** Adds what came as JSON: a fault or a list of them. Throws TypeError for anything else. */
  addJson(faults: unknown): void {
    const list: readonly unknown[] = Array.isArray(faults) ? faults : [faults]
    const read = list.map(readFault)
    for (const fault of read) {
      const left = fault.times === 'always' ? Number.POSITIVE_INFINITY : (fault.times ?? 1)
      if (left > 0) this.#pending.push({ fault, left })
    }
  }

  clear(): void {
    this.#pending = []
  }

  get isEmpty(): boolean {
    return this.#pending.length === 0
  }

  /** The faults still to come. */
  get pending(): readonly Fault[] {
    return this.#pending.map((entry) => entry.fault)
  }

  /** Takes the first fault that strikes before the body of a request of this path is read. */
  takeBeforeBody(path: string, isInference: boolean): Fault | null {
    return this.#take((fault) => strikesBeforeBody(fault) && matchesPath(fault, path, isInference))
  }

  /** Takes the first other fault that matches; null where none does. */
  take(target: {
    readonly path: string
    readonly isInference: boolean
    readonly model: string | null
  }): Fault | null {
    return this.#take(
      (fault) =>
        !strikesBeforeBody(fault) &&
        matchesPath(fault, target.path, target.isInference) &&
        (fault.model === undefined || fault.model === target.model),
    )
  }

  #take(matches: (fault: Fault) => boolean): Fault | null {
    const at = this.#pending.findIndex((entry) => matches(entry.fault))
    const entry = this.#pending[at]
    if (entry === undefined) return null
    entry.left -= 1
    if (entry.left <= 0) this.#pending.splice(at, 1)
    return entry.fault
  }
}

/** Whether an answer under this fault leaves this out. */
export function omits(fault: Fault, what: Omission): boolean {
  return fault.omit?.includes(what) ?? false
}

function strikesBeforeBody(fault: Fault): boolean {
  return (
    fault.hold === 'beforeBody' || fault.stall === 'beforeBody' || fault.cut?.at === 'beforeBody'
  )
}

function matchesPath(fault: Fault, path: string, isInference: boolean): boolean {
  return fault.path === undefined ? isInference : fault.path === path
}

function isString(value: unknown): value is string {
  return typeof value === 'string'
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number'
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean'
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isPositive(value: unknown): boolean {
  return isCount(value) && value > 0
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isOneOf(...words: readonly string[]): (value: unknown) => boolean {
  return (value) => typeof value === 'string' && words.includes(value)
}

function isPattern(value: unknown): boolean {
  if (typeof value !== 'string') return false
  try {
    new RegExp(value)
    return true
  } catch {
    return false
  }
}

const isOmission = isOneOf('usage', 'cost', 'id', 'generationHeader', 'done', 'terminal')

function isPlace(value: unknown): boolean {
  if (value === 'beforeBody' || value === 'beforeHeaders' || value === 'afterHeaders') return true
  return hasFields(value, { afterBytes: isCount }) || hasFields(value, { afterEvents: isCount })
}

function isErrorEvent(value: unknown): boolean {
  if (!isRecord(value) || !isCount(value['afterEvents'])) return false
  const { code, withUsage, shape } = value
  return (
    (code === undefined || isCount(code)) &&
    (withUsage === undefined || isBoolean(withUsage)) &&
    (shape === undefined || isOneOf('flat', 'nested', 'failed')(shape))
  )
}

function hasFields(value: unknown, fields: Readonly<Record<string, (value: unknown) => boolean>>) {
  if (!isRecord(value)) return false
  const names = Object.keys(value)
  return (
    names.length === Object.keys(fields).length &&
    Object.entries(fields).every(([name, fits]) => fits(value[name]))
  )
}
