import { type RangeSearch, readDateRange, searchOf } from '../../../src/vocabulary/date-range.ts'
import type { AccountState, AccountsOrder } from '../../api/operator.ts'
import { flagOf, setFields, textOf, textsOf } from '../../format/address.ts'
import { ACCOUNT_ORDERS } from './account-orders.ts'

/** The query parameters of Accounts. Charge and margin are those of its range. Default: 30 days. */
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

/** Reads the query parameters of Accounts; invalid values are left out. */
export function readAccountsSearch(search: Record<string, unknown>): AccountsSearch {
  const range = readDateRange(search)
  return {
    ...setFields({
      search: textOf(search['search']),
      state: STATES.find((one) => one === search['state']),
      sort: ACCOUNT_ORDERS.find(({ value }) => value === search['sort'])?.value,
      create: flagOf(search['create']),
    }),
    ...(range === null ? {} : searchOf(range)),
  }
}

const STATES = [
  'active',
  'suspended',
  'low_credit',
  'in_debt',
  'failing',
] as const satisfies readonly AccountState[]

/** The query parameters of Purchases. */
interface PurchasesSearch {
  /** Left out: those that wait for a decision; if there are none, all. */
  readonly list?: 'held' | 'all' | 'reversed'
}

/** Reads the query parameters of Purchases. */
export function readPurchasesSearch({ list }: Record<string, unknown>): PurchasesSearch {
  return list === 'held' || list === 'all' || list === 'reversed' ? { list } : {}
}

/** The query parameters of Audit log: its filters. Default: all time. */
export interface AuditLogSearch extends RangeSearch {
  readonly account?: string | undefined
  /** Ids of users and admin tokens. */
  readonly by?: readonly string[] | undefined
  /** Names of operations. */
  readonly kind?: readonly string[] | undefined
  /** Names of fields that were set or removed. */
  readonly field?: readonly string[] | undefined
}

/** Reads the query parameters of Audit log. */
export function readAuditLogSearch(search: Record<string, unknown>): AuditLogSearch {
  const { account, by, kind, field } = search
  const range = readDateRange(search)
  return {
    ...setFields({ account: textOf(account), by: textsOf(by) }),
    ...setFields({ kind: textsOf(kind), field: textsOf(field) }),
    ...(range === null ? {} : searchOf(range)),
  }
}
