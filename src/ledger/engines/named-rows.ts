import { assertNever } from '../../vocabulary/assert-never.ts'
import type { RedeemCodeInput } from '../ledger.ts'
import type { CreditPlace } from '../rules/unit-of-work.ts'
import type { LedgerCommand } from './commands.ts'

/** The rows that commands work on. With each request come its account and its key. */
export interface NamedRows {
  readonly accountIds: Set<string>
  readonly apiKeyIds: Set<string>
  readonly requestIds: Set<string>
  /** All requests of these instances that are open. */
  readonly instanceIds: Set<string>
  /** The entries of credit that was added before. */
  readonly credits: CreditPlace[]
  /** The codes, and the entries of their credit. */
  readonly codes: RedeemCodeInput[]
  readonly creditCodeIds: Set<string>
}

/** The rows that an engine loads before it applies commands. */
export function rowsNamedBy(commands: readonly LedgerCommand[]): NamedRows {
  const named: NamedRows = {
    accountIds: new Set(),
    apiKeyIds: new Set(),
    requestIds: new Set(),
    instanceIds: new Set(),
    credits: [],
    codes: [],
    creditCodeIds: new Set(),
  }
  for (const command of commands) nameRows(named, command)
  return named
}

function nameRows(named: NamedRows, command: LedgerCommand): void {
  switch (command.kind) {
    case 'openHold':
      named.accountIds.add(command.input.accountId)
      named.apiKeyIds.add(command.input.apiKeyId)
      named.requestIds.add(command.input.requestId)
      return
    case 'settle':
      named.requestIds.add(command.input.requestId)
      if (command.accountId !== undefined) named.accountIds.add(command.accountId)
      return
    case 'correct':
      named.requestIds.add(command.input.requestId)
      return
    case 'noteGeneration':
      named.requestIds.add(command.requestId)
      return
    case 'addCredit':
      named.accountIds.add(command.input.accountId)
      named.credits.push(command.input)
      return
    case 'redeemCode':
      named.accountIds.add(command.input.accountId)
      named.codes.push(command.input)
      return
    case 'abandonInstance':
      named.instanceIds.add(command.instanceId)
      return
    case 'abandonHolds':
      for (const requestId of command.requestIds) named.requestIds.add(requestId)
      return
    case 'createAccount':
    case 'updateAccount':
      named.accountIds.add(command.input.id)
      return
    case 'addApiKey':
      named.accountIds.add(command.input.accountId)
      named.apiKeyIds.add(command.input.id)
      return
    case 'updateApiKey':
      named.apiKeyIds.add(command.input.id)
      return
    case 'deleteApiKey':
      named.apiKeyIds.add(command.apiKeyId)
      return
    case 'addCreditCode':
      named.creditCodeIds.add(command.input.id)
      return
    case 'revokeCreditCode':
      named.creditCodeIds.add(command.creditCodeId)
      return
    default:
      assertNever(command)
  }
}
