import { Command } from 'commander'
import { maintenanceShape } from '../operations/maintenance.ts'
import type { CommandInput } from './books.ts'
import { type OperationCommand, operationCommand, show } from './operation-command.ts'

/** `tollgate maintenance`: refuses inference for a while. */
export function maintenanceCommand(input: CommandInput): Command {
  const command = new Command('maintenance').description(
    'refuse new inference requests with 503, or take them again',
  )
  for (const row of COMMANDS) command.addCommand(operationCommand(input, row))
  return command
}

const STATE = show(maintenanceShape, ({ enabled }) => ({
  out: enabled
    ? 'maintenance is on: inference requests are answered 503'
    : 'maintenance is off: inference requests are served',
}))

const COMMANDS: readonly OperationCommand[] = [
  {
    name: 'on',
    runs: 'setMaintenance',
    words: 'refuse new inference requests; requests in flight finish',
    takes: [],
    body: { enabled: true },
    show: STATE,
  },
  {
    name: 'off',
    runs: 'setMaintenance',
    words: 'serve inference requests again',
    takes: [],
    body: { enabled: false },
    show: STATE,
  },
  {
    name: 'show',
    runs: 'getMaintenance',
    words: 'show whether maintenance is on',
    takes: [],
    show: STATE,
  },
]
