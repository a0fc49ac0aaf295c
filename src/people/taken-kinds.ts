import type { TakenAccessRow } from '../store/people-tables.ts'
import type { RecordedOperation } from '../vocabulary/recorded-operation.ts'
import { PASSWORD_PROVIDER } from './users.ts'

/** Columns of a row, by their names. */
export type Fields = Readonly<Record<string, string | number | null>>

/** The columns that name a row, and those that were set. */
export interface RowFields {
  readonly rowKey: Fields
  /** Null: the row is removed. */
  readonly set: Fields | null
}

/** The columns of a change that took access. */
export function fieldsOf({ keyJson, setJson }: TakenAccessRow): RowFields {
  return { rowKey: JSON.parse(keyJson), set: setJson === null ? null : JSON.parse(setJson) }
}

/** The columns whose values are secrets: a note says that they were changed, and null in place of the value. */
export const SECRETS: ReadonlySet<string> = new Set([
  'password_hash',
  'secret',
  'public_key',
  'url',
])

/** Whether the gateway that made a change can book it again as it was, and no other can. */
export function isBookedAgain(row: TakenAccessRow): boolean {
  return row.tableName === 'api_keys' && 'display_prefix' in (fieldsOf(row).set ?? {})
}

interface TakenKind {
  readonly words: string
  /** The result, for the log. Default: the change was repeated. */
  readonly became?: string
  /** The operation in the audit log. Absent: operators have none that does only this. */
  readonly action?: RecordedOperation
}

/** By table, of rows that were removed. */
const REMOVED: Readonly<Record<string, TakenKind>> = {
  members: { words: 'the removal of a member', action: 'removeMember' },
  sign_ins: { words: 'the removal of a sign-in', action: 'removeUser' },
  authenticator_apps: { words: 'the removal of an authenticator app' },
  passkeys: { words: 'the removal of a passkey' },
  recovery_codes: { words: 'the replacement of recovery codes' },
  sessions: { words: 'a sign-out' },
  webhooks: { words: 'the deletion of a webhook', action: 'deleteWebhook' },
}

/** By table and column, of rows that were changed or added. */
const CHANGED: Readonly<Record<string, TakenKind>> = {
  'members.role': { words: 'the new role of a member', action: 'changeMember' },
  'users.is_operator': { words: 'the removal of an operator', action: 'removeUser' },
  'sign_ins.password_hash': {
    words: 'a new password',
    became: 'the earlier one is ended',
    action: 'endSignIn',
  },
  'authenticator_apps.secret': {
    words: 'a new authenticator app',
    became: 'sign-ins by an earlier one or by the password alone are refused',
    action: 'endSignIn',
  },
  'authenticator_apps.last_step': { words: 'the use of a code of an authenticator app' },
  'passkeys.public_key': {
    words: 'a new passkey',
    became: 'sign-ins by the password alone are refused',
    action: 'endSignIn',
  },
  'recovery_codes.used_at_ms': {
    words: 'the use of a recovery code',
    became: 'all that were made with it are ended',
    action: 'endSignIn',
  },
  'links.used_at_ms': { words: 'the use or end of a link' },
  'admin_tokens.revoked_at_ms': {
    words: 'the revocation of an admin token',
    action: 'revokeAdminToken',
  },
  'accounts.disabled': { words: 'the new state of an account', action: 'changeAccount' },
  'api_keys.disabled': { words: 'the new state of an API key', action: 'changeKey' },
  'api_keys.expires_at_ms': { words: 'the new expiry of an API key', action: 'changeKey' },
  'api_keys.display_prefix': {
    words: 'the rotation of an API key',
    became: 'the key has expired',
    action: 'changeKey',
  },
  'api_keys.deleted_at_ms': { words: 'the deletion of an API key', action: 'deleteKey' },
  'credit_codes.revoked_at_ms': { words: 'the revocation of a credit code', action: 'revokeCode' },
  'webhooks.events': { words: 'the new events of a webhook', action: 'changeWebhook' },
  'webhooks.disabled': { words: 'the new state of a webhook', action: 'changeWebhook' },
  'webhooks.url': {
    words: 'the new address of a webhook',
    became: 'the webhook is disabled',
    action: 'changeWebhook',
  },
  'settings.value': { words: 'a change of maintenance mode', action: 'setMaintenance' },
}

/** The words for a change that took access, and the operation that does the same. */
export function kindOf(row: TakenAccessRow): TakenKind {
  const { tableName } = row
  const { rowKey, set } = fieldsOf(row)
  const unknown: TakenKind = { words: `a change of ${tableName}` }
  if (set !== null) {
    const named = Object.keys(set).map((name) => CHANGED[`${tableName}.${name}`])
    return named.find((kind) => kind !== undefined) ?? unknown
  }
  const { words, action } = REMOVED[tableName] ?? unknown
  const isOutside = (rowKey['provider'] ?? PASSWORD_PROVIDER) !== PASSWORD_PROVIDER
  return isOutside || action === undefined ? { words } : { words, action }
}

/** Taken access in words, such as `a sign-out`. */
export function takenWords(row: TakenAccessRow): string {
  return kindOf(row).words
}

/** The result of repeating a change, such as `repeated`. */
export function takenResult(row: TakenAccessRow): string {
  return kindOf(row).became ?? 'repeated'
}

/** The row that access was taken by, for the log: its ID and that of its user. */
export function takenKey(row: TakenAccessRow): Fields {
  const { created_at_ms: _, ...shown } = fieldsOf(row).rowKey
  return shown
}
