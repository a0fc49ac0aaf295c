import type { Terminal } from './terminal.ts'

interface ProgressInput {
  readonly terminal: Terminal
  /** What is said of how far it is. */
  readonly say: (done: number) => string
  /** A clock that never steps, in milliseconds. Default the process's own. */
  readonly elapsedMs?: () => number
}

// Often enough to look alive, seldom enough to cost nothing.
const REDRAW_INTERVAL_MS = 100

/** A function that is told how far a command is, as often as it likes, and shows it now and then. */
export function showProgress({
  terminal,
  say,
  elapsedMs = () => performance.now(),
}: ProgressInput): (done: number) => void {
  let shownAtMs = Number.NEGATIVE_INFINITY
  return (done) => {
    const nowMs = elapsedMs()
    if (nowMs - shownAtMs < REDRAW_INTERVAL_MS) return
    shownAtMs = nowMs
    terminal.progress(say(done))
  }
}
