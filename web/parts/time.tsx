import { utcTime } from '../format/time.ts'
import { useTextNow } from './now.ts'

interface TimeProps {
  /** RFC 3339. */
  readonly at: string
  /** How it is written. By position: the time, and the time now. */
  readonly show: (at: Date, now: Date) => string
}

/** A time in the reader's own zone; hovering shows it in UTC. */
export function Time({ at, show }: TimeProps) {
  const date = new Date(at)
  const text = useTextNow((now) => show(date, now))
  return (
    <time dateTime={date.toISOString()} title={utcTime(date)}>
      {text}
    </time>
  )
}
