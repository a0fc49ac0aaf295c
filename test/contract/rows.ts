import { inject } from 'vitest'
import type { WireFormat } from '../../src/formats/format.ts'
import { FORMATS as PRODUCT_FORMATS } from '../../src/formats/formats.ts'
import { openrouter } from '../../src/upstreams/openrouter/openrouter.ts'
import type { Dialect } from '../../src/upstreams/upstream.ts'
import type { FormatRow, StreamedRow } from './format-row.ts'
import { chat } from './rows/chat.ts'
import { completions } from './rows/completions.ts'
import { embeddings } from './rows/embeddings.ts'
import { images } from './rows/images.ts'
import { messages } from './rows/messages.ts'
import { responses } from './rows/responses.ts'
import { toy, toyDialect, toyRow } from './toy-format.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Which formats a run tries the contract on. */
    readonly contractFormats: 'product' | 'toy'
  }
}

const isToyRun = inject('contractFormats') === 'toy'

/** The formats that this run tries. */
export const FORMATS: readonly WireFormat[] = isToyRun ? [toy] : PRODUCT_FORMATS

/** The formats that the gateway serves meanwhile. */
export const SERVED_FORMATS: readonly WireFormat[] = isToyRun
  ? [...PRODUCT_FORMATS, toy]
  : PRODUCT_FORMATS

/** What the gateway speaks to the simulator. */
export const DIALECT: Dialect = isToyRun ? toyDialect : openrouter

/** Their rows: a new format is its row and its line here, and every promise is tried on it. */
export const ROWS: readonly FormatRow[] = isToyRun
  ? [toyRow]
  : [chat, completions, messages, responses, embeddings, images]

/** The formats that have streams. */
export const STREAMED_ROWS: readonly StreamedRow[] = ROWS.flatMap((row) =>
  row.streams === null ? [] : [{ ...row, streams: row.streams }],
)
