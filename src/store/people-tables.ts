import { LINK_KINDS, ROLES } from '../vocabulary/role.ts'
import {
  amount,
  flag,
  integer,
  oneOf,
  orNull,
  type RowOf,
  startsAs,
  Table,
  text,
  texts,
} from './table.ts'

/** People who sign in to the page. */
export const USERS = new Table('users', {
  key: ['id'],
  fixed: {
    id: text,
    name: text,
    /** In lower case. */
    email: text,
    /** Whether the address was proved to be the user's. */
    email_verified: startsAs(false, flag),
    /** Operators may do everything in every account. */
    is_operator: startsAs(false, flag),
    created_at_ms: integer,
    /** Whether the user gets emails of alerts, as an owner of accounts. */
    alert_mails: startsAs(true, flag),
    /** Whether the operator let the user in, by the setup link or a link of the operator's own. */
    vouched: startsAs(false, flag),
  },
})

/** A person who signs in to the page. */
export type UserRow = RowOf<typeof USERS>

/** The roles of users in accounts. */
export const MEMBERS = new Table('members', {
  key: ['account_id', 'user_id'],
  fixed: {
    account_id: text,
    user_id: text,
    role: oneOf(ROLES),
    created_at_ms: integer,
  },
})

/** How users prove who they are: a password, and identities at providers outside of the gateway. */
export const SIGN_INS = new Table('sign_ins', {
  key: ['id'],
  fixed: {
    id: text,
    user_id: text,
    /** `credential`: a password, or the place of one, which each user has; else the address of the provider. */
    provider: text,
    /** The user's id there; of a password, the user's own id. */
    provider_user_id: text,
    /** `!` and random characters: a user without a password. */
    password_hash: orNull(text),
    created_at_ms: integer,
  },
})

/** Links that let a person in once. The token of a link is not here, only its SHA-256. */
export const LINKS = new Table('links', {
  key: ['id'],
  fixed: {
    id: text,
    kind: oneOf(LINK_KINDS),
    /** Lower-case hexadecimal. */
    token_hash: text,
    /** In lower case. For an invitation, the invited person; for a sign-in, the person who becomes a user by it. */
    email: orNull(text),
    /** For a reset: the user whose password is set. */
    user_id: orNull(text),
    /** For an invitation: whether the user becomes an operator. */
    is_operator: startsAs(false, flag),
    /** For an invitation: the account that the user becomes a member of. */
    account_id: orNull(text),
    role: orNull(oneOf(ROLES)),
    expires_at_ms: integer,
    used_at_ms: orNull(integer),
    created_at_ms: integer,
    /** Whether its text was only sent by email, so that using it proves the address. */
    mailed: startsAs(false, flag),
    /** For an emailed link: the hash of the ticket in the browser that asked. */
    ticket_hash: orNull(text),
    /** For an emailed link: the hash of its ticket and its code. */
    code_hash: orNull(text),
    /** Tries of its code. */
    tries: startsAs(0, integer),
    /** For an invitation: whether the operator made it. */
    vouched: startsAs(false, flag),
    /** For an invitation: the user who made it; null: the command line or a token did. */
    inviter_id: orNull(text),
  },
})

/** A link that lets a person in once. */
export type LinkRow = RowOf<typeof LINKS>

/** Tokens of the admin API. The token itself is not here, only its SHA-256. */
export const ADMIN_TOKENS = new Table('admin_tokens', {
  key: ['id'],
  fixed: {
    id: text,
    name: text,
    /** Lower-case hexadecimal. */
    token_hash: text,
    /** The part of the token that is shown: its first and last characters. */
    display_prefix: text,
    /** Names of {@link ADMIN_SCOPES}, comma-separated. */
    scopes: text,
    /** The token that it was made by; null: the command line, or the token of the settings. */
    made_by: orNull(text),
    created_at_ms: integer,
    /** Null: it does not expire. */
    expires_at_ms: orNull(integer),
    revoked_at_ms: orNull(integer),
    /** Rounded to the hour; null: never. */
    last_used_at_ms: orNull(integer),
  },
})

/** A token of the admin API, never with its text. */
export type AdminTokenRow = RowOf<typeof ADMIN_TOKENS>

/** Changes by operators on the page, and by admins with a token: inserted once, never changed. */
export const OPERATOR_ACTIONS = new Table('operator_actions', {
  key: ['id'],
  fixed: {
    id: text,
    /** The operator; null: it was done by token. */
    user_id: orNull(text),
    /** Null: an operator did it, or the token is that of the settings. */
    token_id: orNull(text),
    /** The name of the token; null: an operator did it. */
    token_name: orNull(text),
    /** The name of the operation. */
    action: text,
    /** The id of the object that it changed or made. */
    target_id: orNull(text),
    created_at_ms: integer,
    /** The account that it was about. */
    account_id: orNull(text),
    amount_micros: orNull(amount),
    /** Fields of it, as the API names them; never a secret. */
    detail_json: startsAs('{}', text),
  },
})

/** Something that an operator changed, or an admin by token. */
export type OperatorActionRow = RowOf<typeof OPERATOR_ACTIONS>

/** Browsers that are signed in. The token of a session is not here, only its SHA-256. */
export const SESSIONS = new Table('sessions', {
  key: ['id'],
  fixed: {
    id: text,
    user_id: text,
    /** Lower-case hexadecimal. */
    token_hash: text,
    /** The client address that signed in. */
    address: orNull(text),
    /** Its `user-agent`. */
    agent: orNull(text),
    expires_at_ms: integer,
    created_at_ms: integer,
    /** When the user's password was last asked for in it; null: at the sign-in. */
    confirmed_at_ms: orNull(integer),
    /** Rounded to five minutes; null: not since the sign-in. */
    last_used_at_ms: orNull(integer),
    /** When the user's second factor was shown in it; null: it was not, and a user who has one is not signed in yet. */
    factor_passed_at_ms: orNull(integer),
    /** The challenge that a passkey must sign in it, in base64url; null: none. */
    challenge: orNull(text),
    challenge_at_ms: orNull(integer),
    /** When it last made a change that needs a recent password; null: not yet. */
    guarded_at_ms: orNull(integer),
  },
})

/** A browser that is signed in. */
export type SessionRow = RowOf<typeof SESSIONS>

/** The authenticator apps of users: one each. */
export const AUTHENTICATOR_APPS = new Table('authenticator_apps', {
  key: ['user_id'],
  fixed: {
    user_id: text,
    id: text,
    /** In base32. Codes are computed from it, so a hash would not do. */
    secret: text,
    created_at_ms: integer,
    /**
     * The period of 30 seconds, counted from the Unix epoch, of the last right code: its code and earlier ones are used
     * up.
     */
    last_step: integer,
    /** Null: not since it was added. */
    last_used_at_ms: orNull(integer),
  },
})

/** The passkeys of users: the public keys that prove that a device has the private key. */
export const PASSKEYS = new Table('passkeys', {
  key: ['id'],
  fixed: {
    id: text,
    user_id: text,
    /** The name that its user gave it. */
    name: text,
    /** In base64url, as the device chose it. */
    credential_id: text,
    /** A COSE key in base64url. */
    public_key: text,
    /** The host name of the page that it was made on: browsers use it only there. */
    host: text,
    /** How browsers reach the device, in words of WebAuthn. */
    transports: texts,
    /** How many the device says that it has made; 0: it does not count. */
    signatures: integer,
    created_at_ms: integer,
    /** Null: not since it was added. */
    last_used_at_ms: orNull(integer),
  },
})

/** A passkey of a user. */
export type PasskeyRow = RowOf<typeof PASSKEYS>

/** Codes that stand in for a lost second factor, once each. The code itself is not here, only its SHA-256. */
export const RECOVERY_CODES = new Table('recovery_codes', {
  key: ['user_id', 'code_hash'],
  fixed: {
    user_id: text,
    /** Lower-case hexadecimal. */
    code_hash: text,
    created_at_ms: integer,
    used_at_ms: orNull(integer),
  },
})

/** Sign-ins at outside providers that were used: none is used twice. */
const VERIFICATIONS = new Table('verifications', {
  key: ['id'],
  fixed: {
    /** The SHA-256 of the ticket that the browser had. */
    id: text,
    /** The provider. */
    identifier: text,
    expires_at_ms: integer,
    created_at_ms: integer,
  },
})

/** Attempts to sign in, by the SHA-256 of client address and email address together. */
const SIGN_IN_RATES = new Table('sign_in_rates', {
  key: ['caller_hash'],
  fixed: {
    caller_hash: text,
    attempts: integer,
    /** When the first of them was. */
    started_at_ms: integer,
  },
})

/** Requested emails, by the SHA-256 of the requester or of the recipient. */
const MAIL_RATES = new Table('mail_rates', {
  key: ['subject_hash'],
  fixed: {
    subject_hash: text,
    mails: integer,
    /** When the count begins again. For an address: when five emails at once are possible again. */
    ends_at_ms: integer,
    /** For an address: when the last email was sent there. */
    last_at_ms: orNull(integer),
  },
})

/** Access that was taken from people, in the order of the IDs: rows of other tables that were removed or changed. */
export const TAKEN_ACCESS = new Table('taken_access', {
  key: ['id'],
  fixed: {
    /** The microsecond of the change, and random characters. */
    id: text,
    /** The user of the row that was removed or changed; empty: it has none. */
    user_id: text,
    table_name: text,
    /** The columns that name the row, as a JSON object. */
    key_json: text,
    /** The column that was set, as a JSON object; null: the row was removed. */
    set_json: orNull(text),
    taken_at_ms: integer,
  },
})

/** Access that was taken from a person. */
export type TakenAccessRow = RowOf<typeof TAKEN_ACCESS>

/** All of these that are copied, each after those that it refers to. */
export const PEOPLE_TABLES = [
  USERS,
  MEMBERS,
  SIGN_INS,
  AUTHENTICATOR_APPS,
  PASSKEYS,
  RECOVERY_CODES,
  LINKS,
  ADMIN_TOKENS,
  OPERATOR_ACTIONS,
] as const

/** The tables that each store has for itself. */
export const UNCOPIED_PEOPLE_TABLES = [
  SESSIONS,
  VERIFICATIONS,
  SIGN_IN_RATES,
  MAIL_RATES,
  TAKEN_ACCESS,
] as const
