import type { ErrorEvent } from '../../simulator/faults.ts'
import type { EnvelopeFamily } from '../../src/formats/format.ts'
import type { JsonObject, JsonValue } from '../../src/json/walk.ts'
import type { StreamEvent } from './stream-event.ts'

/** All that the contract's tests must know of one format to try every promise on it. */
export interface FormatRow {
  readonly endpoint: string
  readonly path: `/v1/${string}`
  /** Its path at the simulator. Default: the same, below its own base address. */
  readonly upstreamPath?: `/${string}`
  readonly family: EnvelopeFamily
  readonly bodyMebibytesMax: number
  /** A small request that the simulator answers, of a model that names its cost; with a `user`. */
  readonly body: JsonObject & { readonly model: string }
  /** Models of the simulator whose output does not fit the endpoint. */
  readonly unfitModels: readonly string[]
  /** Whether `user` is replaced by the account's tag. */
  readonly replacesUser: boolean
  /** Whether the format has its own headers, which are relayed in both directions. */
  readonly hasOwnHeaders: boolean
  /** Whether its answers belong to generations, so that a charge may be corrected later. */
  readonly hasGenerations: boolean
  /** The setting that bounds a whole answer. */
  readonly totalTimeout: 'TOLLGATE_TOTAL_TIMEOUT_MS' | 'TOLLGATE_IMAGE_TIMEOUT_MS'
  /** The content of an answer: its text, or the field in place of text. */
  readonly output: (answer: JsonValue | undefined) => string
  /** Tokens in and out, from the `usage` of an answer or an event. */
  readonly counts: (usage: JsonObject) => readonly [number, number]
  /** Null: there is no output under a cap. */
  readonly hold: HoldRow | null
  readonly parts: PartRow
  /** Null: the format has no tools. */
  readonly tools: ToolRow | null
  /** Null: the format has no streams. */
  readonly streams: StreamRow | null
}

/** A format that has streams. */
export interface StreamedRow extends FormatRow {
  readonly streams: StreamRow
}

/** How a format's output is held. */
interface HoldRow {
  /** The field of the cap. */
  readonly capParam: string
  /** Whether a cap is sent, and lowered to what there is, where the client sets none. */
  readonly isLowered: boolean
  /** Whether a request that free credit alone pays for runs on less than its hold. */
  readonly runsOnPartOfFreeCredit: boolean
}

/** How a format carries content other than text. */
interface PartRow {
  /** The row's request with one part more. */
  readonly body: (part: JsonObject) => JsonObject
  /** The place of the part then. */
  readonly path: string
  /** An inline file. */
  readonly file: JsonObject
  /** The fate of a file that the model does not read and that has no parser. */
  readonly unreadFile: 'parsed' | 'refused'
  /** A model of the simulator that reads files; null: none fits the endpoint. */
  readonly fileModel: string | null
}

/** How a format calls the tool `get_weather`. */
interface ToolRow {
  /** A request that is answered by a call. */
  readonly asking: JsonObject
  /** Why the answer ended, and what the format calls ending for a tool. */
  readonly stopped: {
    readonly word: (answer: JsonValue | undefined) => string
    readonly forTool: string
  }
  /** The call in an answer: the tool's name, and its arguments as JSON text. */
  readonly call: (answer: JsonValue | undefined) => {
    readonly name: string
    readonly argumentText: string
  }
  /** The request that brings the tool's result back. */
  readonly answering: (answer: JsonValue | undefined, result: string) => JsonObject
  /** The arguments of a streamed call, put together. */
  readonly streamedArguments: (events: readonly StreamEvent[]) => string
}

/** How a format streams. */
interface StreamRow {
  /** The kind of the stream's last event. */
  readonly last: string
  /** The contents of the events, joined. */
  readonly output: (events: readonly StreamEvent[]) => string
  /** The usage that an event carries; undefined: none. */
  readonly usage: (event: StreamEvent) => JsonObject | undefined
  /** The usage that the first event carries already; null: it carries none. */
  readonly firstUsage: ((event: StreamEvent) => JsonObject | undefined) | null
  /** Whether a stream is bounded by the setting of a whole answer. */
  readonly hasTotalTimeout: boolean
  /** The ways in which the provider can fail inside a stream. */
  readonly failures: readonly StreamFailure[]
}

/** One way to fail inside a stream. */
interface StreamFailure {
  readonly fault: Pick<ErrorEvent, 'shape'>
  /** The text that the client's event must contain. */
  readonly event: (error: FailureWords) => object
  /** Whether the provider's event has room for usage and cost. */
  readonly carriesUsage: boolean
}

/** The error that a client must get. */
export interface FailureWords {
  readonly code: string
  readonly type: string
  readonly requestId: string
  /** A matcher of any text. */
  readonly message: unknown
}
