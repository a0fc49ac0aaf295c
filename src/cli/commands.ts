import { ACCOUNT_COMMANDS } from './account.ts'
import { AUDIT_COMMAND } from './audit.ts'
import { CREDIT_COMMANDS } from './credit.ts'
import { KEY_COMMANDS } from './key.ts'
import { MAINTENANCE_COMMANDS } from './maintenance.ts'
import type { CommandRow } from './operation-command.ts'
import { REQUEST_COMMANDS } from './request.ts'

/** The commands that run operations, in the order of the help: a new one is a line here. */
export const COMMANDS: readonly CommandRow[] = [
  ACCOUNT_COMMANDS,
  CREDIT_COMMANDS,
  KEY_COMMANDS,
  REQUEST_COMMANDS,
  MAINTENANCE_COMMANDS,
  AUDIT_COMMAND,
]
