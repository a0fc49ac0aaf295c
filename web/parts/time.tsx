import { utcTime } from '../format/time.ts'
import { useNow } from './now.ts'

interface TimeProps {
  /** RFC 3339. */
  readonly at: string
  /** How it is written. By position: the time, and the time now. */
  readonly show: (at: Date, now: Date) => string
}

/** A time in the reader's own zone; hovering shows it in UTC. */
export function Time({ at, show }: TimeProps) {
  const now = useNow()
  const date = new Date(at)
  return (
    <time dateTime={date.toISOString()} title={utcTime(date)}>
      {show(date, now)}
    </time>
  )
}
