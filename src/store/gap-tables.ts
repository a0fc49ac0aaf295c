import { amount, integer, type RowOf, Table, text } from './table.ts'

/** Times at which the database went back: it had lost commits that were confirmed to a gateway. */
export const STORE_GAPS = new Table('store_gaps', {
  key: ['id'],
  fixed: {
    id: text,
    /** The instance that found the gap, in its own commits. */
    instance_id: text,
    found_at_ms: integer,
    /** The times of the first and the last lost commit. */
    from_ms: integer,
    until_ms: integer,
    commits: integer,
    /** Requests that were booked again, and their charges. */
    requests: integer,
    charge_micros: amount,
    /** Other commands that were run again. */
    commands: integer,
    /** Commands that could not be booked again. */
    lost: integer,
  },
})

/** A time at which the database went back. */
export type StoreGapRow = RowOf<typeof STORE_GAPS>

/** The number of an instance's latest commit that no request shows. Each store has its own. */
export const COMMIT_MARKS = new Table('commit_marks', {
  key: ['instance_id'],
  fixed: { instance_id: text, commits: integer },
})
