import type { CommanderError } from 'commander'
import { Problem } from '../vocabulary/problem.ts'
import { brokenAt, withoutTurns } from './shown-width.ts'

/** The output of a command. It is passed in, so that tests can read it. */
export interface Terminal {
  /** How many columns wide the results are shown; null: they go to a pipe or a file. */
  readonly columnsMax: number | null
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
  readonly columns?: number
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
    stream.write(`${withoutTurns(text)}\n`)
  }
  const writeRemark = writeTo(remarks)
  return {
    // A window can be resized while a command runs.
    get columnsMax() {
      return widthOf(results)
    },
    out: writeTo(results),
    note: (text) => writeRemark(inColumns(text, widthOf(remarks))),
    progress: show,
  }
}

/** How many columns wide a terminal is; null: it is none, or does not know, as a serial console that says 0. */
function widthOf({ isTTY, columns = 0 }: TerminalStream): number | null {
  return isTTY === true && columns > 0 ? columns : null
}

/** Lines with a layout of their own: commands and values, which are indented, the rows of a table, and JSON. */
const HAS_LAYOUT = /^[ {]| {2}/

/** A remark with its sentences broken between words, where a terminal would break them within a word. By position: it, the columns. */
function inColumns(text: string, columns: number | null): string {
  if (columns === null) return text
  return text
    .split('\n')
    .flatMap((line) => (HAS_LAYOUT.test(line) ? line : brokenAt(columns, line)))
    .join('\n')
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

/** Several things have a typed name. */
export class AmbiguousName extends UsageFailure {
  override readonly name: string = 'AmbiguousName'
  readonly things: { readonly ids: readonly string[]; readonly listed: string }

  /** By position: the message, and the IDs of the things with a table of them. */
  constructor(message: string, things: AmbiguousName['things']) {
    super(message)
    this.things = things
  }
}

// Often enough to look alive, rarely enough to cost nothing.
const REDRAW_INTERVAL_MS = 100

/** Makes a function that takes the progress of a command at any rate, and shows it now and then. */
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

const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Prints what a command has left when a signal ends it. Returns a function that ends this. By position: the terminal, and
 * the command. `stopped` cleans up and returns the message.
 */
export function explainSignals(
  terminal: Terminal,
  { isJson, stopped }: { readonly isJson: boolean; readonly stopped: () => string },
): () => void {
  const end = (signal: NodeJS.Signals): void => {
    stop()
    const message = `stopped: ${stopped()}`
    terminal.note(
      isJson ? jsonFailure({ message, code: 'command_failed' }) : `tollgate: ${message}`,
    )
    process.kill(process.pid, signal)
  }
  const stop = (): void => {
    for (const signal of ENDING_SIGNALS) process.off(signal, end)
  }
  for (const signal of ENDING_SIGNALS) process.on(signal, end)
  return stop
}

interface RunInput {
  /** The arguments after the program's name. */
  readonly args: readonly string[]
  readonly terminal: Terminal
  /** The message of a failure that the command line does not know; null: it is a bug. */
  readonly explain: (error: unknown) => string | null
  readonly run: () => Promise<unknown>
}

// In addition to 0.
const EXIT = { failed: 1, usage: 2, notFound: 3 } as const

/** Runs a command and returns its exit code. Prints a failure, and rethrows bugs. */
export async function runToExitCode({ args, terminal, explain, run }: RunInput): Promise<number> {
  try {
    await run()
    return 0
  } catch (error) {
    if (isCommanderError(error) && !isUsage(error)) {
      return error.exitCode === 0 ? 0 : EXIT.usage
    }
    const failure = failureOf(error, explain)
    if (failure === null) throw error
    const { message, exitCode, things } = failure
    if (args.includes('--json')) {
      terminal.note(jsonFailure(failure))
    } else {
      const needsHelpHint = exitCode === EXIT.usage && !isUnknownCommand(error)
      const help = needsHelpHint ? '(add --help to see its arguments and options)' : null
      const below = things?.listed ?? help
      terminal.note(`tollgate: ${message}${below === null ? '' : `\n${below}`}`)
    }
    return exitCode
  }
}

// Known by its code: the class would load Commander, which `serve` does without.
function isCommanderError(error: unknown): error is CommanderError {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.')
}

/** Whether there is no such command, and so no help of it: the message has the nearest name, or all of them. */
function isUnknownCommand(error: unknown): boolean {
  return isCommanderError(error) && error.code === 'commander.unknownCommand'
}

// Commander has printed the help or the version.
function isUsage({ code }: CommanderError): boolean {
  return !['commander.help', 'commander.helpDisplayed', 'commander.version'].includes(code)
}

/** A failure as one line, for programs. */
function jsonFailure({ message, code, things }: Omit<Failure, 'exitCode'>): string {
  return JSON.stringify({ error: { message, code, ...(things && { ids: things.ids }) } })
}

interface Failure {
  readonly message: string
  readonly code: string
  readonly exitCode: number
  /** The things that an ambiguous name fits. */
  readonly things?: AmbiguousName['things']
}

function failureOf(error: unknown, explain: RunInput['explain']): Failure | null {
  if (isCommanderError(error)) {
    const message = error.message.replace(/^error: /, '')
    return { message, code: 'invalid_usage', exitCode: EXIT.usage }
  }
  if (error instanceof AmbiguousName) {
    const { message, things } = error
    return { message, code: 'ambiguous_name', exitCode: EXIT.usage, things }
  }
  if (error instanceof UsageFailure) {
    return { message: error.message, code: 'invalid_usage', exitCode: EXIT.usage }
  }
  if (error instanceof Problem) {
    return { message: error.message, code: error.code, exitCode: exitCodeOf(error) }
  }
  const message = error instanceof CommandFailure ? error.message : explain(error)
  return message === null ? null : { message, code: 'command_failed', exitCode: EXIT.failed }
}

function exitCodeOf({ httpStatus }: Problem): number {
  if (httpStatus === 400) return EXIT.usage
  return httpStatus === 404 ? EXIT.notFound : EXIT.failed
}
