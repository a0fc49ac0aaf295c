import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import { up as base } from './0026-base.ts'
import { up as vouched } from './0027-vouched.ts'
import { up as suspensions } from './0028-suspensions.ts'
import { up as mailTimes } from './0029-mail-times.ts'
import { up as storeGaps } from './0030-store-gaps.ts'
import { up as sessionGuard } from './0031-session-guard.ts'
import { up as costs } from './0032-costs.ts'
import { up as keyRotation } from './0033-key-rotation.ts'
import { up as statements } from './0034-statements.ts'
import { up as receipts } from './0035-receipts.ts'
import { up as holds } from './0036-holds.ts'
import { up as reads } from './0037-reads.ts'
import { up as oldVersions } from './0038-old-versions.ts'
import { up as errorCodes } from './0039-error-codes.ts'
import { up as reversals } from './0040-reversals.ts'
import { up as rolledBy } from './0041-rolled-by.ts'
import { up as refusals } from './0042-refusals.ts'
import { up as takenAccess } from './0043-taken-access.ts'
import { up as keyCounts } from './0044-key-counts.ts'
import { up as searches } from './0045-searches.ts'
import { up as lostChanges } from './0046-lost-changes.ts'
import { up as newestNotes } from './0047-newest-notes.ts'
import { up as disputes } from './0048-disputes.ts'
import { up as unreadColumns } from './0049-unread-columns.ts'
import { up as receiptBuyers } from './0050-receipt-buyers.ts'
import { up as failedRequests } from './0051-failed-requests.ts'

/** One step of the schema. Once released it never changes: a change is a new step. */
export interface Migration {
  /** Counts without gaps. The first makes the tables of an empty store, and has the number of the last that it stands for. */
  readonly number: number
  readonly name: string
  /** Means the same on every engine. */
  up(db: Kysely<Tables>): Promise<void>
}

/** Every step, in order. */
export const MIGRATIONS: readonly Migration[] = [
  { number: 26, name: 'base', up: base },
  { number: 27, name: 'vouched', up: vouched },
  { number: 28, name: 'suspensions', up: suspensions },
  { number: 29, name: 'mail-times', up: mailTimes },
  { number: 30, name: 'store-gaps', up: storeGaps },
  { number: 31, name: 'session-guard', up: sessionGuard },
  { number: 32, name: 'costs', up: costs },
  { number: 33, name: 'key-rotation', up: keyRotation },
  { number: 34, name: 'statements', up: statements },
  { number: 35, name: 'receipts', up: receipts },
  { number: 36, name: 'holds', up: holds },
  { number: 37, name: 'reads', up: reads },
  { number: 38, name: 'old-versions', up: oldVersions },
  { number: 39, name: 'error-codes', up: errorCodes },
  { number: 40, name: 'reversals', up: reversals },
  { number: 41, name: 'rolled-by', up: rolledBy },
  { number: 42, name: 'refusals', up: refusals },
  { number: 43, name: 'taken-access', up: takenAccess },
  { number: 44, name: 'key-counts', up: keyCounts },
  { number: 45, name: 'searches', up: searches },
  { number: 46, name: 'lost-changes', up: lostChanges },
  { number: 47, name: 'newest-notes', up: newestNotes },
  { number: 48, name: 'disputes', up: disputes },
  { number: 49, name: 'unread-columns', up: unreadColumns },
  { number: 50, name: 'receipt-buyers', up: receiptBuyers },
  { number: 51, name: 'failed-requests', up: failedRequests },
]

/** The newest schema that this program knows. */
export const PROGRAM_SCHEMA: number = newestOf(MIGRATIONS)

/** The number of the newest of some migrations. */
export function newestOf(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.number ?? 0
}
