import { Command } from 'commander'
import { accountCommand } from './cli/account.ts'
import { auditCommand } from './cli/audit.ts'
import type { CommandInput } from './cli/books.ts'
import { creditCommand } from './cli/credit.ts'
import { keyCommand } from './cli/key.ts'
import { requestCommand } from './cli/request.ts'
import { CommandFailure, processTerminal } from './cli/terminal.ts'
import { ConfigError, configFromEnvironment, storeUrlOf } from './config.ts'
import { SchemaMismatch } from './store/migrate.ts'
import { ServeLockHeld } from './store/serve-lock.ts'
import { UpstreamMismatch } from './store/settings.ts'
import { StoreUnavailable } from './store/store-unavailable.ts'

const terminal = processTerminal

const input: CommandInput = {
  settings: () => {
    const config = configFromEnvironment()
    return { storeUrl: storeUrlOf(config), keyTag: config.TOLLGATE_KEY_TAG }
  },
  terminal,
}

const program = new Command('tollgate')
  .description('A self-hosted gateway to hosted models, with prepaid credit.')
  .version('0.1.0')
  .showHelpAfterError('(run it with --help to see what it takes)')
  .addHelpText(
    'after',
    `
Settings are read from the environment and from .env; DATABASE_URL says which store.
Commands work on the store, with or without a server running.`,
  )
program
  .command('serve')
  .description('run the gateway until it is told to stop')
  // The server's parts are loaded for it alone: other commands start in half the time without them.
  .action(async () => (await import('./serve.ts')).serve(terminal))
program.addCommand(accountCommand(input))
program.addCommand(creditCommand(input))
program.addCommand(keyCommand(input))
program.addCommand(requestCommand(input))
program.addCommand(auditCommand(input))

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = 1
  if (isForThePerson(error)) terminal.note(`tollgate: ${error.message}`)
  else throw error
}

/** Failures whose message says what to do; any other is a bug, and its stack is worth having. */
function isForThePerson(error: unknown): error is Error {
  return (
    error instanceof CommandFailure ||
    error instanceof ConfigError ||
    error instanceof SchemaMismatch ||
    error instanceof ServeLockHeld ||
    error instanceof UpstreamMismatch ||
    error instanceof StoreUnavailable
  )
}
