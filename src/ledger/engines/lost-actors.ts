import type { LedgerCommand } from '../commands.ts'
import type { OperatorAction } from '../operator-actions.ts'

/** The users and admin tokens that a command names: the new owner of an account, and who gave the command. */
export function actorsOf(command: LedgerCommand): string[] {
  const { by = null } = command
  const giver = by === null ? null : 'userId' in by ? by.userId : by.token.id
  const owner = command.kind === 'createAccount' ? command.input.ownerId : null
  return [giver, owner ?? null].filter((id) => id !== null)
}

/**
 * A command without the users and admin tokens that the store does not know, which it would refuse: an account has no
 * owner then, and the audit log names the lost user or token as text alone.
 */
export function withKnownActors(command: LedgerCommand, known: ReadonlySet<string>): LedgerCommand {
  if (actorsOf(command).every((id) => known.has(id))) return command
  const by = knownGiver(command.by ?? null, known)
  if (command.kind !== 'createAccount') return { ...command, by }
  const { ownerId = null, ...input } = command.input
  const hasOwner = ownerId !== null && known.has(ownerId)
  return { ...command, by, input: { ...input, ownerId: hasOwner ? ownerId : null } }
}

function knownGiver(by: OperatorAction | null, known: ReadonlySet<string>): OperatorAction | null {
  if (by === null) return null
  const { id, action } = by
  if ('userId' in by) {
    return known.has(by.userId) ? by : { id, action, token: { id: null, name: by.userId } }
  }
  const { id: tokenId, name } = by.token
  return tokenId === null || known.has(tokenId) ? by : { id, action, token: { id: null, name } }
}
