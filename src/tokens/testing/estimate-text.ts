import { TextEstimate } from '../estimate.ts'

/** The estimate of a whole text. */
export function estimateTextTokens(bytes: Uint8Array): number {
  const estimate = new TextEstimate(bytes)
  estimate.readOn(bytes.length)
  return estimate.tokens
}
