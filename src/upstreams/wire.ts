import type { IncomingHttpHeaders } from 'node:http'
import type { StreamEvent } from '../formats/format.ts'
import type { ProviderError } from '../formats/provider-error.ts'
import type { JsonEdit } from '../json/edit.ts'
import type { JsonBody, JsonObject } from '../json/walk.ts'
import type { Call } from '../vocabulary/call.ts'
import type { Offer } from '../vocabulary/offer.ts'
import type { Reported } from '../vocabulary/outcome.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import type { FieldTable, VouchedFields } from './fields.ts'
import type { OwnField } from './upstream-settings.ts'

/** How the calls of one format are sent to one kind of provider, and how its answers are read. */
export interface Wire {
  /** The path below the upstream's base address. */
  readonly path: `/${string}`
  /** The only fields that a body may have; left out: every field is sent. */
  readonly fields?: FieldTable
  /** Headers in place of those of the format that the client did not send, by names in lower case. Default: none. */
  readonly usualHeaders?: Readonly<Record<string, string>>
  /**
   * Throws Problem for a call that this kind of provider would bill in a way that the gateway can't follow, or would
   * not run. Default: nothing is refused.
   */
  refuse?(input: RefusalInput): void
  /** The spans of the client's body that are replaced before it goes upstream. */
  rewrites(input: RewriteInput): readonly JsonEdit[]
  /** The answer's generation id, by which it can be looked up; null if its headers have none. */
  generationIdOf(headers: IncomingHttpHeaders): string | null
  /** Reads a whole answer: its usage, its cost as the provider reports it, its error. */
  readAnswer(answer: JsonBody): AnswerReading
  /** Reads the body of an error; null for an unreadable body, and for no status. */
  readError(root: JsonObject | null, httpStatus: number | null): ProviderError
  /** A fresh observer for the stream of a call. */
  observeStream(call: StreamedCall): StreamObserver
}

/** The parts of a call that its stream is read by. Without `completions`, it is one. */
export type StreamedCall = Pick<Call, 'asksForUsage'> & Partial<Pick<Call, 'completions'>>

/** The data that rewrites are made from. */
export interface RewriteInput {
  readonly call: Call
  readonly body: JsonBody
  readonly offer: Offer
  /** The output cap to send; null: leave the body's own. */
  readonly outputCapTokens: number | null
  /** The value of `user` on endpoints that replace it. */
  readonly accountTag: string
  readonly publicNames: PublicNames
  /** Fields that pass although no row of the dialect lists them. */
  readonly vouched: VouchedFields
  /** Whether the account's tag keeps its prompts apart in the server's cache. */
  readonly saltsCache: boolean
  /** Fields that the gateway would add, and the server refuses: those of clients are left out too. */
  readonly leavesOut: ReadonlySet<OwnField>
}

/** The data that refusals are made from. */
export type RefusalInput = Pick<RewriteInput, 'call' | 'body' | 'offer' | 'vouched'>

/** A whole answer: a success, or an error with status 200. */
export type AnswerReading =
  | { readonly kind: 'success'; readonly reported: Reported }
  | { readonly kind: 'error'; readonly error: ProviderError; readonly reported: Reported }

/**
 * Reads a stream's complete events as they pass, and changes none. `data` is in latin-1, one character for each
 * byte, which is enough for everything that is read from it.
 */
export interface StreamObserver {
  onEvent(event: StreamEvent): StreamEventReading
  /**
   * Takes events that are relayed unchanged, without parsing them: from `start`, one after the other, each that
   * differs from an earlier event only in its text. The end of the last one; `start` if there is none.
   */
  takeAlike(chunk: Buffer, start: number): number
  /** The report of all events so far. */
  reported(): Reported
  /** Estimated output tokens of the text since the provider's last count. */
  relayedTokens(): number
  /** Estimated output tokens of all text so far. */
  textTokens(): number
}

/** The reading of an event, which decides how the relay handles it. */
export type StreamEventReading =
  /** Relay it; the answer continues. */
  | { readonly kind: 'relay' }
  /** Relay this data, in latin-1, in its place; the answer continues. Only for events without names. */
  | { readonly kind: 'replaced'; readonly data: string }
  /** Relay it; the answer is complete with it. */
  | { readonly kind: 'terminal' }
  /** An error, which is rebuilt without the provider's text. */
  | { readonly kind: 'error'; readonly error: ProviderError }
  /** An error that ends the answer; it is rebuilt too. */
  | { readonly kind: 'terminalError'; readonly error: ProviderError }
  /** Drop it: it comes after the terminal event. */
  | { readonly kind: 'drop' }
