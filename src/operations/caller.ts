import type { OperatorAction } from '../ledger/operator-actions.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { AdminScope, Role } from '../vocabulary/role.ts'
import { oneOf } from './check-input.ts'

/** The caller of an operation: an admin, by token or on the command line, or an API key for its own account. */
export type Caller =
  | AdminCaller
  /** Anyone, without a key. */
  | { readonly kind: 'anyone' }
  | { readonly kind: 'key'; readonly apiKeyId: string; readonly accountId: string }
  | MemberCaller
  | OperatorCaller

/** A person or program with an admin token, or with the command line, which is recorded as a token is. */
interface AdminCaller {
  readonly kind: 'admin'
  readonly token: {
    /** Null: the token of the settings, or the command line. */
    readonly id: string | null
    readonly name: string
    readonly scopes: readonly AdminScope[]
    /** Null: it does not expire. */
    readonly expiresAtMs: number | null
    /** The id under which a change is recorded. */
    readonly actionId: string
  }
}

/** A user who is signed in to the page, for an account: a member of it, or an operator. */
interface MemberCaller {
  readonly kind: 'member'
  readonly userId: string
  readonly accountId: string
  /** Operators can do what owners can, in every account. */
  readonly role: Role
  readonly isOperator: boolean
  /** The ID under which a change is recorded as an operator's; null: changes by members and owners are not recorded. */
  readonly actionId: string | null
  readonly password: RecentPassword
}

/** How long ago the page asked a user for the password. */
export interface RecentPassword {
  /** Whether it is recent enough for a change that needs it. */
  readonly isRecent: boolean
  /** Notes a change that needs it, so that it stays recent. Never rejects. */
  readonly keepRecent: () => Promise<void>
}

/** An operator who is signed in to the page, for all accounts. */
interface OperatorCaller {
  readonly kind: 'operator'
  readonly userId: string
  /** The id under which a change is recorded. */
  readonly actionId: string
  readonly password: RecentPassword
}

/** Whether a member acts, and not an operator as one. */
export function isMember(caller: Caller): caller is MemberCaller {
  return caller.kind === 'member' && caller.actionId === null
}

/** The kinds of callers. */
export type CallerKind = Caller['kind']

/** Whether a kind of caller reads as the operator of the gateway does; others read as customers. */
export function readsAsOperator(kind: CallerKind): boolean {
  switch (kind) {
    case 'admin':
    case 'operator':
      return true
    case 'anyone':
    case 'key':
    case 'member':
      return false
    default:
      return assertNever(kind)
  }
}

/** The recent password of a change; null: the caller needs none. Throws Problem `sign_in_again`. */
export function requirePassword(
  caller: Caller,
  asks: { readonly asksMembers: boolean },
): RecentPassword | null {
  const password = passwordOf(caller, asks)
  if (password?.isRecent === false) throw new Problem('sign_in_again')
  return password
}

function passwordOf(
  caller: Caller,
  { asksMembers }: { readonly asksMembers: boolean },
): RecentPassword | null {
  switch (caller.kind) {
    case 'operator':
      return caller.password
    case 'member':
      // An operator on the pages of another owner's account has an id for recorded changes.
      return asksMembers || caller.actionId !== null ? caller.password : null
    case 'admin':
    case 'key':
    case 'anyone':
      return null
    default:
      return assertNever(caller)
  }
}

/** Throws Problem `admin_scope_missing` for an admin whose token has neither the scope nor `everything`. */
export function requireScope(caller: Caller, scope: AdminScope): void {
  if (caller.kind !== 'admin') return
  const { scopes } = caller.token
  if (scopes.includes(scope) || scopes.includes('everything')) return
  const message = `The admin token lacks the required scope: ${scope}. It has ${oneOf(scopes, 'and')}.`
  throw new Problem('admin_scope_missing', { message })
}

/** The operator or token whose action is recorded; null: the caller is neither, or acts as a member. */
export function operatorOf(caller: Caller, action: string): OperatorAction | null {
  if (caller.kind === 'admin') {
    const { id, name, actionId } = caller.token
    return { id: actionId, token: { id, name }, action }
  }
  if (!('actionId' in caller) || caller.actionId === null) return null
  return { id: caller.actionId, userId: caller.userId, action }
}

/** Whether a caller can open objects of an account: only of its own account, unless it is for all. */
export function mayOpen(caller: Caller, accountId: string): boolean {
  return 'accountId' in caller ? caller.accountId === accountId : true
}
