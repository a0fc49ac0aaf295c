import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/vocabulary/clock.ts'
import { count } from './numbers.ts'

const SECOND_MS = 1_000

// A number is not parted from its unit, nor a day from its month.
const SPACE = '\u00a0'

// 24 hours and day before month everywhere, in the time zone of the browser unless a name says UTC.
const LOCALE = 'en-GB'

const clock = new Intl.DateTimeFormat(LOCALE, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})
const clockMinutes = new Intl.DateTimeFormat(LOCALE, { hour: '2-digit', minute: '2-digit' })
const zonedMinutes = new Intl.DateTimeFormat(LOCALE, {
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
})
const day = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'short' })
const dayAndYear = new Intl.DateTimeFormat(LOCALE, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
})
const longDay = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'long', year: 'numeric' })
const utcDay = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const utcMonth = new Intl.DateTimeFormat(LOCALE, {
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})
const utcWeekday = new Intl.DateTimeFormat(LOCALE, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})

/** The time zone of the browser, such as `Europe/Berlin`. */
export function ownTimeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** `22:04`. */
export function minuteTime(at: Date): string {
  return clockMinutes.format(at)
}

/** `22:04:04.114`. */
export function exactTime(at: Date): string {
  return `${clock.format(at)}.${String(at.getMilliseconds()).padStart(3, '0')}`
}

/** `21 Nov`, with the year where it is not this one. */
export function dayOf(at: Date, now: Date): string {
  return asOne((at.getFullYear() === now.getFullYear() ? day : dayAndYear).format(at))
}

/** A date whose day is not parted from its month at the end of a line. */
function asOne(date: string): string {
  return date.replace(' ', SPACE)
}

/** `19 February 2027, 22:05 CET`, in the time zone of the browser. */
export function dayAndMinute(at: Date): string {
  return `${asOne(longDay.format(at))}, ${zonedMinutes.format(at)}`
}

/** `22:04:58` today, `21 Nov, 22:04` before: when a request was opened. */
export function listTime(at: Date, now: Date): string {
  return at.toDateString() === now.toDateString() ? clock.format(at) : dayAndShortMinute(at, now)
}

/** `21 Nov, 22:04`, with the year where it is not this one. */
export function dayAndShortMinute(at: Date, now: Date): string {
  return `${dayOf(at, now)}, ${clockMinutes.format(at)}`
}

/** `24 Oct`: the UTC day of a column of a chart. */
export function chartDay(at: Date): string {
  return utcDay.format(at)
}

/** `Oct 2026`: the UTC month of a column of a chart. */
export function chartMonth(at: Date): string {
  return utcMonth.format(at)
}

/** `Sat 14 Nov`, UTC. */
export function chartWeekday(at: Date): string {
  return utcWeekday.format(at).replace(',', '')
}

/** `2026-11-21 22:04:04 UTC`: what hovering over a time shows. */
export function utcTime(at: Date): string {
  return `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** `8 s ago`, `2 min ago`, `19 h ago`, then the day. */
export function ago(at: Date, now: Date): string {
  const ageMs = Math.max(0, now.getTime() - at.getTime())
  if (ageMs < MINUTE_MS) return `${Math.floor(ageMs / SECOND_MS)}${SPACE}s ago`
  if (ageMs < HOUR_MS) return `${Math.floor(ageMs / MINUTE_MS)}${SPACE}min ago`
  if (ageMs < DAY_MS) return `${Math.floor(ageMs / HOUR_MS)}${SPACE}h ago`
  return dayOf(at, now)
}

/** `640 ms`, `2.1 s`, `13.9 s`, `3 min 20 s`: how long something took. */
export function duration(elapsedMs: number): string {
  // A value that would be rounded up to the next unit is written in it: no "1000 ms" and no "60.0 s".
  if (elapsedMs < SECOND_MS - 0.5) return `${Math.round(elapsedMs)}${SPACE}ms`
  if (elapsedMs < MINUTE_MS - 50) return `${(elapsedMs / SECOND_MS).toFixed(1)}${SPACE}s`
  const seconds = Math.round(elapsedMs / SECOND_MS)
  return `${Math.floor(seconds / 60)}${SPACE}min ${seconds % 60}${SPACE}s`
}

/** Axis labels: `0 ms`, `200 ms`, or `0 s`, `0.5 s`, `1.0 s`: all labels of an axis in the unit that its step needs. */
export function durationTick(elapsedMs: number, stepMs: number): string {
  if (stepMs < SECOND_MS / 2) return `${count(elapsedMs)}${SPACE}ms`
  const places = elapsedMs === 0 || stepMs % SECOND_MS === 0 ? 0 : 1
  return `${(elapsedMs / SECOND_MS).toFixed(places)}${SPACE}s`
}
