import { utcTime } from '../format/time.ts'

/** A time in the reader's own zone; hovering shows it in UTC. */
export function Time({ at, children }: { at: Date; children: string }) {
  return (
    <time dateTime={at.toISOString()} title={utcTime(at)}>
      {children}
    </time>
  )
}
