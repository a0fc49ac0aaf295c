import { TextEstimate } from '../tokens/estimate.ts'
import type { Call, InlineImage } from '../vocabulary/call.ts'

/** A call as a format reads it: its texts are not sized yet. */
export interface UnsizedCall
  extends Omit<Call, 'textTokens' | 'unmarkedTokens' | 'inlineImages' | 'predictionTokens'> {
  readonly texts: CallTexts
}

/** The parts of a body whose tokens are estimated. They are views of its bytes. */
export interface CallTexts {
  /** All of the body but `unmarked` and the images' base64, as far as that was found in it. */
  readonly written: readonly Uint8Array[]
  /** What stands behind the last cache mark. */
  readonly unmarked: readonly Uint8Array[]
  readonly images: readonly UnsizedImage[]
  /** The most tokens that a template adds as it prints definitions and inputs of tools again. */
  readonly layoutTokens: number
  /** The answer that the client predicts; null: none. */
  readonly prediction: Uint8Array | null
}

/** An inline image whose base64 is not estimated as text yet. */
export interface UnsizedImage extends Omit<InlineImage, 'textTokens'> {
  /** Its base64 if it may be no image; else null. */
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
