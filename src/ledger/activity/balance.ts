import { type Kysely, sql } from 'kysely'
import { ACCOUNTS, type AccountRow, type Tables } from '../../store/schema.ts'
import { type Micros, micros } from '../../vocabulary/money.ts'
import type { RequestState } from '../../vocabulary/outcome.ts'
import { availableCredit, freeCreditExpired } from '../rules/credit.ts'
import { holdsCredit } from './unsettled.ts'

/** An account's two purses at a moment. */
export interface AccountCredit {
  readonly backed: PurseBalance
  readonly free: PurseBalance & { readonly expiresAtMs: number | null }
  readonly hasBackedCredit: boolean
}

/** An account's money at a moment. `running`, `estimated` and `unresolved` requests together hold all held credit. */
export interface Balance extends AccountCredit {
  /** Held by requests in flight. */
  readonly running: HeldCredit
  /** Held by requests that are charged an estimate: the rest of each hold, in case the charge grows. */
  readonly estimated: HeldCredit
  readonly unresolved: HeldCredit
}

/** The money of one purse. */
export interface PurseBalance {
  readonly balanceMicros: Micros
  readonly heldMicros: Micros
  /** The balance minus held credit, never below zero. */
  readonly availableMicros: Micros
}

/** The credit that requests of one kind hold. */
export interface HeldCredit {
  readonly requests: number
  readonly heldMicros: Micros
  /** For each upstream, the request whose attempt ended first: one with an ID to ask by, and one without. */
  readonly oldest: readonly EndedRequest[]
}

/** The oldest ended request of an upstream: the deadline of its hold follows from it. */
interface EndedRequest {
  readonly upstream: string
  readonly generationId: string | null
  readonly endedAtMs: number
}

interface BalanceInput {
  readonly accountId: string
  readonly nowMs: number
}

/**
 * An account's balance, in one statement; null if there is no such account. Free credit that has expired and is not
 * held is shown as gone, even before its expiry has been posted.
 */
export async function getBalance(
  db: Kysely<Tables>,
  { accountId, nowMs }: BalanceInput,
): Promise<Balance | null> {
  const holding = db
    .selectFrom('all_requests')
    .select(({ fn }) => [
      'account_id as holder_id',
      'state as held_state',
      'upstream as held_upstream',
      fn.min('generation_id').as('held_generation_id'),
      fn.min('ended_at_ms').as('held_ended_at_ms'),
      fn.countAll<number | string>().as('held_requests'),
      // Sums of PostgreSQL are `numeric`, which the driver gives as text.
      sql<number>`cast(sum(backed_held_micros + free_held_micros) as bigint)`.as('held_micros'),
    ])
    .where(holdsCredit)
    .where('account_id', '=', accountId)
    .groupBy(['account_id', 'state', 'upstream', sql`generation_id is null`])
  const rows = await db
    .selectFrom('accounts')
    .leftJoin(holding.as('holding'), 'holding.holder_id', 'accounts.id')
    .selectAll()
    .where('accounts.id', '=', accountId)
    .execute()
  const [row] = rows
  if (row === undefined) return null
  const heldIn = (state: RequestState) => heldOf(rows.filter((each) => each.held_state === state))
  return {
    ...creditOf(ACCOUNTS.read(row), nowMs),
    running: heldIn('open'),
    estimated: heldIn('provisional'),
    unresolved: heldIn('unresolved'),
  }
}

function heldOf(
  rows: readonly {
    readonly held_upstream: string | null
    readonly held_generation_id: string | null
    readonly held_ended_at_ms: number | null
    readonly held_requests: number | string | null
    readonly held_micros: number | null
  }[],
): HeldCredit {
  return {
    requests: rows.reduce((sum, row) => sum + Number(row.held_requests), 0),
    heldMicros: micros(rows.reduce((sum, row) => sum + Number(row.held_micros), 0)),
    oldest: rows.flatMap((row) => {
      const { held_upstream: upstream, held_ended_at_ms: endedAtMs } = row
      if (upstream === null || endedAtMs === null) return []
      return [{ upstream, generationId: row.held_generation_id, endedAtMs }]
    }),
  }
}

/**
 * Whether either purse of an account has credit, held or not. Expired free credit does not count. Reads one
 * row by its primary key.
 */
export async function hasPostedCredit(
  db: Kysely<Tables>,
  { accountId, nowMs }: BalanceInput,
): Promise<boolean> {
  const row = await db
    .selectFrom('accounts')
    .select(['backed_balance_micros as backed', 'free_balance_micros as free'])
    .select('free_expires_at_ms as freeExpiresAtMs')
    .where('id', '=', accountId)
    .executeTakeFirst()
  if (row === undefined) return false
  return row.backed > 0 || (row.free > 0 && !freeCreditExpired(row, nowMs))
}

/** The purses of several accounts, by account id, as {@link getBalance} shows them. */
export async function getCredits(
  db: Kysely<Tables>,
  {
    accountIds,
    nowMs,
  }: {
    readonly accountIds: readonly string[]
    readonly nowMs: number
  },
): Promise<ReadonlyMap<string, AccountCredit>> {
  if (accountIds.length === 0) return new Map()
  const rows = await db.selectFrom('accounts').selectAll().where('id', 'in', accountIds).execute()
  return new Map(rows.map((row) => [row.id, creditOf(ACCOUNTS.read(row), nowMs)]))
}

function creditOf(account: AccountRow, nowMs: number): AccountCredit {
  const available = availableCredit(account, nowMs)
  return {
    backed: {
      balanceMicros: account.backedBalanceMicros,
      heldMicros: account.backedHeldMicros,
      availableMicros: available.backedMicros,
    },
    free: {
      balanceMicros: freeCreditExpired(account, nowMs)
        ? account.freeHeldMicros
        : account.freeBalanceMicros,
      heldMicros: account.freeHeldMicros,
      availableMicros: available.freeMicros,
      expiresAtMs: account.freeExpiresAtMs,
    },
    hasBackedCredit: account.hasBackedCredit,
  }
}
