import { inject } from 'vitest'
import type { VendorName } from '../../simulator/vendors.ts'
import type { WireFormat } from '../../src/formats/format.ts'
import { FORMATS as PRODUCT_FORMATS } from '../../src/formats/formats.ts'
import { openrouter } from '../../src/upstreams/openrouter/openrouter.ts'
import type { Dialect } from '../../src/upstreams/upstream.ts'
import { SPOKEN, vendorRow } from '../dialects/vendor-settings.ts'
import type { FormatRow, StreamedRow } from './format-row.ts'
import { chat } from './rows/chat.ts'
import { completions } from './rows/completions.ts'
import { embeddings } from './rows/embeddings.ts'
import { images } from './rows/images.ts'
import { messages } from './rows/messages.ts'
import { responses } from './rows/responses.ts'
import { toyDialectOfChat } from './toy-dialect.ts'
import { toy, toyDialect, toyRow } from './toy-format.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The subject of a run of the contract: a toy format, a toy dialect, or a dialect. Undefined: OpenRouter's. */
    readonly contractOf: 'toy' | 'toyDialect' | VendorName | undefined
  }
}

const contractOf = inject('contractOf')
const isToyRun = contractOf === 'toy'

const isToyDialect = contractOf === 'toyDialect'

/** The vendor that the simulator plays; undefined: OpenRouter. */
export const VENDOR: VendorName | undefined =
  contractOf === 'toy' ? undefined : isToyDialect ? 'openai-compatible' : contractOf

/** Whether answers name their cost, and a generation to look it up by. If not, their counts are the cost. */
export const NAMES_COST = VENDOR === undefined

/** The formats that this run tries. */
export const FORMATS: readonly WireFormat[] = isToyRun
  ? [toy]
  : PRODUCT_FORMATS.filter(({ endpoint }) => speaks(endpoint))

/** The formats that the gateway serves meanwhile. */
export const SERVED_FORMATS: readonly WireFormat[] = isToyRun
  ? [...PRODUCT_FORMATS, toy]
  : PRODUCT_FORMATS

/** The dialect that the gateway speaks to the simulator; undefined: the vendor's. */
export const DIALECT: Dialect | undefined = isToyRun
  ? toyDialect
  : isToyDialect
    ? toyDialectOfChat
    : VENDOR === undefined
      ? openrouter
      : undefined

/** Their rows: a new format is its row and its line here, and every promise is tried on it. */
export const ROWS: readonly FormatRow[] = isToyRun
  ? [toyRow]
  : [chat, completions, messages, responses, embeddings, images]
      .filter(({ endpoint }) => speaks(endpoint))
      .map((row) => (VENDOR === undefined ? row : vendorRow(row)))

/** The formats that have streams. */
export const STREAMED_ROWS: readonly StreamedRow[] = ROWS.flatMap((row) =>
  row.streams === null ? [] : [{ ...row, streams: row.streams }],
)

function speaks(endpoint: string): boolean {
  if (isToyDialect) return endpoint === 'chat'
  return VENDOR === undefined || SPOKEN[VENDOR].some((format) => format === endpoint)
}
