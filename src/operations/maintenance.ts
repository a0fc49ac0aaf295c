import { z } from 'zod'
import { type Operation, operation } from './operation.ts'
import type { MaintenanceSwitch, OperationParts } from './operation-parts.ts'

/** Refusing inference for a while. */
export function maintenanceOperations(parts: OperationParts): readonly Operation[] {
  return [showMaintenance(parts), turnMaintenance(parts)]
}

/** Whether inference is refused. */
export const maintenanceShape = z.object({
  object: z.literal('maintenance'),
  enabled: z.boolean().describe('Whether new inference requests are answered 503.'),
})

function showMaintenance({ maintenance }: OperationParts): Operation {
  return operation({
    name: 'getMaintenance',
    method: 'GET',
    paths: { admin: '/v1/admin/maintenance' },
    summary: 'Whether maintenance is on.',
    answers: { 200: maintenanceShape },
    async run() {
      return { httpStatus: 200, body: await maintenanceAnswer(maintenance) }
    },
  })
}

function turnMaintenance({ maintenance }: OperationParts): Operation {
  return operation({
    name: 'setMaintenance',
    method: 'PUT',
    paths: { admin: '/v1/admin/maintenance' },
    summary:
      'Switch maintenance on or off. While it is on, new inference requests are refused; requests in flight finish.',
    body: z.strictObject({ enabled: z.boolean() }),
    example: { enabled: false },
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
