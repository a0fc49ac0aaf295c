/** What the address of the accounts says. */
export interface AccountsSearch {
  /** A part of a name, an email address or an id. */
  readonly find?: string
  /** Whether the form for a new account is open. */
  readonly create?: true
}

/** Reads it. */
export function readAccountsSearch({ find, create }: Record<string, unknown>): AccountsSearch {
  return {
    ...(typeof find === 'string' && find !== '' ? { find } : {}),
    ...(create === 'true' || create === true ? { create: true as const } : {}),
  }
}

/** What the address of the purchases says. */
export interface PurchasesSearch {
  /** Left out: those that wait for a decision. */
  readonly list?: 'all'
}

/** Reads it. */
export function readPurchasesSearch({ list }: Record<string, unknown>): PurchasesSearch {
  return list === 'all' ? { list } : {}
}
