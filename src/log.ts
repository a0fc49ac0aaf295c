import { type Logger, pino } from 'pino'

export interface OpenLogInput {
  readonly level: string
}

/** The process's log, on standard output, one JSON object a line. */
export interface OpenLog {
  readonly log: Logger
  /** Writes what is still in memory; call it last. */
  close(): void
}

// A write a line was an eighth of a request's time on the event loop; a write a batch is none of it.
// What a killed process had not written yet is at most this old.
const FLUSH_INTERVAL_MS = 100
const BATCH_BYTES = 15 * 1024

/** Opens the log. Lines reach standard output within a tenth of a second. */
export function openLog({ level }: OpenLogInput): OpenLog {
  const destination = pino.destination({ fd: 1, sync: false, minLength: BATCH_BYTES })
  const timer = setInterval(() => destination.flush(), FLUSH_INTERVAL_MS)
  timer.unref()
  return {
    log: pino({ level }, destination),
    close() {
      clearInterval(timer)
      destination.flushSync()
    },
  }
}
