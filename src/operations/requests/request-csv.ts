import type { Kysely } from 'kysely'
import type { RequestFilter } from '../../ledger/activity/activity.ts'
import { searchRequests } from '../../ledger/activity/search-requests.ts'
import { chargedMicros } from '../../ledger/rules/charge.ts'
import type { RequestRow, Tables } from '../../store/schema.ts'
import { costBehind, roundedCost } from '../../vocabulary/money.ts'
import { CSV_PAGE_ROWS, type CsvColumns, csvPages, dollarsCell } from '../csv.ts'
import { timeOrNull } from '../fields.ts'

// Amounts are dollars, exact to the micro-dollar.
const CUSTOMERS_COLUMNS: CsvColumns<RequestRow> = {
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
  charge: (row) => dollarsCell(chargedMicros(row)),
  input_tokens: ({ usage }) => usage?.inputTokens ?? null,
  cache_read_tokens: ({ usage }) => usage?.cacheReadTokens ?? null,
  cache_write_tokens: ({ usage }) => usage?.cacheWriteTokens ?? null,
  output_tokens: ({ usage }) => usage?.outputTokens ?? null,
  reasoning_tokens: ({ usage }) => usage?.reasoningTokens ?? null,
  tags: ({ tags }) => tags?.join(', ') ?? null,
}

const OPERATORS_COLUMNS: CsvColumns<RequestRow> = {
  ...CUSTOMERS_COLUMNS,
  account_id: ({ accountId }) => accountId,
  upstream: ({ upstream }) => upstream,
  generation_id: ({ generationId }) => generationId,
  fee_basis_points: ({ feeBasisPoints }) => feeBasisPoints,
  provider_cost: ({ costUsd }) => costUsd,
  uncharged_provider_cost: ({ lateCostUsd }) => lateCostUsd,
  margin: (row) => {
    const marginMicros = marginOf(row)
    return marginMicros === null ? null : dollarsCell(marginMicros)
  },
}

/** Requests as CSV, newest first. */
export function requestCsv(
  db: Kysely<Tables>,
  { filter, isForOperators }: { readonly filter: RequestFilter; readonly isForOperators: boolean },
): AsyncGenerator<string> {
  const columns = isForOperators ? OPERATORS_COLUMNS : CUSTOMERS_COLUMNS
  return csvPages(columns, async (cursor: string | null) => {
    const found = await searchRequests(db, { ...filter, cursor, limit: CSV_PAGE_ROWS })
    return { rows: found.requests, next: found.nextCursor }
  })
}

/**
 * The paid charge less the provider's cost, even for a released request; of an estimated charge, less the estimated cost,
 * as in reports. Null: the cost is not known.
 */
export function marginOf(row: RequestRow): number | null {
  const cost = costBehind({ ...row, chargeMicros: chargedMicros(row) })
  if (cost === null) return row.state === 'released' ? 0 : null
  return row.backedChargeMicros - roundedCost(cost)
}
