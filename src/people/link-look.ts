import type { Kysely } from 'kysely'
import { LINKS } from '../store/people-tables.ts'
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
  /** The user who made it; null: the command line or a token did. */
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
    .leftJoin('users', 'users.id', 'links.inviter_id')
    .selectAll('links')
    .select(['accounts.name as account_name', 'users.name as inviter_name'])
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
    inviterName: row.inviter_name,
    expiresAtMs: link.expiresAtMs,
  }
}
