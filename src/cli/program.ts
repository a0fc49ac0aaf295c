import { Command } from 'commander'
import { ACCOUNT_COMMANDS } from './account.ts'
import { ACTION_COMMANDS } from './action.ts'
import { catalogCommand } from './catalog.ts'
import { backupCommand, copyCommand, retiredCommand } from './copy.ts'
import { CREDIT_COMMANDS } from './credit.ts'
import { type DoctorInput, doctorCommand } from './doctor/doctor.ts'
import { KEY_COMMANDS } from './key.ts'
import { type CommandRow, operationCommand } from './operation-command.ts'
import { PURCHASE_COMMANDS } from './purchase.ts'
import { USAGE_COMMAND } from './reports.ts'
import { REQUEST_COMMANDS } from './request.ts'
import { SALE_COMMANDS } from './sale.ts'
import { TOKEN_COMMANDS } from './token.ts'
import { AUDIT_COMMAND, MAIL_COMMANDS, MAINTENANCE_COMMANDS } from './upkeep.ts'
import { upstreamCommand } from './upstream.ts'
import { USER_COMMANDS } from './user.ts'
import { WEBHOOK_COMMANDS } from './webhook.ts'

interface ProgramInput extends DoctorInput {
  /** The commands that run operations. */
  readonly commands: readonly CommandRow[]
  /** Runs the gateway until a signal stops it. */
  readonly serve: () => Promise<void>
}

/** The whole command line. */
export function tollgateProgram(input: ProgramInput): Command {
  const program = new Command('tollgate')
    .description('A self-hosted gateway to hosted models, with prepaid credit.')
    .version(input.version)
    // `runToExitCode` prints all failures.
    .exitOverride()
    .configureOutput({
      outputError: () => {},
      writeOut: (text) => input.terminal.out(text.replace(/\n$/, '')),
      writeErr: (text) => input.terminal.note(text.replace(/\n$/, '')),
    })
    .addHelpText(
      'after',
      `
Commands work on the store, with or without a server running. DATABASE_URL says which store: by default
./data/tollgate.db, or ./data/simulator.db while no upstream is configured. Settings are read from the
environment and from .env. In a checkout, type \`npx tollgate\` instead of \`tollgate\`.

Exit codes: 0 success, 2 wrong command line, 3 no such account, key, code, token, webhook, purchase or
request, 1 any other failure.
With --json, an error is one line on standard error: {"error":{"message":"…","code":"…"}}.

README.md has the first steps, docs/config.md the settings.`,
    )
  program
    .command('serve')
    .description('run the gateway until it is stopped')
    .addHelpText('after', SERVE_SETTINGS)
    .action(() => input.serve())
  for (const command of [
    ...input.commands.map((row) => operationCommand(input, row)),
    catalogCommand(input),
    upstreamCommand(input),
    backupCommand(input),
    copyCommand(input),
    doctorCommand(input),
  ]) {
    program.addCommand(command)
    inherit(command, program)
  }
  for (const name of ['export', 'import']) {
    const command = retiredCommand(name)
    program.addCommand(command, { hidden: true })
    inherit(command, program)
  }
  return program
}

// The settings of a first hour; docs/config.md has all of them.
const SERVE_SETTINGS = `
Settings are environment variables, or lines of a file named .env, such as
  PORT=8788                                        the port; 8787 by default
  HOST=0.0.0.0                                     the address; 127.0.0.1 by default
  UPSTREAM_BASE_URL=https://openrouter.ai/api/v1   the provider; without it, the simulator answers
  UPSTREAM_DIALECT=openai                          or anthropic: that vendor's own API, at its own address
  UPSTREAM_API_KEY=sk-or-...                       the gateway's own key there
  ADMIN_API_TOKEN=...                              turns the admin API on; see /docs of the server
  DATABASE_URL=postgres://...                      the store; a SQLite file in ./data by default
docs/config.md has all settings. Ctrl-C waits for requests in flight; a second Ctrl-C does not.`

/** Copies the settings of the program to a command and everything below it. */
function inherit(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent)
  for (const below of command.commands) inherit(below, command)
}

/** The commands that run operations, in the order of the help: a new one is a line here. */
export const COMMANDS: readonly CommandRow[] = [
  ACCOUNT_COMMANDS,
  CREDIT_COMMANDS,
  PURCHASE_COMMANDS,
  SALE_COMMANDS,
  KEY_COMMANDS,
  REQUEST_COMMANDS,
  USAGE_COMMAND,
  USER_COMMANDS,
  TOKEN_COMMANDS,
  WEBHOOK_COMMANDS,
  ACTION_COMMANDS,
  MAIL_COMMANDS,
  MAINTENANCE_COMMANDS,
  AUDIT_COMMAND,
]
