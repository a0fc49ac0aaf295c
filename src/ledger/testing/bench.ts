import type { PurchaseRow } from '../../store/sale-tables.ts'
import type { AccountRow, ApiKeyRow, CreditCodeRow, Entry, RequestRow } from '../../store/schema.ts'
import type { Micros } from '../../vocabulary/money.ts'
import type { Ledger } from '../commands.ts'

/** The settings of a new key, some of which an admin can change later. */
export interface ApiKeySettings {
  readonly creditLimitMicros?: Micros | null
  readonly expiresAtMs?: number | null
  readonly disabled?: boolean
  readonly deleted?: boolean
}

/**
 * A ledger under test, with the admin's side that it does not have itself. Each engine has one, so
 * that the same tests run on all of them.
 */
export interface Bench {
  readonly ledger: Ledger
  /** The moment at which everything happens, until a test moves it. */
  nowMs: number
  createAccount(id: string): Promise<void>
  createApiKey(id: string, accountId: string): Promise<void>
  setAccount(id: string, settings: { readonly disabled: boolean }): Promise<void>
  setApiKey(id: string, settings: ApiKeySettings): Promise<void>
  createCreditCode(row: CreditCodeRow): Promise<void>
  account(id: string): Promise<AccountRow>
  apiKey(id: string): Promise<ApiKeyRow>
  /** The row of a request; undefined: no hold was opened. */
  request(id: string): Promise<RequestRow | undefined>
  /** The row of a purchase by its source; undefined: none was posted. */
  purchase(source: string): Promise<PurchaseRow | undefined>
  /** The entries of an account, oldest first. */
  entries(accountId: string): Promise<readonly Entry[]>
  /** Throws if the ledger is not exact. */
  audit(): Promise<void>
  close(): Promise<void>
}
