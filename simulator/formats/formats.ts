import { chat } from './chat.ts'
import { completions } from './completions.ts'
import { embeddings } from './embeddings.ts'
import type { Format } from './format.ts'
import { images } from './images.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

const FORMATS: readonly Format[] = [chat, completions, messages, responses, embeddings, images]

/** The wire formats by their path below `/v1`. */
export const FORMATS_BY_PATH: ReadonlyMap<string, Format> = new Map(
  FORMATS.map((format) => [format.path, format]),
)
