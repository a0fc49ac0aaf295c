import type { AccountsOrder } from '../../api/operator.ts'

interface NamedOrder {
  readonly value: AccountsOrder
  /** "Most held". */
  readonly text: string
}

/** The orders of the list of accounts: of each column, the one of the first click first. */
export const ACCOUNT_ORDERS: readonly NamedOrder[] = [
  { value: 'name', text: 'Name, A to Z' },
  { value: '-name', text: 'Name, Z to A' },
  { value: '-available', text: 'Most available' },
  { value: 'available', text: 'Least available' },
  { value: '-held', text: 'Most held' },
  { value: 'held', text: 'Least held' },
  { value: '-charged', text: 'Highest spend' },
  { value: 'charged', text: 'Lowest spend' },
  { value: '-margin', text: 'Highest margin' },
  { value: 'margin', text: 'Lowest margin' },
  { value: '-last_request', text: 'Latest request' },
  { value: 'last_request', text: 'Longest without a request' },
]

type Column = Exclude<AccountsOrder, `-${string}`>

/** The order behind a click on the head of a column: its first, then its second, then newest first (undefined). */
export function nextOrder(
  column: Column,
  current: AccountsOrder | undefined,
): AccountsOrder | undefined {
  const [first, second] = ACCOUNT_ORDERS.filter(({ value }) => columnOf(value) === column)
  if (current === first?.value) return second?.value
  return current === second?.value ? undefined : first?.value
}

function columnOf(order: AccountsOrder): string {
  return order.replace('-', '')
}
