import { chat } from './chat.ts'
import { completions } from './completions.ts'
import { embeddings } from './embeddings.ts'
import type { WireFormat } from './format.ts'
import { images } from './images.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

/** Every wire format. */
export const FORMATS: readonly WireFormat[] = [
  chat,
  responses,
  messages,
  completions,
  embeddings,
  images,
]
