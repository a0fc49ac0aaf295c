import { z } from 'zod'
import { momentField } from '../operations/fields.ts'
import { isTimeZone, wallMsAt } from '../vocabulary/allowance.ts'
import { UsageFailure } from './terminal.ts'
import type { OtherTyped, Taken } from './typed-input.ts'

/*
 * Dates, times and durations as a person types them, in the units of an operation.
 */

const DATE = 'a date such as 2027-01-31, a time such as 2027-01-31T12:00:00Z'

const AGO = `must be ${DATE}, today, yesterday, this-month or last-month, or how long ago, such as 24h or 7d`
const AHEAD = `must be ${DATE}, or how long from now, such as 12h or 90d`

/** The form of a `--since` or `--until`, for a help. */
export const SINCE_FORMS =
  'such as 2027-01-31, 2027-01-31T12:00:00Z, yesterday or last-month, or 24h or 7d for how long ago'

/** The options of the range of a list. By position: the event that the time of a row is of, such as `opened`. */
export function spanOptions(verb: string): readonly Taken[] {
  return [
    {
      flags: '--since <time>',
      words: `${verb} at this time or later, ${SINCE_FORMS}`,
      to: 'query.since',
      read: readSince,
    },
    {
      flags: '--until <time>',
      words: `${verb} before this time, in the same forms; default: now`,
      to: 'query.until',
      read: readSince,
    },
  ]
}

/** The options of the range of a report. By position: the words of its start and of its end, and how both are read. */
export function rangeOptions(
  since: string,
  until: string,
  read: NonNullable<Taken['read']> = readSince,
): readonly Taken[] {
  return [
    { flags: '--since <time>', words: since, to: 'query.from', read },
    { flags: '--until <time>', words: until, to: 'query.to', read },
  ]
}

/** A date, a time, a word such as `yesterday`, or how long ago, as a time. A date is its start in UTC. */
export function readSince(text: string, nowMs: number): string {
  return readMoment(dateOf(text, nowMs), { nowMs, direction: -1, message: AGO })
}

/**
 * Like {@link readSince}, but a date stays a date, which the operation reads in a time zone: the one in which a word is
 * a date.
 */
export function readSinceOrDate(text: string, nowMs: number, { timeZone }: OtherTyped): string {
  // The operation refuses another one.
  const date = dateOf(text, isTimeZone(timeZone) ? wallMsAt(timeZone, nowMs) : nowMs)
  return z.iso.date().safeParse(date).success ? date : readSince(date, nowMs)
}

/**
 * The date of a word such as `yesterday`; other texts unchanged. A month is its first day. By position: the text, and
 * the present time of day as if it were UTC.
 */
function dateOf(text: string, wallMs: number): string {
  const now = new Date(wallMs)
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  const startMs = new Map([
    ['today', Date.UTC(year, month, day)],
    ['yesterday', Date.UTC(year, month, day - 1)],
    ['this-month', Date.UTC(year, month)],
    ['last-month', Date.UTC(year, month - 1)],
  ]).get(text)
  return startMs === undefined ? text : new Date(startMs).toISOString().slice(0, 10)
}

/** The option of the end of something that is created, which has none by default. */
export const EXPIRES_OPTION: Taken = {
  flags: '--expires <when>',
  words: 'when it expires, such as 2027-01-31 or 90d; default: never',
  to: 'body.expires_at',
  read: readExpiry,
}

/** A date, a time, or how long from now, as a time. A date is its start in UTC. */
export function readExpiry(text: string, nowMs: number): string {
  return readMoment(text, { nowMs, direction: 1, message: AHEAD })
}

/** Reads an expiry as seconds from now. */
export function readExpirySeconds(text: string, nowMs: number): number {
  const expiresAtMs = Date.parse(readExpiry(text, nowMs))
  if (expiresAtMs <= nowMs) throw new UsageFailure('must be in the future')
  return Math.floor((expiresAtMs - nowMs) / 1_000)
}

/** A duration such as `30m`, `12h` or `90d` as seconds. */
function readSeconds(text: string): number {
  const seconds = secondsOf(text)
  if (seconds !== null) return seconds
  throw new UsageFailure('must be minutes, hours or days such as 30m, 12h or 90d')
}

/** A grace period as seconds: at most a week, as the operation also checks. */
export function readGrace(text: string): number {
  const seconds = readSeconds(text)
  if (seconds > 7 * SECONDS.d) throw new UsageFailure('must be at most 7d')
  return seconds
}

interface MomentInput {
  readonly nowMs: number
  /** Whether a duration is counted forward from now, or backward. */
  readonly direction: 1 | -1
  readonly message: string
}

function readMoment(text: string, { nowMs, direction, message }: MomentInput): string {
  const seconds = secondsOf(text)
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text
  const moment =
    seconds === null ? date : new Date(nowMs + direction * seconds * 1_000).toISOString()
  const { success, data: momentMs } = momentField.safeParse(moment)
  if (success) return new Date(momentMs).toISOString()
  throw new UsageFailure(message)
}

const SECONDS = { m: 60, h: 3_600, d: 86_400 } as const

/** Null: the text is no duration. */
function secondsOf(text: string): number | null {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text.trim()) ?? []
  return unit === 'm' || unit === 'h' || unit === 'd' ? Number(count) * SECONDS[unit] : null
}
