import { accountAdmin } from './accounts.ts'
import type { AdminParts, CommandParts } from './admin-parts.ts'
import { apiKeyAdmin } from './api-keys.ts'
import { creditAdmin } from './credit.ts'
import { creditCodeAdmin } from './credit-codes.ts'
import { maintenanceAdmin } from './maintenance.ts'
import type { Operation } from './operation.ts'
import { requestAdmin } from './requests.ts'
import { upkeepAdmin } from './upkeep.ts'

/** Operations of one kind, under the title that documents give them. */
export interface OperationSection {
  readonly title: string
  readonly operations: readonly Operation[]
}

/** Every operation of the admin API. */
export function adminSections(parts: AdminParts): readonly OperationSection[] {
  return [
    { title: 'Accounts', operations: accountAdmin(parts) },
    { title: 'Credit', operations: creditAdmin(parts) },
    { title: 'API keys', operations: apiKeyAdmin(parts) },
    { title: 'Credit codes', operations: creditCodeAdmin(parts) },
    { title: 'Requests', operations: requestAdmin(parts) },
    { title: 'Upkeep', operations: [...upkeepAdmin(parts), ...maintenanceAdmin(parts)] },
  ]
}

/** The operations that commands run, by name. */
export function commandOperations(parts: CommandParts): ReadonlyMap<string, Operation> {
  const operations = [
    accountAdmin,
    creditAdmin,
    apiKeyAdmin,
    creditCodeAdmin,
    requestAdmin,
    maintenanceAdmin,
  ].flatMap((admin) => admin(parts))
  return new Map(operations.map((each) => [each.name, each]))
}
