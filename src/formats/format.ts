import type { JsonBody } from '../json/walk.ts'
import type { FormatRules } from '../vocabulary/call.ts'
import type { Problem } from '../vocabulary/problem.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import type { FormatDocumentation } from './documentation.ts'
import type { UnsizedCall } from './size-call.ts'

/** How an endpoint words its errors. */
export type EnvelopeFamily = 'openai' | 'messages'

/** What clients of one API speak. Pure: no I/O, no clock, no money. */
export interface WireFormat {
  /** Its name, in the log, in metrics and in request records. */
  readonly endpoint: string
  /** Where clients post it. */
  readonly path: `/v1/${string}`
  readonly family: EnvelopeFamily
  readonly bodyBytesMax: number
  readonly rules: FormatRules
  readonly telemetry: FormatTelemetry
  readonly documentation: FormatDocumentation
  /** Whether the events of its streams have an `event:` line; of the others only the data is relayed. */
  readonly namesEvents: boolean
  /** Request headers that are the format's own and go upstream as sent, by lower-case name. */
  forwardedHeaders(publicNames: PublicNames): readonly string[]
  /** Whether a header of the provider's answer, by lower-case name, goes back to the client. */
  returnsHeader(name: string, publicNames: PublicNames): boolean
  /**
   * Reads what routing, refusing and holding need, with the texts whose tokens are to be estimated. Throws Problem for a field of the wrong type and
   * for what no endpoint accepts.
   */
  readCall(body: JsonBody, publicNames: PublicNames): UnsizedCall
  /** Whether models with these outputs are for it. */
  fitsOutputs(outputModalities: ReadonlySet<string>): boolean
  /** Whether the free parser is added for a file that the model does not read; else such a file is refused. */
  readonly addsFileParser: boolean
  /** This format's own error event, whole, for an error inside a stream. */
  errorEvent(input: ErrorEventInput): string
}

/** What traces say of a format's requests, in GenAI's words. */
interface FormatTelemetry {
  /** `gen_ai.operation.name`. */
  readonly operation: string
  /** `gen_ai.output.type`; null: it is left out. */
  readonly outputType: string | null
}

/** What an error event is made from. */
export interface ErrorEventInput {
  readonly problem: Problem
  readonly requestId: string
  /** The provider's event, for the fields that carry no text of its own (ids, sequence numbers). */
  readonly event: StreamEvent
}

/** One server-sent event, as far as observers need it. */
export interface StreamEvent {
  /** The `event:` field; null where the frame has none. */
  readonly name: string | null
  readonly data: string
}
