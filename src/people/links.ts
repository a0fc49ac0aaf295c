import { hash, randomBytes } from 'node:crypto'
import { type ExpressionBuilder, type Kysely, sql, type Transaction } from 'kysely'
import { type OperatorAction, recordAction } from '../ledger/operator-actions.ts'
import { isPostgres } from '../store/is-postgres.ts'
import { LINKS, type LinkRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import { type DbWithIds, hasRow } from '../store/store.ts'
import { DAY_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import { Problem } from '../vocabulary/problem.ts'
import { LINK_MS, type LinkKind, type Role } from '../vocabulary/role.ts'
import { lockAdminToken } from './admin-tokens.ts'
import { lockPassword } from './users.ts'

const RANDOM_BYTES = 24

/** A new secret text for a link: 24 random bytes as base64url. Only its hash is stored. */
export function makeLinkText(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url')
}

/** SHA-256 of a link's or a session's secret, lower-case hexadecimal. Both are random, so a fast hash keeps them safe. */
export function hashSecret(secretText: string): string {
  return hash('sha256', secretText, 'hex')
}

/** How long links work that a user has emailed: letters say so. They outlast the wait for another email. */
export const MAILED_LINK_MS = 45 * MINUTE_MS

/** A link that has just been made: the only place that has its text. */
export interface NewLink {
  /** The part after `#` in the address of the link. */
  readonly text: string
  readonly expiresAtMs: number
}

/** The purpose of a link, by its kind. */
type LinkPurpose =
  | { readonly kind: 'setup' }
  | {
      readonly kind: 'invitation'
      readonly email: string
      readonly isOperator: boolean
      /** Whether the operator makes it. Default: only where it makes another operator. */
      readonly isVouched?: boolean
      /** Whether its text is only sent by email, so that using it proves the address. Default: no. */
      readonly isMailed?: boolean
      /** The user who makes it. Default null: the command line or a token does. */
      readonly inviterId?: string | null
      /** Whether the account may have only so many open invitations. Default: no. */
      readonly isBounded?: boolean
      /** Null: of no account yet. */
      readonly membership: { readonly accountId: string; readonly role: Role } | null
    }
  | { readonly kind: 'reset'; readonly userId: string }

/**
 * Makes a link. Links that have expired are removed, invitations a month later, and a user's earlier reset link no longer works. `by`:
 * who is recorded as having made it; null: it is not recorded. Throws Problem `too_many_invitations`, and
 * `invalid_admin_token` if the token that asks was revoked meanwhile.
 */
export async function makeLink(
  { db, ids, clock }: DbWithIds,
  purpose: LinkPurpose,
  by: OperatorAction | null = null,
): Promise<NewLink> {
  const text = makeLinkText()
  const nowMs = clock.nowMs()
  const expiresAtMs = nowMs + LINK_MS[purpose.kind]
  const row: LinkRow = {
    ...LINKS.start,
    id: ids.next('link'),
    kind: purpose.kind,
    tokenHash: hashSecret(text),
    ...fieldsOf(purpose),
    expiresAtMs,
    createdAtMs: nowMs,
  }
  await removeExpiredLinks(db, nowMs)
  await db.transaction().execute(async (trx) => {
    // One that is being revoked makes no link that outlives it.
    if (by !== null && 'token' in by && by.token.id !== null) await lockAdminToken(trx, by.token.id)
    if (purpose.kind === 'reset') {
      await lockPassword(trx, purpose.userId)
      await endOwnLinks(trx, { userId: purpose.userId, nowMs })
    }
    if (purpose.kind === 'invitation' && purpose.isBounded && row.accountId !== null) {
      await waitForInvitations(trx, row.accountId)
      await refuseTooMany(trx, { accountId: row.accountId, nowMs })
    }
    await trx.insertInto('links').values(LINKS.record(row)).execute()
    const { id: targetId, accountId, kind, userId, email, isOperator: operator, role } = row
    const detail = kind === 'reset' ? { user: userId } : { email, operator, role }
    await recordAction(trx, { by, targetId, accountId, detail, nowMs })
  })
  return { text, expiresAtMs }
}

/** Any number that no other lock of the gateway has; a second number names the account. */
const INVITATIONS_LOCK = 726_522_100

/** Until this transaction ends, no other invites people to the account. SQLite runs one transaction at a time. */
async function waitForInvitations(trx: Transaction<Tables>, accountId: string): Promise<void> {
  if (!isPostgres(trx)) return
  await sql`select pg_advisory_xact_lock(${INVITATIONS_LOCK}, hashtext(${accountId}))`.execute(trx)
}

/** The most open invitations of an account: each is a row of the store. */
const INVITATIONS_MAX = 100

/** Throws Problem `too_many_invitations` if an account has as many open invitations as it can have. */
export async function refuseTooMany(
  db: Kysely<Tables>,
  { accountId, nowMs }: { readonly accountId: string; readonly nowMs: number },
): Promise<void> {
  const open = await openInvitations(db, { accountId, nowMs }).select('id').execute()
  if (open.length >= INVITATIONS_MAX) throw new Problem('too_many_invitations')
}

/** The open invitations to search for. */
export interface InvitationFilter {
  /** The account that they are to. Default: any, or none. */
  readonly accountId?: string | undefined
  /** Whether they make an operator. Default: either. */
  readonly isOperator?: boolean | undefined
}

/** Invitations that can still be accepted. */
export function openInvitations(
  db: Kysely<Tables>,
  { accountId, isOperator, nowMs }: InvitationFilter & { readonly nowMs: number },
) {
  let open = db.selectFrom('links').where('kind', '=', 'invitation').where(isOpen(nowMs))
  if (accountId !== undefined) open = open.where('account_id', '=', accountId)
  if (isOperator !== undefined) open = open.where('is_operator', '=', isOperator ? 1 : 0)
  return open
}

/** How long an invitation that has expired is kept: it names the person who can send a new one. */
const EXPIRED_INVITATION_MS = 30 * DAY_MS

/** Removes links that have expired, invitations a month later. */
export async function removeExpiredLinks(db: Kysely<Tables>, nowMs: number): Promise<void> {
  await db
    .deleteFrom('links')
    .where(({ eb, or, and }) =>
      or([
        eb('expires_at_ms', '<', nowMs - EXPIRED_INVITATION_MS),
        and([eb('expires_at_ms', '<', nowMs), eb('kind', '<>', 'invitation')]),
      ]),
    )
    .execute()
}

/** A user, and the time of a change. */
export interface OfUser {
  readonly userId: string
  readonly nowMs: number
}

/**
 * Ends the links by which a user, whose password is locked, sets another, signs in without it, or changes the email
 * address.
 */
export async function endOwnLinks(trx: Transaction<Tables>, of: OfUser): Promise<void> {
  await endLinks(trx, { ...of, kinds: ['reset', 'sign_in', 'new_email'] })
}

/** Ends the links by which a user, whose password is locked, changes the email address. */
export async function endNewEmailLinks(trx: Transaction<Tables>, of: OfUser): Promise<void> {
  await endLinks(trx, { ...of, kinds: ['new_email'] })
}

async function endLinks(
  trx: Transaction<Tables>,
  { userId, nowMs, kinds }: OfUser & { readonly kinds: readonly LinkKind[] },
): Promise<void> {
  await trx
    .updateTable('links')
    .set({ used_at_ms: nowMs })
    .where('kind', 'in', kinds)
    .where('user_id', '=', userId)
    .where('used_at_ms', 'is', null)
    .execute()
}

function fieldsOf(purpose: LinkPurpose): Partial<LinkRow> {
  if (purpose.kind === 'setup') return {}
  if (purpose.kind === 'reset') return { userId: purpose.userId }
  const { email, isOperator, membership, isMailed: mailed = false, inviterId = null } = purpose
  const { isVouched: vouched = isOperator } = purpose
  const { accountId = null, role = null } = membership ?? {}
  return { email: email.toLowerCase(), isOperator, vouched, mailed, accountId, role, inviterId }
}

/** The link that a person has. */
interface PresentedLink {
  readonly kind: LinkKind
  readonly text: string
  readonly nowMs: number
}

/** Whether the user who sent an invitation is an owner of its account. */
export function isOwners({ exists, selectFrom }: ExpressionBuilder<Tables, 'links'>) {
  return exists(
    selectFrom('members')
      .select('members.user_id')
      .whereRef('members.user_id', '=', 'links.inviter_id')
      .whereRef('members.account_id', '=', 'links.account_id')
      .where('members.role', '=', 'owner'),
  )
}

/** Whether the user who sent an invitation is an operator. */
export function isOperators({ exists, selectFrom }: ExpressionBuilder<Tables, 'links'>) {
  return exists(
    selectFrom('users')
      .select('users.id')
      .whereRef('users.id', '=', 'links.inviter_id')
      .where('users.is_operator', '=', 1),
  )
}

/**
 * Whether a link can still be taken: it was not used, it has not expired, and the user who sent an invitation is still an
 * owner of its account or an operator.
 */
export function isOpen(nowMs: number) {
  return (of: ExpressionBuilder<Tables, 'links'>) =>
    of.and([
      of('links.used_at_ms', 'is', null),
      of('links.expires_at_ms', '>', nowMs),
      of.or([of('links.inviter_id', 'is', null), isOwners(of), isOperators(of)]),
    ])
}

/** A link that can still be taken; it is not taken by this. Throws Problem `invalid_link`. */
export async function readLink(
  db: Kysely<Tables>,
  { kind, text, nowMs }: PresentedLink,
): Promise<LinkRow> {
  const row = await db
    .selectFrom('links')
    .selectAll()
    .where('token_hash', '=', hashSecret(text))
    .where('kind', '=', kind)
    .where(isOpen(nowMs))
    .executeTakeFirst()
  if (row === undefined) throw new Problem('invalid_link')
  return LINKS.read(row)
}

/**
 * Takes a link that was read, in the transaction that gives its rights: if several take it at the same time, one has it.
 * Throws Problem `invalid_link` unless it can still be taken.
 */
export async function takeLink(
  trx: Transaction<Tables>,
  { id, nowMs }: { readonly id: string; readonly nowMs: number },
): Promise<void> {
  const taken = trx
    .updateTable('links')
    .set({ used_at_ms: nowMs })
    .where('id', '=', id)
    .where(isOpen(nowMs))
  if (!(await hasRow(taken.returning('id')))) throw new Problem('invalid_link')
}

/** The facts of a link that its holder sees before using it. */
export interface LinkLook {
  /** The address that the person signs in with; null: the link no longer works, or is for no address. */
  readonly email: string | null
  /** Whether it can still be taken. */
  readonly isUsable: boolean
  /** Whether it makes an operator. */
  readonly isOperator: boolean
  /** The account that it lets the person into; null: none. */
  readonly accountName: string | null
  readonly role: Role | null
  /** The user who made it and can send another; null: that user can no longer, or the command line or a token made it. */
  readonly inviter: { readonly name: string; readonly email: string } | null
  readonly expiresAtMs: number
}

/** Reads a link without using it, also one that was used or has expired. Null: there is none of this text. */
export async function lookAtLink(
  db: Kysely<Tables>,
  { kind, text, nowMs }: PresentedLink,
): Promise<LinkLook | null> {
  const row = await db
    .selectFrom('links')
    .leftJoin('accounts', 'accounts.id', 'links.account_id')
    .leftJoin('users', 'users.id', 'links.inviter_id')
    .selectAll('links')
    .select(['accounts.name as account_name', 'users.name as inviter_name'])
    .select('users.email as inviter_email')
    .where('links.token_hash', '=', hashSecret(text))
    .where('links.kind', '=', kind)
    .executeTakeFirst()
  if (row === undefined) return null
  const link = LINKS.read(row)
  const found = db.selectFrom('links').select('id').where('id', '=', link.id)
  const isUsable = await hasRow(found.where(isOpen(nowMs)))
  const canSendMore = await hasRow(found.where((of) => of.or([isOwners(of), isOperators(of)])))
  const { inviter_name: name, inviter_email: email } = row
  return {
    email: isUsable ? link.email : null,
    isUsable,
    isOperator: link.isOperator,
    accountName: row.account_name,
    role: link.role,
    inviter: canSendMore && name !== null && email !== null ? { name, email } : null,
    expiresAtMs: link.expiresAtMs,
  }
}
