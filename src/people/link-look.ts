import type { Kysely } from 'kysely'
import { LINKS, type LinkRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import type { LinkKind, Role } from '../vocabulary/role.ts'
import { hashSecret } from './link-text.ts'

/** The facts of a link that its holder sees before using it. */
export interface LinkLook {
  /** Whether it can still be taken. */
  readonly isUsable: boolean
  /** Whether it makes an operator. */
  readonly isOperator: boolean
  /** The account that it lets the person into; null: none. */
  readonly accountName: string | null
  readonly role: Role | null
  /** Who made it; null: that is not known. */
  readonly inviterName: string | null
  readonly expiresAtMs: number
}

/** Reads a link without using it, also one that was used or has expired. Null: there is none of this text. */
export async function lookAtLink(
  db: Kysely<Tables>,
  { kind, text, nowMs }: { readonly kind: LinkKind; readonly text: string; readonly nowMs: number },
): Promise<LinkLook | null> {
  const row = await db
    .selectFrom('links')
    .leftJoin('accounts', 'accounts.id', 'links.account_id')
    .selectAll('links')
    .select('accounts.name as account_name')
    .where('links.token_hash', '=', hashSecret(text))
    .where('links.kind', '=', kind)
    .executeTakeFirst()
  if (row === undefined) return null
  const link = LINKS.read(row)
  return {
    isUsable: link.usedAtMs === null && link.expiresAtMs > nowMs,
    isOperator: link.isOperator,
    accountName: row.account_name,
    role: link.role,
    inviterName: kind === 'invitation' ? await inviterOf(db, link) : null,
    expiresAtMs: link.expiresAtMs,
  }
}

/** The operator who is recorded as having made an invitation, or else the one owner of its account. */
async function inviterOf(
  db: Kysely<Tables>,
  { id, accountId, vouched }: LinkRow,
): Promise<string | null> {
  const recorded = await db
    .selectFrom('operator_actions')
    .innerJoin('users', 'users.id', 'operator_actions.user_id')
    .select('users.name')
    .where('operator_actions.account_id', accountId === null ? 'is' : '=', accountId)
    .where('operator_actions.target_id', '=', id)
    .executeTakeFirst()
  if (recorded !== undefined) return recorded.name
  // Without a record an owner made it, unless it is the operator's own: that came from the command line or a token.
  if (accountId === null || vouched) return null
  const owners = await db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select('users.name')
    .where('members.account_id', '=', accountId)
    .where('members.role', '=', 'owner')
    .limit(2)
    .execute()
  return owners.length === 1 ? (owners[0]?.name ?? null) : null
}
