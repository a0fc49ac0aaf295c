import { namedText } from '../../mail/letter.ts'
import type { LinkLook } from '../../people/links.ts'
import type { SignedIn } from '../../people/sessions.ts'
import type { Membership } from '../../people/users.ts'
import type { SessionRow } from '../../store/people-tables.ts'
import type { Role } from '../../vocabulary/role.ts'

/** Kinds of second factors; a recovery code can replace each. */
export const FACTOR_KINDS = ['passkey', 'app'] as const

/** A kind of second factor. */
export type FactorKind = (typeof FACTOR_KINDS)[number]

/** `GET start`: decides what the page shows first. */
export interface StartAnswer {
  readonly object: 'start'
  readonly mode: 'simulator' | 'live'
  /** The name of the service; null: the operator gave it none. */
  readonly service_name: string | null
  /** The link by which people reach the operator, of `mailto:` or `https:`; null: none is known. */
  readonly contact: string | null
  /** Whether there is no user yet, so that only a setup link lets a person in. */
  readonly setup_needed: boolean
  /** How people become users. */
  readonly sign_up: 'invited' | 'open'
  /** Whether users can sign in, and choose another password, by an email. */
  readonly mail: boolean
  /** Providers at which people may sign in, in the order of the buttons. */
  readonly providers: readonly { readonly id: string; readonly name: string }[]
  readonly signed_in: boolean
  /** A session of this browser that waits for the second factor of its user; null: none waits. */
  readonly factor_needed: {
    readonly email: string
    /** The second factors that the user can use at this address of the page. */
    readonly kinds: readonly FactorKind[]
  } | null
  /** False if no session can be kept: without TLS, from another machine. */
  readonly secure: boolean
}

/** `POST auth/invitation/look`, and the same call for other links: the purpose of a link, before it is used. */
export interface LinkLookAnswer {
  readonly object: 'link_look'
  /** False: it was used, has expired, or never existed. */
  readonly usable: boolean
  /** The email address that an invitation is for, which becomes the sign-in name; null: the link is used, or none. */
  readonly email: string | null
  /** The name of the account that it opens to a person; null: it opens none. */
  readonly account_name: string | null
  readonly role: Role | null
  /** Whether it makes an operator. */
  readonly operator: boolean
  /** The person who made an invitation, such as `Ada (ada@example.org)`; null: not known. */
  readonly inviter: string | null
  readonly expires_at: string | null
}

/** A link before it is used; null: there is none. */
export function linkLookAnswer(look: LinkLook | null): LinkLookAnswer {
  return {
    object: 'link_look',
    usable: look?.isUsable ?? false,
    email: look?.email ?? null,
    account_name: look?.accountName ?? null,
    role: look?.role ?? null,
    operator: look?.isOperator ?? false,
    inviter: look?.inviter ? namedText(look.inviter) : null,
    expires_at: look === null ? null : new Date(look.expiresAtMs).toISOString(),
  }
}

/** The answer of a sign-in that waits for the second factor of the user: `POST auth/factor` completes it. */
export interface FactorNeededAnswer {
  readonly object: 'factor_needed'
}

/** `GET me`: the user who is signed in. */
export interface MeAnswer {
  readonly object: 'me'
  readonly mode: 'simulator' | 'live'
  readonly user: {
    readonly id: string
    readonly object: 'user'
    readonly name: string
    readonly email: string
    readonly is_operator: boolean
    /** Whether the user has a password; else the user signs in by email or at a provider. */
    readonly has_password: boolean
    /** `required`: the user has none, and may do nothing else before one is set up. */
    readonly second_factor: 'on' | 'off' | 'required'
    /** The second factors that the user can use at this address of the page, other than recovery codes. */
    readonly second_factor_kinds: readonly FactorKind[]
    /** Whether the user has proved the address, by an email or at a provider. */
    readonly email_verified: boolean
    /** Whether an operator let the user in, and so vouches for the address. */
    readonly email_vouched_for: boolean
    /** Whether the user wants emails of alerts. */
    readonly alert_mails: boolean
    readonly created_at: string
  }
  /** The accounts of which the user is a member, in the order of joining. */
  readonly accounts: readonly {
    readonly id: string
    readonly name: string
    readonly role: Role
    readonly disabled: boolean
  }[]
  readonly session_id: string
  /** Whether credit can be bought: `GET /v1/credit` exists. */
  readonly sells_credit: boolean
  /** The address of the gateway for clients, without `/v1`. */
  readonly base_url: string
}

/** `GET auth/factors`: the user's second factors. */
export interface FactorsAnswer {
  readonly object: 'factors'
  /** An app before passkeys in the order in which they were added. */
  readonly data: readonly {
    readonly id: string
    readonly object: 'factor'
    readonly kind: FactorKind
    /** The user's name for a passkey; null for an app. */
    readonly name: string | null
    /** The host name of the page that a passkey works at; null: it is an app. */
    readonly host: string | null
    readonly created_at: string
    readonly last_used_at: string | null
  }[]
  readonly recovery_codes_left: number
  /** Whether the user must prove the address before a second factor can be added. */
  readonly needs_proof: boolean
  /** The host name that passkeys are bound to; null: the page is at an IP address, where browsers have no passkeys. */
  readonly passkey_host: string | null
}

/** A browser that is signed in. */
export interface SessionAnswer {
  readonly id: string
  readonly object: 'session'
  /** Whether it is the one that asks. */
  readonly current: boolean
  readonly created_at: string
  /** Rounded to five minutes. */
  readonly last_used_at: string
  readonly expires_at: string
  readonly address: string | null
  readonly agent: string | null
}

/** The user as the page shows it. */
export function meAnswer({
  signedIn,
  memberships,
  hasPassword,
  mode,
  factorRequired,
  factorKinds,
  sells_credit,
  base_url,
}: Pick<MeAnswer, 'mode' | 'sells_credit' | 'base_url'> & {
  readonly signedIn: SignedIn
  readonly memberships: readonly Membership[]
  readonly hasPassword: boolean
  readonly factorRequired: boolean
  readonly factorKinds: readonly FactorKind[]
}): MeAnswer {
  const { user, sessionId, hasFactor } = signedIn
  return {
    object: 'me',
    mode,
    user: {
      id: user.id,
      object: 'user',
      name: user.name,
      email: user.email,
      is_operator: user.isOperator,
      has_password: hasPassword,
      email_verified: user.emailVerified,
      email_vouched_for: user.vouched,
      alert_mails: user.alertMails,
      second_factor: factorRequired ? 'required' : hasFactor ? 'on' : 'off',
      second_factor_kinds: factorKinds,
      created_at: new Date(user.createdAtMs).toISOString(),
    },
    accounts: memberships.map((membership) => ({
      id: membership.accountId,
      name: membership.accountName,
      role: membership.role,
      disabled: membership.accountDisabled,
    })),
    session_id: sessionId,
    sells_credit,
    base_url,
  }
}

/** A session as the page shows it. */
export function sessionAnswer(row: SessionRow, currentSessionId: string): SessionAnswer {
  return {
    id: row.id,
    object: 'session',
    current: row.id === currentSessionId,
    created_at: new Date(row.createdAtMs).toISOString(),
    last_used_at: new Date(row.lastUsedAtMs ?? row.createdAtMs).toISOString(),
    expires_at: new Date(row.expiresAtMs).toISOString(),
    address: row.address,
    agent: row.agent,
  }
}
