import type { WireFormat } from './format.ts'
import { chat } from './formats/chat.ts'
import { completions } from './formats/completions.ts'
import { embeddings } from './formats/embeddings.ts'
import { images } from './formats/images.ts'
import { messages } from './formats/messages.ts'
import { responses } from './formats/responses.ts'

/** Every wire format: a new one is its file and its line here. */
export const FORMATS: readonly WireFormat[] = [
  chat,
  completions,
  embeddings,
  images,
  messages,
  responses,
]

const BY_PATH: ReadonlyMap<string, WireFormat> = new Map(
  FORMATS.map((format) => [format.path, format]),
)

/** The format that clients speak on a path; null where no inference endpoint is there. */
export function formatByPath(path: string): WireFormat | null {
  return BY_PATH.get(path) ?? null
}
