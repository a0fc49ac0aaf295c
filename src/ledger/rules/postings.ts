import { type AccountRow, ENTRIES, type Entry } from '../../store/schema.ts'
import {
  addMicros,
  type Micros,
  micros,
  subtractMicros,
  ZERO_MICROS,
} from '../../vocabulary/money.ts'
import type { UnitOfWork } from './unit-of-work.ts'

/** An entry before it has its id and place in the account. */
interface Posting extends Omit<Entry, 'accountId' | 'number'> {
  readonly account: AccountRow
}

/** Adds an entry to the work and returns the account as it is then. A posting of zero adds nothing. */
export function post(work: UnitOfWork, { account, ...line }: Posting): AccountRow {
  if (line.amountMicros === 0) return account
  const entry: Entry = { accountId: account.id, number: account.entryCount + 1, ...line }
  work.addEntry(entry)
  const posted = { ...account, entryCount: entry.number }
  return line.purse === 'backed'
    ? { ...posted, backedBalanceMicros: addMicros(account.backedBalanceMicros, line.amountMicros) }
    : { ...posted, freeBalanceMicros: addMicros(account.freeBalanceMicros, line.amountMicros) }
}

/** What a request that qualifies for both could hold at a moment. */
interface AvailableCredit {
  readonly backedMicros: Micros
  readonly freeMicros: Micros
}

/** Balance less what is held, never below zero; free credit counts until it expires. */
export function availableCredit(account: AccountRow, nowMs: number): AvailableCredit {
  const backed = subtractMicros(account.backedBalanceMicros, account.backedHeldMicros)
  const free = subtractMicros(account.freeBalanceMicros, account.freeHeldMicros)
  return {
    backedMicros: backed > 0 ? backed : ZERO_MICROS,
    freeMicros: free > 0 && !freeCreditExpired(account, nowMs) ? free : ZERO_MICROS,
  }
}

/** Whether free credit that is not held has lapsed. */
export function freeCreditExpired(
  account: Pick<AccountRow, 'freeExpiresAtMs'>,
  nowMs: number,
): boolean {
  return account.freeExpiresAtMs !== null && nowMs >= account.freeExpiresAtMs
}

/** Posts the expiry of free credit that is past it and not held. Held credit may still be charged. */
export function lapseFreeCredit(work: UnitOfWork, account: AccountRow, nowMs: number): AccountRow {
  const unheld = account.freeBalanceMicros - account.freeHeldMicros
  if (unheld <= 0 || !freeCreditExpired(account, nowMs)) return account
  return post(work, {
    ...ENTRIES.start,
    account,
    kind: 'expiry',
    purse: 'free',
    amountMicros: micros(-unheld),
    createdAtMs: nowMs,
  })
}
