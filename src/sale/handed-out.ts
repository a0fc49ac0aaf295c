import type { Kysely } from 'kysely'
import type { DEPOSIT_ADDRESSES } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'
import { StoreRefused } from '../store/store-failure.ts'
import type { RowOf } from '../store/table.ts'
import { addDepositAddresses, readDepositAddresses } from './deposit-rows.ts'

type AddressRow = RowOf<typeof DEPOSIT_ADDRESSES>

const KEPT_MS = 60 * 60_000

/** The deposit addresses that this process has handed out within the hour: a database that goes back loses the newest. */
export class HandedOut {
  readonly #rows = new Map<string, AddressRow>()

  /** Notes an address with the time at which it was handed out. */
  note(row: AddressRow): void {
    this.#rows.set(row.address, row)
  }

  /**
   * The account of each deposit address of a chain, by the address in lower case. Addresses that the store has lost are
   * written again; one whose account is gone too, only once the account is back.
   */
  async readAddresses(
    db: Kysely<Tables>,
    { chainId, nowMs }: { readonly chainId: number; readonly nowMs: number },
  ): Promise<ReadonlyMap<string, string>> {
    const accountOf = new Map(await readDepositAddresses(db, chainId))
    for (const row of this.#rows.values()) {
      if (row.createdAtMs < nowMs - KEPT_MS) this.#rows.delete(row.address)
      else if (row.chainId === chainId && !accountOf.has(row.address)) {
        if (await isWritten(db, row)) accountOf.set(row.address, row.accountId)
      }
    }
    return accountOf
  }
}

/** False: the store refuses it, as it has no such account. */
async function isWritten(db: Kysely<Tables>, row: AddressRow): Promise<boolean> {
  try {
    await addDepositAddresses(db, [row])
    return true
  } catch (error) {
    if (error instanceof StoreRefused) return false
    throw error
  }
}
