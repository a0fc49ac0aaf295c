import { type Logger, pino } from 'pino'

export interface OpenLogInput {
  readonly level: string
}

/** The process's log, on standard output, one JSON object a line. */
export interface OpenLog {
  readonly log: Logger
  /** Writes whole lines that the log of another thread has made. */
  writeLines(lines: string): void
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
    writeLines: (lines) => void destination.write(lines),
    close() {
      clearInterval(timer)
      destination.flushSync()
    },
  }
}

export interface OpenThreadLogInput extends OpenLogInput {
  /** The thread's number, which all its lines have. */
  readonly worker: number
  /** Takes whole lines to the thread that writes them. */
  readonly post: (lines: string) => void
}

/**
 * The log of a thread whose lines another writes, so that no two threads write into each other's. Lines
 * are handed over within a tenth of a second.
 */
export function openThreadLog({ level, worker, post }: OpenThreadLogInput): {
  readonly log: Logger
  /** Hands over what is still in memory. */
  flush(): void
} {
  let lines = ''
  const flush = (): void => {
    if (lines === '') return
    post(lines)
    lines = ''
  }
  setInterval(flush, FLUSH_INTERVAL_MS).unref()
  const write = (line: string): void => {
    lines += line
    if (lines.length >= BATCH_BYTES) flush()
  }
  return { log: pino({ level }, { write }).child({ worker }), flush }
}
