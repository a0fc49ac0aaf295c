import { maintenanceShape } from '../operations/upkeep.ts'
import { type CommandGroup, show } from './operation-command.ts'

const STATE = show(maintenanceShape, ({ enabled }) => ({
  out: enabled
    ? 'maintenance is on: inference requests are answered 503'
    : 'maintenance is off: inference requests are served',
}))

/** `tollgate maintenance`: refuses inference for a while. */
export const MAINTENANCE_COMMANDS: CommandGroup = {
  name: 'maintenance',
  words: 'refuse new inference requests with 503, or take them again',
  commands: [
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
  ],
}
