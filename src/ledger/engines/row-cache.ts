import type { AccountRow, ApiKeyRow, RequestRow } from '../../store/schema.ts'
import type { RowChanges } from '../rules/unit-of-work.ts'

/**
 * Rows as they were last committed, so that a busy key's are not read again for every request. True
 * only as long as nobody else has written to the store: whoever reads it asks that first, under the
 * write lock, and clears it otherwise.
 */
export class RowCache {
  readonly #rowsMax: number
  readonly #accounts = new Map<string, AccountRow>()
  readonly #apiKeys = new Map<string, ApiKeyRow>()
  // Those alone that will be asked for again within seconds, to be settled or looked up.
  readonly #movingRequests = new Map<string, RequestRow>()

  constructor(rowsMax: number) {
    this.#rowsMax = rowsMax
  }

  account(id: string): AccountRow | undefined {
    return this.#accounts.get(id)
  }

  apiKey(id: string): ApiKeyRow | undefined {
    return this.#apiKeys.get(id)
  }

  movingRequest(id: string): RequestRow | undefined {
    return this.#movingRequests.get(id)
  }

  clear(): void {
    this.#accounts.clear()
    this.#apiKeys.clear()
    this.#movingRequests.clear()
  }

  /** Takes in what a batch has changed, once it is committed. */
  commit(changes: RowChanges): void {
    for (const row of changes.writtenAccounts) put(this.#accounts, row, this.#rowsMax)
    for (const row of changes.writtenApiKeys) put(this.#apiKeys, row, this.#rowsMax)
    for (const row of changes.accounts) put(this.#accounts, row, this.#rowsMax)
    for (const row of changes.apiKeys) put(this.#apiKeys, row, this.#rowsMax)
    for (const rows of [changes.openedRequests, changes.requests]) {
      for (const row of rows) {
        if (row.state === 'open' || row.state === 'provisional')
          put(this.#movingRequests, row, this.#rowsMax)
        else this.#movingRequests.delete(row.id)
      }
    }
  }
}

/** Where there is no more room, all make it: which rows are still in use, the next requests tell. */
function put<Row extends { readonly id: string }>(
  rows: Map<string, Row>,
  row: Row,
  rowsMax: number,
): void {
  if (rows.size >= rowsMax && !rows.has(row.id)) rows.clear()
  rows.set(row.id, row)
}
