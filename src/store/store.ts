import type { Kysely } from 'kysely'
import type { Clock } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import type { DatabaseLocation } from './database-url.ts'
import type { PageReads } from './page-reads.ts'
import type { Tables } from './schema.ts'

/** An open store. The ledger's commands do not go through it; everything else does. */
export interface Store {
  readonly location: DatabaseLocation
  /** Short reads, such as those of authentication, and admin writes. */
  readonly db: Kysely<Tables>
  /** Long reads, such as the audit's, on connections of their own. Read-only. */
  readonly reports: Kysely<Tables>
  /** Overviews, lists of a page and keys, on separate connections: no audit delays them. Read-only. Not for authentication. */
  readonly pages: PageReads
  /**
   * Usage, reports, CSV and searches with filters, apart from `pages`. A statement that takes too long is ended, and
   * throws `ReadRefused`. Read-only.
   */
  readonly searches: PageReads
  /** Runs `read` on one unchanging view of the store and a connection of its own. Read-only. */
  snapshot<T>(read: (view: Kysely<Tables>) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** The database, and the clock of the times in its rows. */
export interface DbWithClock {
  readonly db: Kysely<Tables>
  readonly clock: Clock
}

/** The database, its clock, and the ids of new rows. */
export interface DbWithIds extends DbWithClock {
  readonly ids: IdSource
}

/** Whether a statement finds a row, or returns one that it has changed. */
export async function hasRow(statement: {
  executeTakeFirst(): Promise<object | undefined>
}): Promise<boolean> {
  return (await statement.executeTakeFirst()) !== undefined
}

/** Reads in one view of the store, in which later writes do not appear. */
export function inOneView<Result>(
  db: Kysely<Tables>,
  read: (view: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  const view = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return view.execute(read)
}
