import { type Command, CommanderError } from 'commander'
import { Problem } from '../vocabulary/problem.ts'
import { CommandFailure, type Terminal, UsageFailure } from './terminal.ts'

interface RunInput {
  /** What was typed behind the program's name. */
  readonly args: readonly string[]
  readonly terminal: Terminal
  /** A failure's message for the person, where it is not the command line's own; null: it is a bug. */
  readonly explain: (error: unknown) => string | null
}

// Beside 0.
const EXIT = { failed: 1, usage: 2, notFound: 3 } as const

interface Failure {
  readonly message: string
  readonly code: string
  readonly exitCode: number
}

/** Runs a command line and gives its exit code. Throws what is a bug. */
export async function runCommandLine(
  program: Command,
  { args, terminal, explain }: RunInput,
): Promise<number> {
  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError && !isUsage(error)) {
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

// A help or a version that was asked for, or the help in place of a missing command, was printed.
function isUsage({ code }: CommanderError): boolean {
  return !['commander.help', 'commander.helpDisplayed', 'commander.version'].includes(code)
}

function failureOf(error: unknown, explain: RunInput['explain']): Failure | null {
  if (error instanceof CommanderError) {
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
