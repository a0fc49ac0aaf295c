import { type RangeSearch, readDateRange, searchOf } from '../../../src/vocabulary/date-range.ts'
import type { AccountState, AccountsOrder } from '../../api/operator.ts'
import { ACCOUNT_ORDERS } from './account-orders.ts'

/** The search of the accounts' address. Charge and margin are those of its range. Default: 30 days. */
export interface AccountsSearch extends RangeSearch {
  /** A part of a name, an email address or an id. */
  readonly search?: string
  /** Left out: all. */
  readonly state?: AccountState
  /** Left out: newest first. */
  readonly sort?: AccountsOrder
  /** Whether the form for a new account is open. */
  readonly create?: true
}

/** Reads it. */
export function readAccountsSearch({
  search,
  state,
  sort,
  create,
  ...rest
}: Record<string, unknown>): AccountsSearch {
  const range = readDateRange(rest)
  const order = ACCOUNT_ORDERS.find(({ value }) => value === sort)
  const known = (['active', 'suspended', 'in_debt'] as const).find((one) => one === state)
  return {
    ...(typeof search === 'string' && search !== '' ? { search } : {}),
    ...(known === undefined ? {} : { state: known }),
    ...(order === undefined ? {} : { sort: order.value }),
    ...(range === null ? {} : searchOf(range)),
    ...(create === 'true' || create === true ? { create: true as const } : {}),
  }
}

/** The search of the purchases' address. */
export interface PurchasesSearch {
  /** Left out: those that wait for a decision. */
  readonly list?: 'all' | 'reversed'
}

/** Reads it. */
export function readPurchasesSearch({ list }: Record<string, unknown>): PurchasesSearch {
  return list === 'all' || list === 'reversed' ? { list } : {}
}

/** The filters of the audit log, as its address has them. */
export interface AuditLogSearch {
  readonly account?: string | undefined
  /** Ids of users and admin tokens. */
  readonly by?: readonly string[] | undefined
  /** Names of operations. */
  readonly kind?: readonly string[] | undefined
}

/** Reads them. */
export function readAuditLogSearch({ account, by, kind }: Record<string, unknown>): AuditLogSearch {
  return {
    ...(typeof account === 'string' && account !== '' ? { account } : {}),
    ...(textsOf(by).length > 0 ? { by: textsOf(by) } : {}),
    ...(textsOf(kind).length > 0 ? { kind: textsOf(kind) } : {}),
  }
}

function textsOf(value: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  return all.filter((one) => typeof one === 'string' && one !== '') as readonly string[]
}
