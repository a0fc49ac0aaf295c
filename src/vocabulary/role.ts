import { DAY_MS } from './clock.ts'

/** The role of a user in an account: a member sees it and manages its keys, an owner also its credit. */
export type Role = (typeof ROLES)[number]

/** Every role in an account. */
export const ROLES = ['member', 'owner'] as const

/** The scope of an admin token: each scope is one kind of operation, and `everything` is all of them. */
export type AdminScope = (typeof ADMIN_SCOPES)[number]

/** Every scope of an admin token. */
export const ADMIN_SCOPES = ['read', 'keys', 'credit', 'everything'] as const

/** The purpose of a link. */
export type LinkKind = (typeof LINK_KINDS)[number]

/**
 * Every kind of link: to make the first operator, to become a user or a member, to set a new password, to sign
 * in by an email, and to change the email address.
 */
export const LINK_KINDS = ['setup', 'invitation', 'reset', 'sign_in', 'new_email'] as const

/** How long links work that are not emailed on request, by kind. */
export const LINK_MS = {
  setup: DAY_MS,
  invitation: 7 * DAY_MS,
  reset: DAY_MS,
} as const satisfies Partial<Record<LinkKind, number>>
