import { integer, orNull, type RowOf, startsAs, Table, text } from './table.ts'

/**
 * Alerts that were noted, each once for its subject and step, and the places that alerts about keys have taken among the
 * emails of a day.
 */
export const ALERTS = new Table('alerts', {
  key: ['subject', 'step'],
  fixed: {
    /**
     * The id of an account or key, and the measured thing: a limit, a period of an allowance, or the credit since an
     * entry. For a place, the id of the account and the end of the day.
     */
    subject: text,
    /** Percent; 0: it has no steps. The number of a place, from 1. */
    step: integer,
    account_id: text,
    /** From then on it can't come again, and is removed. Null: it has no end. */
    ends_at_ms: orNull(integer),
    created_at_ms: integer,
  },
})

/** Emails of alerts to send: one row for each user, until the mail server has accepted it. */
export const ALERT_LETTERS = new Table('alert_letters', {
  key: ['id'],
  fixed: {
    id: text,
    user_id: text,
    account_id: text,
    /** The facts of the alert: an `AlertAbout`. */
    about_json: text,
    created_at_ms: integer,
    /** Tries that have ended. */
    tries: startsAs(0, integer),
    /** While a process sends it, no other does before this moment; after a try that failed, none. */
    next_try_at_ms: integer,
  },
})

/** An email of an alert. */
export type AlertLetterRow = RowOf<typeof ALERT_LETTERS>
