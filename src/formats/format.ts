import type { JsonBody } from '../json/walk.ts'
import { TextEstimate } from '../tokens/estimate.ts'
import type { Call, FormatRules, InlineImage } from '../vocabulary/call.ts'
import type { Problem } from '../vocabulary/problem.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'

/** The layout of an endpoint's errors. */
export type EnvelopeFamily = 'openai' | 'messages'

/** A wire format of clients. Pure: no I/O, no clock, no money. */
export interface WireFormat {
  /** Its name in the log, metrics and request records. */
  readonly endpoint: string
  /** The path of requests in this format. */
  readonly path: `/v1/${string}`
  readonly family: EnvelopeFamily
  readonly bodyBytesMax: number
  readonly rules: FormatRules
  /** Attributes of its traces, by the GenAI conventions. */
  readonly telemetry: {
    /** `gen_ai.operation.name`. */
    readonly operation: string
    /** `gen_ai.output.type`; null: left out. */
    readonly outputType: string | null
  }
  readonly documentation: FormatDocumentation
  /** Whether the events of a stream have an `event:` line; if not, only their data is relayed. */
  readonly namesEvents: boolean
  /** The format's own request headers, in lower case, which go upstream unchanged. */
  forwardedHeaders(publicNames: PublicNames): readonly string[]
  /** Whether the client gets a header of the provider's answer; its name is in lower case. */
  returnsHeader(name: string, publicNames: PublicNames): boolean
  /**
   * Reads the fields that routing, refusing and holding need, and the texts whose tokens are estimated.
   * Throws Problem for a field of the wrong type or one that no endpoint supports.
   */
  readCall(body: JsonBody, publicNames: PublicNames): UnsizedCall
  /** Whether the format serves models with these outputs. */
  fitsOutputs(outputModalities: ReadonlySet<string>): boolean
  /** Whether the free parser is added for a file that the model does not read. If not, the file is refused. */
  readonly addsFileParser: boolean
  /** The whole event for an error inside a stream. */
  errorEvent(input: ErrorEventInput): string
}

/** The parts of an error event. */
export interface ErrorEventInput {
  readonly problem: Problem
  readonly requestId: string
  /** The provider's event, for members without text, such as ids and sequence numbers. */
  readonly event: StreamEvent
}

/** One server-sent event. */
export interface StreamEvent {
  /** The `event:` field; null if there is none. */
  readonly name: string | null
  readonly data: string
}

// Ids, model names and event names: nothing that could be a sentence.
const PLAIN_WORD = /^[\w.:/@~+-]{1,200}$/

/** Whether a provider's text is a single word, such as an id, and so can't be a message. */
export function isPlainWord(text: string): boolean {
  return PLAIN_WORD.test(text)
}

/** A JSON Schema of the 2020-12 draft. */
type FieldSchema = Readonly<Record<string, unknown>>

/** The gateway's own documentation of an endpoint. */
interface FormatDocumentation {
  readonly summary: string
  readonly required: readonly string[]
  /** Documented fields; all others pass through to the provider. */
  readonly properties: Readonly<Record<string, FieldSchema>>
  /** Fields of every whole answer. */
  readonly answer: Readonly<Record<string, FieldSchema>>
  readonly streams: boolean
}

const cap = {
  type: 'integer',
  description: 'The maximum number of output tokens. It decides the size of the hold.',
}
const object = { type: 'object' }

/** Schemas of fields that several formats share. */
export const FIELDS = {
  text: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  object,
  objects: { type: 'array', items: object },
  textOrList: { type: ['string', 'array'] },
  textOrObject: { type: ['string', 'object'] },
  model: { type: 'string', description: 'A model ID, `<author>/<name>`.' },
  stream: { type: 'boolean', default: false },
  cap,
  requiredCap: {
    ...cap,
    description: 'The maximum number of output tokens. Required if the model lists no maximum.',
  },
} as const satisfies Readonly<Record<string, FieldSchema>>

const MIB = 1024 * 1024

/** The largest body on every endpoint but images. */
export const BODY_BYTES_MAX = 32 * MIB

/** Common to formats with the OpenAI-style envelope: no headers of their own, and events without names. */
export const OPENAI_STYLE = {
  family: 'openai',
  namesEvents: false,
  addsFileParser: false,
  forwardedHeaders: () => [],
  returnsHeader: () => false,
} as const satisfies Partial<WireFormat>

/** The rules of chat and legacy completions. */
export const CHAT_RULES: FormatRules = {
  heldBy: 'tokens',
  prompt: { hasTemplate: true, windows: 'perCompletion' },
  output: { cap: 'ours' },
  freeCredit: 'wholeHold',
  deadline: { total: 'totalTimeoutMs', boundsStreams: false },
}

/** Whether a model writes text. */
export function writesText(outputModalities: ReadonlySet<string>): boolean {
  return outputModalities.has('text')
}

/** A call as a format reads it: its texts are not sized yet. */
export interface UnsizedCall
  extends Omit<Call, 'textTokens' | 'unmarkedTokens' | 'inlineImages' | 'predictionTokens'> {
  readonly texts: CallTexts
}

/** The parts of a body whose tokens are estimated. They are views of its bytes. */
export interface CallTexts {
  /** The whole body except `unmarked` and the base64 of images that was found in it. */
  readonly written: readonly Uint8Array[]
  /** The parts after the last cache mark. */
  readonly unmarked: readonly Uint8Array[]
  readonly images: readonly UnsizedImage[]
  /** The most tokens that a template adds as it prints definitions and inputs of tools again. */
  readonly layoutTokens: number
  /** The answer that the client predicts; null: none. */
  readonly prediction: Uint8Array | null
}

/** An inline image whose base64 is not estimated as text yet. */
export interface UnsizedImage extends Omit<InlineImage, 'textTokens'> {
  /** The base64, if it may be no image; else null. */
  readonly text: Uint8Array | null
}

/** Estimates a call's texts. */
export function sizeCall(call: UnsizedCall): Call {
  const sizing = sizeInParts(call)
  while (true) {
    const { done, value } = sizing.next()
    if (done === true) return value
  }
}

/** Estimates a call's texts, and rests after each part that takes the thread for some milliseconds. */
export async function sizeCallInParts(call: UnsizedCall, rest: () => Promise<void>): Promise<Call> {
  const sizing = sizeInParts(call)
  while (true) {
    const { done, value } = sizing.next()
    if (done === true) return value
    await rest()
  }
}

/** Some 5 ms of the thread. */
const PART_BYTES = 1024 * 1024

/** Yields after each part of the texts, and returns the sized call. */
function* sizeInParts({ texts, ...call }: UnsizedCall): Generator<undefined, Call> {
  let partBytesLeft = PART_BYTES
  function* estimate(text: Uint8Array | null): Generator<undefined, number> {
    if (text === null) return 0
    const reading = new TextEstimate(text)
    while (!reading.isWhole) {
      partBytesLeft -= reading.readOn(partBytesLeft)
      if (partBytesLeft > 0) continue
      yield
      partBytesLeft = PART_BYTES
    }
    return reading.tokens
  }
  let textTokens = texts.layoutTokens
  for (const text of texts.written) textTokens += yield* estimate(text)
  let unmarkedTokens = 0
  for (const text of texts.unmarked) unmarkedTokens += yield* estimate(text)
  textTokens += unmarkedTokens
  const inlineImages: InlineImage[] = []
  for (const { text, ...image } of texts.images) {
    inlineImages.push({ ...image, textTokens: yield* estimate(text) })
  }
  const predictionTokens = yield* estimate(texts.prediction)
  return { ...call, textTokens, unmarkedTokens, inlineImages, predictionTokens }
}
