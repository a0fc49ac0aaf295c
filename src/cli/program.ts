import { Command } from 'commander'
import { accountCommand } from './account.ts'
import { auditCommand } from './audit.ts'
import { backupCommand } from './backup.ts'
import type { CommandInput } from './books.ts'
import { catalogCommand } from './catalog.ts'
import { creditCommand } from './credit.ts'
import { exportCommand } from './export.ts'
import { importCommand } from './import.ts'
import { keyCommand } from './key.ts'
import { requestCommand } from './request.ts'

export interface ProgramInput extends CommandInput {
  readonly version: string
  /** Runs the gateway until it is told to stop. */
  readonly serve: () => Promise<void>
}

/** The whole command line. */
export function tollgateProgram(input: ProgramInput): Command {
  const program = new Command('tollgate')
    .description('A self-hosted gateway to hosted models, with prepaid credit.')
    .version(input.version)
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
    .action(() => input.serve())
  for (const command of [
    accountCommand(input),
    creditCommand(input),
    keyCommand(input),
    requestCommand(input),
    auditCommand(input),
    catalogCommand(input),
    backupCommand(input),
    exportCommand(input),
    importCommand(input),
  ]) {
    program.addCommand(command)
    inherit(command, program)
  }
  return program
}

/** Commands that were made apart take the settings of their program, down to the last. */
function inherit(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent)
  for (const below of command.commands) inherit(below, command)
}
