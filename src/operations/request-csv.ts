import type { Kysely } from 'kysely'
import type { RequestFilter } from '../ledger/activity/activity.ts'
import { searchRequests } from '../ledger/activity/search-requests.ts'
import type { RequestRow, Tables } from '../store/schema.ts'
import { type CsvCell, csvLine, dollarsCell } from './csv.ts'
import { timeOrNull } from './fields.ts'

const ROWS_AT_ONCE = 1_000

// Amounts are dollars, exact to the micro-dollar.
const COLUMNS: Readonly<Record<string, (row: RequestRow) => CsvCell>> = {
  request_id: ({ id }) => id,
  opened_at: ({ openedAtMs }) => timeOrNull(openedAtMs),
  first_byte_at: ({ firstByteAtMs }) => timeOrNull(firstByteAtMs),
  settled_at: ({ settledAtMs }) => timeOrNull(settledAtMs),
  key_id: ({ apiKeyId }) => apiKeyId,
  endpoint: ({ endpoint }) => endpoint,
  model: ({ modelId }) => modelId,
  state: ({ state }) => state,
  http_status: ({ httpStatus }) => httpStatus,
  error_code: ({ errorCode }) => errorCode,
  hold: (row) => dollarsCell(row.backedGrantedMicros + row.freeGrantedMicros),
  charge: (row) => dollarsCell(row.backedChargeMicros + row.freeChargeMicros),
  provider_cost: ({ costUsd }) => costUsd,
  fee_basis_points: ({ feeBasisPoints }) => feeBasisPoints,
  input_tokens: ({ usage }) => usage?.inputTokens ?? null,
  cache_read_tokens: ({ usage }) => usage?.cacheReadTokens ?? null,
  cache_write_tokens: ({ usage }) => usage?.cacheWriteTokens ?? null,
  output_tokens: ({ usage }) => usage?.outputTokens ?? null,
  reasoning_tokens: ({ usage }) => usage?.reasoningTokens ?? null,
  tags: ({ tags }) => tags?.join(', ') ?? null,
}

/** Requests as CSV, newest first, a thousand at a time: each part is read when the one before was taken. */
export async function* requestCsv(
  db: Kysely<Tables>,
  filter: RequestFilter,
): AsyncGenerator<string> {
  yield csvLine(Object.keys(COLUMNS))
  let cursor: string | null = null
  do {
    const found = await searchRequests(db, { ...filter, cursor, limit: ROWS_AT_ONCE })
    const lines = found.requests.map((row) =>
      csvLine(Object.values(COLUMNS).map((cell) => cell(row))),
    )
    // Also where it found none: a client that has left is noticed between two parts.
    yield lines.join('')
    cursor = found.nextCursor
  } while (cursor !== null)
}
