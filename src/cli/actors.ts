import { Problem } from '../vocabulary/problem.ts'
import { COMMAND_LINE } from '../vocabulary/recorded-operation.ts'
import type { CommandContext } from './command-context.ts'
import { UsageFailure } from './terminal.ts'

/*
 * Users and admin tokens by the names that people know: operations take their IDs.
 */

/** Reads the email address or the ID of a user: {@link findUserId} finds the ID of an address. */
export function readUser(text: string): string {
  if (text.includes('@') || text.startsWith('user_')) return text
  throw new UsageFailure(
    'must be an email address or the ID of a user, which begins with user_: `tollgate user list` shows both',
  )
}

/** The ID of a user, from the email address or the ID. Throws Problem `not_found`. */
export async function findUserId(
  text: string,
  { store }: Pick<CommandContext, 'store'>,
): Promise<string> {
  if (!text.includes('@')) return text
  // Removed users are found too: the audit log has their changes.
  const user = await store.db
    .selectFrom('users')
    .select('id')
    .where('email', '=', text.toLowerCase())
    .executeTakeFirst()
  if (user !== undefined) return user.id
  throw new Problem('not_found', { message: `No user has the email address "${text}".` })
}

/** Whoever changed something and has no ID. */
const WITHOUT_ID = new Set<string>([COMMAND_LINE, 'ADMIN_API_TOKEN'])

/**
 * The IDs of users and admin tokens, from their IDs, email addresses and names, comma-separated. All tokens of a name
 * are found, revoked ones too. Throws Problem `not_found`.
 */
export async function findActorIds(
  text: string,
  opened: Pick<CommandContext, 'store'>,
): Promise<string> {
  const found: string[] = []
  for (const actor of text.split(',').map((part) => part.trim())) {
    const isId = /^(?:user|atok)_/.test(actor) || WITHOUT_ID.has(actor)
    if (isId || actor.includes('@')) found.push(await findUserId(actor, opened))
    else found.push(...(await tokenIdsOf(actor, opened)))
  }
  return found.join()
}

async function tokenIdsOf(
  name: string,
  { store }: Pick<CommandContext, 'store'>,
): Promise<readonly string[]> {
  const rows = await store.db
    .selectFrom('admin_tokens')
    .select('id')
    .where('name', '=', name)
    .orderBy('id')
    .execute()
  if (rows.length > 0) return rows.map(({ id }) => id)
  throw new Problem('not_found', {
    message: `No admin token has the name "${name}": \`tollgate token list\` shows the names.`,
  })
}
