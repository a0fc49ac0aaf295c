import { z } from 'zod'
import { isObject, type JsonObject } from './json-value.ts'

const count = z.int().min(0)
const positive = z.int().min(1)

/** A point in the life of one answer. `afterBytes` counts body bytes, `afterEvents` stream events. */
const place = z.union([
  // The request is read whole, nothing is answered.
  z.literal('beforeHeaders'),
  // The status and headers are sent, no byte of the body is.
  z.literal('afterHeaders'),
  z.strictObject({ afterBytes: count }),
  z.strictObject({ afterEvents: count }),
])

/** How a connection ends before its answer does: a TCP reset, a plain close, or an orderly end. */
const cutManner = z.enum(['reset', 'close', 'end'])

/**
 * The parts that an answer can leave out: `id` is the body's generation id, `generationHeader` the `x-generation-id`
 * header, `done` is `data: [DONE]`, and `terminal` a stream's last event of substance: finish chunk,
 * `message_stop`, `response.completed`.
 */
const omission = z.enum(['usage', 'cost', 'id', 'generationHeader', 'done', 'terminal'])

/** A scripted act of a model: it says this, or calls this tool with these arguments. */
const act = z.union([
  z.strictObject({ say: z.string() }),
  z.strictObject({ call: z.string(), arguments: z.custom<JsonObject>(isObject) }),
])

/** Errors that a provider words in a way that gateways recognise. */
const errorKind = z.enum([
  'contextLength',
  'contentPolicy',
  'invalidParameter',
  'unsupportedParameter',
  'noEndpoints',
])

/** The error event that ends a stream. */
const errorEvent = z.strictObject({
  afterEvents: count,
  /** Default 502. */
  code: count.optional(),
  /** Whether usage and cost come with it, where the format has room. Default false. */
  withUsage: z.boolean().optional(),
  /** Responses: the flat event, the nested one, or `response.failed`. Default `flat`. */
  shape: z.enum(['flat', 'nested', 'failed']).optional(),
})

const FAULT = z.strictObject({
  /** The path below `/v1`, as `/chat/completions` or `/models`. Default: every inference path. */
  path: z.string().startsWith('/').optional(),
  /** The model as the request names it. Default: every model. */
  model: z.string().optional(),
  /** The number of requests that it applies to. Default 1. */
  times: z.union([count, z.literal('always')]).optional(),
  /** Stands in every text that must not leak. Default {@link DEFAULT_MARKER}. */
  marker: z.string().optional(),

  /** Answer this status with a leaky error body. */
  status: z.int().min(200).max(599).optional(),
  /** With `status`: an error of a recognised wording. */
  kind: errorKind.optional(),
  /** With `status`: the kind of the body. Default `json`; `skinless` is the chat envelope on every path. */
  errorBody: z.enum(['json', 'skinless', 'html', 'empty']).optional(),
  /** With `status`: the cost that the failed request reports although it failed, in dollars. */
  errorCostUsd: z.number().optional(),
  /** Answer these characters as the body, with `status` or 200. */
  rawBody: z.string().optional(),

  /**
   * The content of a 200 body in place of the answer: an error envelope; an answer that failed half-way
   * (`finish_reason: error`, or a response of status failed); in a stream, one event that is no JSON, after
   * the first that is; half an answer; nothing.
   */
  answer: z
    .enum(['errorObject', 'failedAnswer', 'malformedJson', 'truncatedJson', 'empty'])
    .optional(),
  /** A scripted act of a text model, for any prompt: a list of these plays out a task. */
  act: act.optional(),
  omit: z.array(omission).readonly().optional(),
  /** End a stream by the format's own error event after so many events. */
  errorEvent: errorEvent.optional(),
  /** The cost that the answer reports, in dollars, in place of its own. */
  costUsd: z.number().optional(),
  /** The cost that the generation look-up reports, in dollars. */
  lookupCostUsd: z.number().optional(),
  /** Replaces matches of this regular expression in the body, or in each event. */
  rewrite: z
    .strictObject({ pattern: z.string().refine(isPattern), replacement: z.string() })
    .optional(),
  /** The stream's events have no `event:` lines, and end with `[DONE]` on every format. */
  dataOnlyEvents: z.boolean().optional(),
  /** A client that goes away does not stop the generation: it is billed in full. */
  ignoresCancel: z.boolean().optional(),

  /** Headers of the answer, in addition to its own or in their place. */
  headers: z.record(z.string(), z.string()).optional(),
  /** Waits at this place until the gate is released. */
  hold: place.optional(),
  /** The gate of `hold`. Default `gate`. */
  gate: z.string().optional(),
  /** Waits at this place for ever. */
  stall: place.optional(),
  cut: z.strictObject({ at: place, how: cutManner }).optional(),
  /** Sends so many bytes a write, each flushed, with this pause between. */
  drip: z.strictObject({ bytes: positive, everyMs: z.number() }).optional(),
  eventsPerWrite: positive.optional(),
  /**
   * `most`: it costs the most that the sent request allows, for any answer. `mostByMarks`: but of a prompt with cache
   * marks no text after the last one is written, as Anthropic documents.
   */
  bills: z.enum(['most', 'mostByMarks']).optional(),
  lineEnds: z.literal('crlf').optional(),
  /** `broken`: says gzip and is none. */
  contentEncoding: z.enum(['gzip', 'br', 'broken']).optional(),
})

/**
 * One fault: the requests that it applies to, the answer in their place, the changes of the answer, and
 * how it is delivered. The parts combine. All of it is JSON, so that it can be posted.
 */
export type Fault = Readonly<z.infer<typeof FAULT>>

/** The error event that ends a stream. */
export type ErrorEvent = z.infer<typeof errorEvent>

/** A part that an answer can leave out. */
export type Omission = z.infer<typeof omission>

/** A point in the life of one answer. */
export type Place = z.infer<typeof place>

/** How a connection ends before its answer does. */
export type CutManner = z.infer<typeof cutManner>

/** Errors that a provider words in a way that gateways recognise. */
export type ErrorKind = z.infer<typeof errorKind>

/** A scripted act of a model. */
export type Act = Readonly<z.infer<typeof act>>

/** Stands in leaky error texts unless a fault names its own. */
export const DEFAULT_MARKER = 'LEAK-4c1f9e'

/** No fault at all. */
export const NO_FAULT: Fault = {}

/** Reads a fault that came as JSON. Throws TypeError naming the field that is unknown or wrong. */
function readFault(value: unknown): Fault {
  const parsed = FAULT.safeParse(value)
  if (parsed.success) return parsed.data
  throw new TypeError(`not a fault: ${z.prettifyError(parsed.error)}`)
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern)
    return true
  } catch {
    return false
  }
}

/** The faults still to come, in the order in which they were scripted. */
export class FaultScript {
  #pending: { readonly fault: Fault; left: number }[] = []

  /** Adds faults behind those that are there. Throws TypeError for a fault that is none. */
  add(faults: Fault | readonly Fault[]): void {
    this.addJson(faults)
  }

  /** Adds a fault, or a list of faults, that came as JSON. Throws TypeError for anything else. */
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

  /** Takes the first fault that matches; null where none does. */
  take(target: {
    readonly path: string
    readonly isInference: boolean
    readonly model: string | null
  }): Fault | null {
    const at = this.#pending.findIndex(
      ({ fault: { path, model } }) =>
        (path === undefined ? target.isInference : path === target.path) &&
        (model === undefined || model === target.model),
    )
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
