import type { JsonBody, JsonEdit } from '../json/body.ts'
import type { Call } from '../vocabulary/call.ts'
import type { FormatRules } from '../vocabulary/format-rules.ts'
import type { Offer } from '../vocabulary/offer.ts'
import type { Problem } from '../vocabulary/problem.ts'
import type { Words } from '../vocabulary/public-names.ts'
import type { Reported } from '../vocabulary/usage.ts'
import type { FormatDocumentation } from './documentation.ts'

/** How an endpoint words its errors. */
export type EnvelopeFamily = 'openai' | 'messages'

/** What clients of one API speak. Pure: no I/O, no clock, no money. */
export interface WireFormat {
  /** Its name, in the log, in metrics and in request records. */
  readonly endpoint: string
  /** Where clients post it. */
  readonly path: `/v1/${string}`
  /** Where it goes, below the upstream's base address. */
  readonly upstreamPath: `/${string}`
  readonly family: EnvelopeFamily
  readonly bodyBytesMax: number
  readonly rules: FormatRules
  readonly telemetry: FormatTelemetry
  readonly documentation: FormatDocumentation
  /** Whether its answers belong to a generation that can be looked up; images have none. */
  readonly hasGenerationId: boolean
  /** Whether the events of its streams have an `event:` line; of the others only the data is relayed. */
  readonly namesEvents: boolean
  /** Request headers that are the format's own and go upstream as sent, by lower-case name. */
  forwardedHeaders(words: Words): readonly string[]
  /** Whether a header of the provider's answer, by lower-case name, goes back to the client. */
  returnsHeader(name: string, words: Words): boolean
  /**
   * Reads what routing, refusing and holding need. Throws Problem for a field of the wrong type and
   * for what no endpoint accepts.
   */
  readCall(body: JsonBody, words: Words): Call
  /** Whether models with these outputs are for it. */
  fitsOutputs(outputModalities: ReadonlySet<string>): boolean
  /** Whether the free parser is added for a file that the model does not read; else such a file is refused. */
  readonly addsFileParser: boolean
  /** The spans of the client's own bytes that are replaced before they go upstream. */
  rewrites(input: RewriteInput): readonly JsonEdit[]
  /** What a whole answer of status 200 says of itself. */
  readAnswer(answer: JsonBody): AnswerReading
  /** A fresh observer for one stream. */
  observeStream(): StreamObserver
  /** This format's own error event, whole, for an error inside a stream. */
  errorEvent(input: ErrorEventInput): string
}

/** What traces say of a format's requests, in GenAI's words. */
export interface FormatTelemetry {
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

/** What a rewrite is made from. */
export interface RewriteInput {
  readonly call: Call
  readonly body: JsonBody
  readonly offer: Offer
  /** The output cap to send; null: leave the body's own. */
  readonly outputCapTokens: number | null
  /** What `user` is replaced by on the endpoints that replace it. */
  readonly accountTag: string
  readonly words: Words
}

/** A whole answer: a success, or an error that came with status 200. */
export type AnswerReading =
  | { readonly kind: 'success'; readonly reported: Reported }
  | { readonly kind: 'error'; readonly error: ProviderError; readonly reported: Reported }

/** What a provider said went wrong, before any of it is believed fit to show. */
export interface ProviderError {
  /** The HTTP status, or the numeric code inside an error object; null where neither is there. */
  readonly httpStatus: number | null
  /** Machine-readable words: `error.type`, `error.code`, `metadata.error_type`. */
  readonly kinds: readonly string[]
  /** The provider's own text: matched against known phrases, never shown. */
  readonly message: string
}

/**
 * Watches a stream's complete events as they pass and changes none.
 * `data` is the event's data in latin-1: one character a byte, enough for everything read here.
 */
export interface StreamObserver {
  onEvent(event: StreamEvent): StreamEventReading
  /** What has been reported so far. */
  reported(): Reported
  /** Output tokens in the text that has passed since the provider last counted its output, estimated. */
  relayedTokens(): number
}

/** One server-sent event, as far as observers need it. */
export interface StreamEvent {
  /** The `event:` field; null where the frame has none. */
  readonly name: string | null
  readonly data: string
}

/** What the relay does with an event. */
export type StreamEventReading =
  /** Relay it; more is to come. */
  | { readonly kind: 'relay' }
  /** Relay it; the answer is complete with it. */
  | { readonly kind: 'terminal' }
  /** An error: it is rebuilt without the provider's text. */
  | { readonly kind: 'error'; readonly error: ProviderError }
  /** An error that is the stream's last word: rebuilt, and the answer has failed with it. */
  | { readonly kind: 'terminalError'; readonly error: ProviderError }
  /** Keep it back: the stream has had its last word. */
  | { readonly kind: 'drop' }
