import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../store/schema.ts'
import { inOneView, type Store } from '../../store/store.ts'
import { type Micros, micros, subtractMicros, ZERO_MICROS } from '../../vocabulary/money.ts'
import type { AuditFindings } from '../audit/audit.ts'
import type { Difference } from '../audit/difference.ts'

/**
 * The number of entries between two sums of an account. A read adds up fewer entries than this or, after the newest
 * sum, at most half of those posted since, which can be more in the hours until the next sum is written.
 */
export const ENTRIES_A_SUM = 2_000

// Two gateways whose clocks differ post entries whose times go back a little.
const CLOCKS_APART_MS = 60_000

/** A place between two entries of an account. */
export interface EntryPlace {
  /** The entries before this place have lower numbers. */
  readonly before: number
  /** The balance of both purses before the entry of that number. */
  readonly balanceMicros: Micros
}

interface OfAccount {
  readonly accountId: string
}

/**
 * The place after the newest entry from before a moment, in one view of the store. Times of entries rise with their
 * numbers, so a binary search finds it; if a clock was set back by more than a minute, the place is after one of the
 * entries that are followed by a later one.
 */
export function placeBefore(
  db: Kysely<Tables>,
  asked: OfAccount & { readonly toMs: number },
): Promise<EntryPlace> {
  return inOneView(db, async (view) => {
    const number = await newestBefore(view, asked)
    return { before: number + 1, balanceMicros: await balanceAfter(view, { ...asked, number }) }
  })
}

/** The number of the newest entry from before a moment; 0: there is none. */
async function newestBefore(
  view: Kysely<Tables>,
  { accountId, toMs }: OfAccount & { readonly toMs: number },
): Promise<number> {
  const middle = sql`(low + high + 1) / 2`
  const isBefore = sql`(select created_at_ms from entries
    where account_id = ${accountId} and number = ${middle}) < ${toMs + CLOCKS_APART_MS}`
  const { rows } = await sql<{ readonly number: number | null }>`
    with recursive halves (low, high) as (
      select cast(0 as bigint), entry_count from accounts where id = ${accountId}
      union all
      select case when ${isBefore} then ${middle} else low end,
        case when ${isBefore} then high else ${middle} - 1 end
      from halves where low < high
    )
    select number from entries where account_id = ${accountId}
      and number <= (select max(low) from halves) and created_at_ms < ${toMs}
    order by number desc limit 1`.execute(view)
  return rows[0]?.number ?? 0
}

/**
 * The balance of both purses after an entry: computed from the sum before it or from the present balance, whichever is
 * nearer.
 */
async function balanceAfter(
  view: Kysely<Tables>,
  { accountId, number }: OfAccount & { readonly number: number },
): Promise<Micros> {
  const account = await view
    .selectFrom('accounts')
    .select(['entry_count', 'backed_balance_micros as backed', 'free_balance_micros as free'])
    .where('id', '=', accountId)
    .executeTakeFirst()
  if (account === undefined) return ZERO_MICROS
  const summed = await view
    .selectFrom('entry_sums')
    .select(['number', 'sum_micros'])
    .where('account_id', '=', accountId)
    .where('number', '<=', number)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  const from = summed?.number ?? 0
  if (account.entry_count - number < number - from) {
    const after = { accountId, from: number, to: account.entry_count }
    return subtractMicros(micros(account.backed + account.free), await sumBetween(view, after))
  }
  const sumMicros = await sumBetween(view, { accountId, from, to: number })
  return micros((summed?.sum_micros ?? 0) + sumMicros)
}

/** The entries numbered above `from`, up to and including `to`. */
interface EntrySpan extends OfAccount {
  readonly from: number
  readonly to: number
}

async function sumBetween(view: Kysely<Tables>, span: EntrySpan): Promise<Micros> {
  const { rows } = await sql<{ readonly sum_micros: number }>`
    select ${sumOf(span)} as sum_micros`.execute(view)
  return micros(rows[0]?.sum_micros ?? 0)
}

// Sums of PostgreSQL are `numeric`, which the driver gives as text.
const sumOf = ({ accountId, from, to }: EntrySpan) => sql`(
  select cast(coalesce(sum(amount_micros), 0) as bigint) from entries
  where account_id = ${accountId} and number > ${from} and number <= ${to})`

/**
 * Writes the sum of every two-thousandth entry of each account that has none yet, in one statement each: entries never
 * change. `pause` gives the store to others after a statement that took so many milliseconds; it throws if this must
 * stop.
 */
export async function sumEntries(
  { db, reports }: Pick<Store, 'db' | 'reports'>,
  pause: (tookMs: number) => Promise<void>,
): Promise<void> {
  for (const { accountId, entries, summed } of await paced({ pause }, () => withoutSums(reports))) {
    for (let from = summed; from + ENTRIES_A_SUM <= entries; from += ENTRIES_A_SUM) {
      await paced({ pause }, () => addSum(db, { accountId, from, to: from + ENTRIES_A_SUM }))
    }
  }
}

interface WithoutSums extends OfAccount {
  readonly entries: number
  /** The number up to which they are added up. */
  readonly summed: number
}

/** The accounts that lack a sum. */
async function withoutSums(db: Kysely<Tables>): Promise<readonly WithoutSums[]> {
  const { rows } = await sql<WithoutSums>`
    select "accountId", entries, summed from (
      select id as "accountId", entry_count as entries, coalesce((
        select max(number) from entry_sums where account_id = accounts.id
      ), 0) as summed from accounts where entry_count >= ${ENTRIES_A_SUM}
    ) as added_up where summed + ${ENTRIES_A_SUM} <= entries`.execute(db)
  return rows
}

/** In one statement: after a failover, the database may have neither the sum before nor the entries. */
async function addSum(db: Kysely<Tables>, span: EntrySpan): Promise<void> {
  const { accountId, from, to } = span
  await sql`
    insert into entry_sums (account_id, number, sum_micros)
    select id, cast(${to} as bigint), earlier.sum_micros + ${sumOf(span)}
    from accounts, (
      select sum_micros from entry_sums where account_id = ${accountId} and number = ${from}
      union all select 0 where cast(${from} as bigint) = 0
    ) as earlier
    where id = ${accountId} and entry_count >= ${to}
    on conflict do nothing`.execute(db)
}

/** Compares each sum with the one before it and the entries between them. */
export async function auditEntrySums(view: Kysely<Tables>, findings: AuditFindings): Promise<void> {
  const { rows } = await sql<Omit<Difference, 'what'>>`
    select account_id || ' ' || number as id, cast(sum_micros as text) as stored,
      cast(recomputed as text) as recomputed
    from (
      select account_id, number, sum_micros, (
        select coalesce(sum(amount_micros), 0) from entries where account_id = sums.account_id
          and number > sums.number - ${sql.lit(ENTRIES_A_SUM)} and number <= sums.number
      ) + coalesce((
        select sum_micros from entry_sums as earlier where account_id = sums.account_id
          and number = sums.number - ${sql.lit(ENTRIES_A_SUM)}
      ), 0) as recomputed from entry_sums as sums
    ) as compared where sum_micros <> recomputed`.execute(view)
  findings.found(rows.map((row) => ({ what: 'entry_sums.sum_micros', ...row })))
}

/** Runs a statement, and lets others have the store afterwards. */
export async function paced<T>(
  { pause }: { readonly pause: (tookMs: number) => Promise<void> },
  run: () => Promise<T>,
): Promise<T> {
  const beganAtMs = performance.now()
  const result = await run()
  await pause(performance.now() - beganAtMs)
  return result
}
