/** Where a command writes. Passed in, so that tests can read it. */
export interface Terminal {
  /** Writes a result, to standard output. */
  out(text: string): void
  /** Writes a remark, to standard error. */
  note(text: string): void
  /**
   * Shows how far a long command is, replacing the earlier text, until the next result, remark or empty text.
   * Written to a terminal only, never to a pipe.
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
    stream.write(`${text.replace(TURNS, escaped)}\n`)
  }
  return { out: writeTo(results), note: writeTo(remarks), progress: show }
}

// Characters that turn the direction of the text after them, so that a name could rewrite the rest of its line. In JSON
// the escape means the same character.
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16)}`
}

/** The process's own terminal. */
export const processTerminal: Terminal = createTerminal({
  results: process.stdout,
  remarks: process.stderr,
})

/** A command failed. The message is for the person who typed it. */
export class CommandFailure extends Error {
  override readonly name: string = 'CommandFailure'
}

/** A command was typed wrongly. */
export class UsageFailure extends CommandFailure {
  override readonly name: string = 'UsageFailure'
}

// Often enough to look alive, rarely enough to cost nothing.
const REDRAW_INTERVAL_MS = 100

/** Makes a function that takes how far a command is, as often as it is called, and shows it now and then. */
export function showProgress(
  terminal: Terminal,
  say: (done: number) => string,
  elapsedMs: () => number = () => performance.now(),
): (done: number) => void {
  let shownAtMs = Number.NEGATIVE_INFINITY
  return (done) => {
    const nowMs = elapsedMs()
    if (nowMs - shownAtMs < REDRAW_INTERVAL_MS) return
    shownAtMs = nowMs
    terminal.progress(say(done))
  }
}
