import type { FormatRules } from '../vocabulary/call.ts'
import type { WireFormat } from './format.ts'

const MIB = 1024 * 1024

/** The most bytes of a body on every endpoint but images. */
export const BODY_BYTES_MAX = 32 * MIB

/** The most bytes of a body on images. */
export const IMAGES_BODY_BYTES_MAX = 64 * MIB

/** What the formats with the OpenAI-style envelope have in common: no headers of their own, and events without names. */
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
