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
  enabled: z.boolean().describe('Whether new inference requests are answered 503.'),
})

function showMaintenance({ maintenance }: CommandParts): Operation {
  return operation({
    name: 'getMaintenance',
    method: 'GET',
    path: '/v1/admin/maintenance',
    summary: 'Whether maintenance is on.',
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
    summary:
      'Switch maintenance on or off. While it is on, new inference requests are refused; requests in flight finish.',
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
