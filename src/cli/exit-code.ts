import type { CommanderError } from 'commander'
import { Problem } from '../vocabulary/problem.ts'
import { CommandFailure, type Terminal, UsageFailure } from './terminal.ts'

interface RunInput {
  /** The arguments after the program's name. */
  readonly args: readonly string[]
  readonly terminal: Terminal
  /** The message of a failure that the command line does not know; null: it is a bug. */
  readonly explain: (error: unknown) => string | null
  readonly run: () => Promise<unknown>
}

// Beside 0.
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
    const { message, code, exitCode } = failure
    if (args.includes('--json')) terminal.note(JSON.stringify({ error: { message, code } }))
    else {
      const hint = exitCode === EXIT.usage ? '\n(run it with --help to see its arguments)' : ''
      terminal.note(`tollgate: ${message}${hint}`)
    }
    return exitCode
  }
}

// Known by its code: the class would load Commander, which `serve` does without.
function isCommanderError(error: unknown): error is CommanderError {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.')
}

// Commander has printed the help or the version.
function isUsage({ code }: CommanderError): boolean {
  return !['commander.help', 'commander.helpDisplayed', 'commander.version'].includes(code)
}

function failureOf(error: unknown, explain: RunInput['explain']) {
  if (isCommanderError(error)) {
    const message = error.message.replace(/^error: /, '')
    return { message, code: 'invalid_usage', exitCode: EXIT.usage }
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
