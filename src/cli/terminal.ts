
/** Where a command writes. Passed in, so that a test reads what a person would. */
export interface Terminal {
  /** Results: what a pipe is given. */
  out(text: string): void
  /** Remarks. */
  note(text: string): void
  /**
   * Shows how far a long command is, in place of what it showed before, until the next result or remark
   * or an empty text. Shown to people alone: where nobody watches, nothing is written.
   */
  progress(text: string): void
}

/** A stream that a terminal writes to. */
interface TerminalStream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** The terminal of two streams: results to one, remarks and progress to the other. */
export function createTerminal({
  results,
  remarks,
}: {
  readonly results: TerminalStream
  readonly remarks: TerminalStream
}): Terminal {
  let shown = ''
  const show = (text: string): void => {
    if (remarks.isTTY !== true || text === shown) return
    // Back to the start of the line, which is erased.
    remarks.write(`\r\x1b[K${text}`)
    shown = text
  }
  const writeTo = (stream: TerminalStream) => (text: string) => {
    show('')
    stream.write(`${text}\n`)
  }
  return { out: writeTo(results), note: writeTo(remarks), progress: show }
}

/** The process's own terminal. */
export const processTerminal: Terminal = createTerminal({
  results: process.stdout,
  remarks: process.stderr,
})

/** What a command ends with when it could not do what it was asked: the message is for the person. */
export class CommandFailure extends Error {
  override readonly name: string = 'CommandFailure'
}

/** A command was typed in a way that cannot be meant. */
export class UsageFailure extends CommandFailure {
  override readonly name: string = 'UsageFailure'
}

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
