import type { ExpressionBuilder, Kysely, Transaction } from 'kysely'
import { MEMBERS, SIGN_INS, USERS, type UserRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import { hasRow } from '../store/store.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import type { Role } from '../vocabulary/role.ts'
import { readHasFactor, selectHasFactor } from './factors/own-factors.ts'

/** An account as one of its members sees it. */
export interface Membership {
  readonly accountId: string
  readonly accountName: string
  readonly accountDisabled: boolean
  readonly role: Role
}

/** Whether there is a user: without one, only a setup link lets a person in. */
export function hasUsers(db: Kysely<Tables>): Promise<boolean> {
  return hasRow(db.selectFrom('users').select('id').limit(1))
}

/** Users who were removed stay in the table, because records of their changes name them. No sign-in is left of them. */
function mayEnter(build: ExpressionBuilder<Tables, 'users'>) {
  const signIns = build.selectFrom('sign_ins').select('sign_ins.id')
  return build.exists(signIns.whereRef('sign_ins.user_id', '=', 'users.id'))
}

/** Null if no user has this email address, in whichever case it is written. */
export async function findUser(db: Kysely<Tables>, email: string): Promise<UserRow | null> {
  return USERS.readOne(
    db.selectFrom('users').selectAll().where('email', '=', email.toLowerCase()).where(mayEnter),
  )
}

/** Null if there is no such user. */
export async function getUser(db: Kysely<Tables>, userId: string): Promise<UserRow | null> {
  const users = db.selectFrom('users').selectAll().where(mayEnter)
  return USERS.readOne(users.where('id', '=', userId))
}

/** A user among all. */
export interface ListedUser {
  readonly user: UserRow
  readonly hasFactor: boolean
}

/** All users, in the order in which they were made. */
export async function listUsers(db: Kysely<Tables>): Promise<readonly ListedUser[]> {
  const users = db.selectFrom('users').selectAll().select(selectHasFactor).where(mayEnter)
  const rows = await users.orderBy('id').execute()
  return rows.map((row) => ({ user: USERS.read(row), hasFactor: readHasFactor(row) }))
}

/** The accounts that a user is a member of, in the order of joining. */
export async function listMemberships(
  db: Kysely<Tables>,
  userId: string,
): Promise<readonly Membership[]> {
  const rows = await db
    .selectFrom('members')
    .innerJoin('accounts', 'accounts.id', 'members.account_id')
    .select(['members.account_id', 'members.role', 'accounts.name', 'accounts.disabled'])
    .where('members.user_id', '=', userId)
    .orderBy('members.created_at_ms')
    .orderBy('members.account_id')
    .execute()
  return rows.map((row) => ({
    accountId: row.account_id,
    accountName: row.name,
    accountDisabled: row.disabled === 1,
    role: readRole(row.role),
  }))
}

/** A user in an account. */
export interface Member {
  readonly userId: string
  readonly name: string
  readonly email: string
  readonly role: Role
  readonly joinedAtMs: number
}

/** The members of an account, in the order of joining. */
export async function listMembers(
  db: Kysely<Tables>,
  accountId: string,
): Promise<readonly Member[]> {
  const rows = await db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select(['users.id', 'users.name', 'users.email', 'members.role', 'members.created_at_ms'])
    .where('members.account_id', '=', accountId)
    .orderBy('members.created_at_ms')
    .orderBy('users.id')
    .execute()
  return rows.map(({ id, name, email, role, created_at_ms: joinedAtMs }) => ({
    userId: id,
    name,
    email,
    role: readRole(role),
    joinedAtMs: Number(joinedAtMs),
  }))
}

/** The role of a user in an account: null in place of the role for a non-member; null if no account has this ID. */
export async function placeIn(
  db: Kysely<Tables>,
  { userId, accountId }: { readonly userId: string; readonly accountId: string },
): Promise<{ readonly role: Role | null } | null> {
  const row = await db
    .selectFrom('accounts')
    .leftJoin('members', (join) =>
      join.onRef('members.account_id', '=', 'accounts.id').on('members.user_id', '=', userId),
    )
    .select('members.role')
    .where('accounts.id', '=', accountId)
    .executeTakeFirst()
  return row === undefined ? null : { role: row.role === null ? null : readRole(row.role) }
}

function readRole(stored: string): Role {
  return stored === 'owner' ? 'owner' : 'member'
}

/**
 * Inserts a user who signs in by password, or lets one in again who was removed. Null: another transaction has made a
 * user with this email address meanwhile. A proof of the address does not count for a user who is let in again: it
 * was another's, unless it is shown again.
 */
export async function addUser(
  trx: Transaction<Tables>,
  {
    ids,
    nowMs,
    email,
    name,
    passwordHash,
    isOperator,
    isVouched,
  }: Pick<UserRow, 'email' | 'name' | 'isOperator'> & {
    readonly ids: IdSource
    readonly nowMs: number
    readonly passwordHash: string
    /** Whether the operator let the user in. */
    readonly isVouched: boolean
  },
): Promise<UserRow | null> {
  const user: UserRow = {
    ...USERS.start,
    id: ids.next('user'),
    name,
    email: email.toLowerCase(),
    isOperator,
    vouched: isVouched,
    createdAtMs: nowMs,
  }
  const again = {
    name,
    is_operator: isOperator ? 1 : 0,
    email_verified: 0,
    vouched: isVouched ? 1 : 0,
  }
  const row = await trx
    .insertInto('users')
    .values(USERS.record(user))
    .onConflict((conflict) => conflict.column('email').doUpdateSet(again))
    .returningAll()
    .executeTakeFirstOrThrow()
  const signIn = { id: ids.next('sign'), userId: row.id, providerUserId: row.id, passwordHash }
  const made = trx
    .insertInto('sign_ins')
    .values(SIGN_INS.record({ ...signIn, provider: PASSWORD_PROVIDER, createdAtMs: nowMs }))
    .onConflict((conflict) => conflict.columns(['provider', 'provider_user_id']).doNothing())
  return (await hasRow(made.returning('id'))) ? USERS.read(row) : null
}

/** The name that sign-in by password is stored under, in place of a provider's address. */
export const PASSWORD_PROVIDER = 'credential'

/** The user of an identity outside of the gateway; null: none has it. */
export async function findIdentity(
  db: Kysely<Tables>,
  { issuer, subject }: { readonly issuer: string; readonly subject: string },
): Promise<UserRow | null> {
  return USERS.readOne(
    db
      .selectFrom('users')
      .innerJoin('sign_ins', 'sign_ins.user_id', 'users.id')
      .selectAll('users')
      .where('sign_ins.provider', '=', issuer)
      .where('sign_ins.provider_user_id', '=', subject),
  )
}

/** A user's password as it is stored. */
export interface StoredPassword {
  readonly userId: string
  readonly passwordHash: string
}

/** The password of the user with this email address; null: there is no such user, or none with a password. */
export async function findPassword(
  db: Kysely<Tables>,
  email: string,
): Promise<StoredPassword | null> {
  const row = await db
    .selectFrom('sign_ins')
    .innerJoin('users', 'users.id', 'sign_ins.user_id')
    .select(['users.id as userId', 'sign_ins.password_hash as passwordHash'])
    .where('users.email', '=', email.toLowerCase())
    .where('sign_ins.provider', '=', PASSWORD_PROVIDER)
    .executeTakeFirst()
  if (row === undefined || row.passwordHash === null) return null
  return { userId: row.userId, passwordHash: row.passwordHash }
}

/**
 * Whether a user still has this password. Within a transaction the answer holds until its end: a transaction that
 * changes the password waits, and one that has begun to is waited for.
 */
export async function isPasswordUnchanged(
  db: Kysely<Tables>,
  { userId, passwordHash }: StoredPassword,
): Promise<boolean> {
  return (await lockPassword(db, userId)) === passwordHash
}

/**
 * Keeps other transactions from changing a user's password before this one ends. The first statement of each
 * transaction that changes it, so that two of them never wait for each other. Returns its hash.
 */
export async function lockPassword(db: Kysely<Tables>, userId: string): Promise<string | null> {
  const row = await db
    .updateTable('sign_ins')
    // Neither engine locks a row that is only read: SQLite has no such statement.
    .set(({ ref }) => ({ created_at_ms: ref('created_at_ms') }))
    .where('user_id', '=', userId)
    .where('provider', '=', PASSWORD_PROVIDER)
    .returning('password_hash')
    .executeTakeFirst()
  return row?.password_hash ?? null
}

/** Gives a user who signs in by password another one. */
export async function setPasswordHash(
  db: Kysely<Tables>,
  { userId, passwordHash }: StoredPassword,
): Promise<void> {
  await db
    .updateTable('sign_ins')
    .set({ password_hash: passwordHash })
    .where('user_id', '=', userId)
    .where('provider', '=', PASSWORD_PROVIDER)
    .execute()
}

/** Makes a user a member of an account; a member may become an owner, and no owner a member. */
export async function joinAccount(
  db: Kysely<Tables>,
  {
    userId,
    accountId,
    role,
    nowMs,
  }: {
    readonly userId: string
    readonly accountId: string
    readonly role: Role
    readonly nowMs: number
  },
): Promise<void> {
  await db
    .insertInto('members')
    .values(MEMBERS.record({ userId, accountId, role, createdAtMs: nowMs }))
    .onConflict((conflict) => {
      const known = conflict.columns(['account_id', 'user_id'])
      return role === 'owner' ? known.doUpdateSet({ role }) : known.doNothing()
    })
    .execute()
}

/** Sets columns of a user. By position: the store, the ID of the user, and the columns. */
export async function updateUser(
  db: Kysely<Tables>,
  userId: string,
  columns: Partial<Tables['users']>,
): Promise<void> {
  await db.updateTable('users').set(columns).where('id', '=', userId).execute()
}

/** Makes a user an owner of the oldest account, if there is one. */
export async function joinFirstAccount(
  trx: Transaction<Tables>,
  { userId, nowMs }: { readonly userId: string; readonly nowMs: number },
): Promise<void> {
  const first = await trx.selectFrom('accounts').select('id').orderBy('id').executeTakeFirst()
  if (first === undefined) return
  await joinAccount(trx, { userId, accountId: first.id, role: 'owner', nowMs })
}
