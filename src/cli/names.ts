import { type Kysely, type RawBuilder, sql } from 'kysely'
import { hashCreditCode } from '../ledger/credit-codes.ts'
import { openInvitations } from '../people/links.ts'
import type { Tables } from '../store/schema.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { showMicros } from '../vocabulary/money.ts'
import { plainTypedCode } from '../vocabulary/typed-code.ts'
import { listWebhooks } from '../webhooks/registry.ts'
import { moment } from './table.ts'

/*
 * Things by the names that operators give them or that are proved. Names that customers choose select nothing: theirs could
 * be the name of another customer. Capitals of names and addresses make no difference.
 */

/** A thing that has a typed name. */
export interface NamedThing {
  readonly id: string
  /** Whether it was revoked or deleted. */
  readonly isEnded: boolean
  /** The facts that distinguish it from others of the name, by heading. */
  readonly cells: Readonly<Record<string, string>>
}

/** Finds the things that a name fits, at most {@link NAMED_MAX}, those that have not ended first. */
export type LookUp = (db: Kysely<Tables>, name: string) => Promise<readonly NamedThing[]>

/** More are not listed. */
export const NAMED_MAX = 20

const accounts: LookUp = async (db, name) => {
  const columns = ['id', 'name', 'email', 'external_id', 'created_at_ms'] as const
  const external = await db
    .selectFrom('accounts')
    .select(columns)
    .where('external_id', '=', name)
    .execute()
  // External IDs are unique: scripts can rely on them, even if another account has the same name.
  if (external.length > 0) return thingsOf(external, accountCells)
  const rows = await db
    .selectFrom('accounts')
    .select(columns)
    .where(({ or, and, eb }) =>
      or([
        and([isNamed({ column: 'name', name }), isNotSignUp()]),
        isNamed({ column: 'email', name }),
        eb('id', 'in', ownedBy(db, name)),
      ]),
    )
    .orderBy('id', 'desc')
    .limit(NAMED_MAX)
    .execute()
  return thingsOf(rows, accountCells)
}

function accountCells(
  row: Pick<Tables['accounts'], 'name' | 'email' | 'external_id' | 'created_at_ms'>,
) {
  return {
    NAME: row.name,
    EMAIL: row.email ?? '-',
    'EXTERNAL ID': row.external_id ?? '-',
    CREATED: moment(row.created_at_ms),
  }
}

/** Whether an account was not opened by the person whose name it has. */
function isNotSignUp(): RawBuilder<boolean> {
  return sql<boolean>`(external_id is null or external_id not like 'sign-up:%')`
}

/** The accounts of the owner with an email address that was proved. An invitation alone proves none. */
function ownedBy(db: Kysely<Tables>, email: string) {
  return db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select('members.account_id')
    .where('members.role', '=', 'owner')
    .where('users.email', '=', email.toLowerCase())
    .where(({ or, eb }) => or([eb('users.email_verified', '=', 1), eb('users.vouched', '=', 1)]))
}

const apiKeys: LookUp = async (db, prefix) => {
  const rows = await db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .select(['api_keys.id', 'display_prefix', 'deleted_at_ms', 'accounts.name as account_name'])
    .where('display_prefix', '=', prefix)
    .orderBy(sql`deleted_at_ms is not null`)
    .orderBy('api_keys.id', 'desc')
    .limit(NAMED_MAX)
    .execute()
  return thingsOf(
    rows,
    (row) => ({
      KEY: row.display_prefix,
      ACCOUNT: row.account_name,
      DELETED: moment(row.deleted_at_ms),
    }),
    (row) => row.deleted_at_ms !== null,
  )
}

const adminTokens: LookUp = async (db, name) => {
  const rows = await db
    .selectFrom('admin_tokens')
    .select(['id', 'scopes', 'created_at_ms', 'revoked_at_ms'])
    .where(isNamed({ column: 'name', name }))
    .orderBy(sql`revoked_at_ms is not null`)
    .orderBy('id', 'desc')
    .limit(NAMED_MAX)
    .execute()
  return thingsOf(
    rows,
    (row) => ({
      SCOPES: row.scopes,
      CREATED: moment(row.created_at_ms),
      REVOKED: moment(row.revoked_at_ms),
    }),
    (row) => row.revoked_at_ms !== null,
  )
}

const codes: LookUp = async (db, name) => {
  const rows = await db
    .selectFrom('credit_codes')
    .select(['id', 'display_suffix', 'amount_micros', 'created_at_ms'])
    .where(({ or, eb }) =>
      or([
        eb('code_hash', '=', hashCreditCode(name)),
        eb('display_suffix', '=', plainTypedCode(name.replace('…', ''))),
      ]),
    )
    .orderBy('id', 'desc')
    .limit(NAMED_MAX)
    .execute()
  return thingsOf(rows, (row) => ({
    CODE: `…${row.display_suffix}`,
    WORTH: showMicros(row.amount_micros),
    CREATED: moment(row.created_at_ms),
  }))
}

const users: LookUp = async (db, email) => {
  const rows = await db
    .selectFrom('users')
    .select(['id', 'email', 'name'])
    .where('email', '=', email.toLowerCase())
    .execute()
  return thingsOf(rows, (row) => ({ EMAIL: row.email, NAME: row.name }))
}

const invitations: LookUp = async (db, email) => {
  const open = openInvitations(db, { nowMs: systemClock.nowMs() })
  const rows = await open
    .leftJoin('accounts', 'accounts.id', 'links.account_id')
    .select(['links.id', 'accounts.name as account_name', 'role', 'is_operator'])
    .select('links.created_at_ms')
    .where('links.email', '=', email.toLowerCase())
    .orderBy('links.id', 'desc')
    .limit(NAMED_MAX)
    .execute()
  return thingsOf(rows, (row) => ({
    ACCOUNT: row.account_name ?? '-',
    ROLE: row.role ?? '-',
    OPERATOR: row.is_operator === 1 ? 'yes' : 'no',
    CREATED: moment(row.created_at_ms),
  }))
}

const webhooks: LookUp = async (db, name) => {
  const typed = name.toLowerCase()
  return (await listWebhooks(db))
    .filter(({ url }) => url.toLowerCase() === typed || new URL(url).host === typed)
    .map(({ id, url, disabled }) => ({
      id,
      isEnded: false,
      cells: { URL: url, STATE: disabled ? 'disabled' : 'active' },
    }))
}

/** The look-ups of things that have names, by the prefix of their IDs. */
export const LOOK_UPS = {
  acct: accounts,
  atok: adminTokens,
  code: codes,
  hook: webhooks,
  key: apiKeys,
  link: invitations,
  user: users,
} as const

/** The names of things by their IDs, so that a person sees whom a command has changed. An unknown ID has no name. */
export interface Named {
  /** Such as `"Ada" (acct_…)`. */
  account(accountId: string): Promise<string>
  /** Such as `"laptop" (key_…) of "Ada" (acct_…)`, also of a deleted key. */
  apiKey(apiKeyId: string): Promise<string>
}

/**
 * Reads the names in a store. If the store can't be read, IDs have no names: the command has run, and its output, such
 * as a key, must be shown.
 */
export function namedIn(db: Kysely<Tables>): Named {
  const account = async (id: string): Promise<string> => {
    const row = await db
      .selectFrom('accounts')
      .select('name')
      .where('id', '=', id)
      .executeTakeFirst()
      .catch(() => undefined)
    return row === undefined ? id : `"${row.name}" (${id})`
  }
  return {
    account,
    async apiKey(id) {
      const row = await db
        .selectFrom('api_keys')
        .select(['name', 'account_id'])
        .where('id', '=', id)
        .executeTakeFirst()
        .catch(() => undefined)
      return row === undefined ? id : `"${row.name}" (${id}) of ${await account(row.account_id)}`
    },
  }
}

/** By position: the rows, the cells of a row, and whether it has ended. */
function thingsOf<Row extends { readonly id: string }>(
  rows: readonly Row[],
  cellsOf: (row: Row) => NamedThing['cells'],
  isEnded: (row: Row) => boolean = () => false,
): readonly NamedThing[] {
  return rows.map((row) => ({ id: row.id, isEnded: isEnded(row), cells: cellsOf(row) }))
}

function isNamed({
  column,
  name,
}: Readonly<Record<'column' | 'name', string>>): RawBuilder<boolean> {
  // SQLite's `lower` changes only the letters of ASCII: others are found as they are typed.
  return sql<boolean>`(lower(${sql.ref(column)}) = ${name.toLowerCase()} or ${sql.ref(column)} = ${name})`
}
