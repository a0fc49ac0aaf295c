import type { FormatRow, StreamedRow } from './format-row.ts'
import { chat } from './rows/chat.ts'
import { completions } from './rows/completions.ts'
import { embeddings } from './rows/embeddings.ts'
import { images } from './rows/images.ts'
import { messages } from './rows/messages.ts'
import { responses } from './rows/responses.ts'

/** Every format: a new one is its row and its line here, and every promise is tried on it. */
export const ROWS: readonly FormatRow[] = [
  chat,
  completions,
  messages,
  responses,
  embeddings,
  images,
]

/** The formats that have streams. */
export const STREAMED_ROWS: readonly StreamedRow[] = ROWS.flatMap((row) =>
  row.streams === null ? [] : [{ ...row, streams: row.streams }],
)
