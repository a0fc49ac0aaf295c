import { z } from 'zod'
import type { CommandParts, MaintenanceSwitch } from './admin-parts.ts'
import { type Operation, operation } from './operation.ts'

/** Refusing inference for a while. */
export function maintenanceAdmin(parts: CommandParts): readonly Operation[] {
  return [showMaintenance(parts), turnMaintenance(parts)]
}

/** Whether inference is refused. */
export const maintenanceShape = z.object({
  object: z.literal('maintenance'),
  enabled: z.boolean().describe('Whether inference answers 503.'),
})

function showMaintenance({ maintenance }: CommandParts): Operation {
  return operation({
    name: 'getMaintenance',
    method: 'GET',
    path: '/v1/admin/maintenance',
    summary: 'Whether inference is refused at the moment.',
    answers: { 200: maintenanceShape },
    async run() {
      return { httpStatus: 200, body: await maintenanceAnswer(maintenance) }
    },
  })
}

function turnMaintenance({ maintenance }: CommandParts): Operation {
  return operation({
    name: 'setMaintenance',
    method: 'PUT',
    path: '/v1/admin/maintenance',
    summary: 'Refuse new inference requests, or take them again. What runs goes on.',
    body: z.strictObject({ enabled: z.boolean() }),
    answers: { 200: maintenanceShape },
    async run({ body: { enabled } }) {
      await maintenance.turn(enabled ? 'on' : 'off')
      return { httpStatus: 200, body: await maintenanceAnswer(maintenance) }
    },
  })
}

async function maintenanceAnswer({
  isOn,
}: MaintenanceSwitch): Promise<z.infer<typeof maintenanceShape>> {
  return { object: 'maintenance', enabled: await isOn }
}
