import { chat } from './chat.ts'
import { completions } from './completions.ts'
import { embeddings } from './embeddings.ts'
import type { WireFormat } from './format.ts'
import { images } from './images.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

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
