import type { Transaction } from 'kysely'
import { type LinkRow, SIGN_INS, type UserRow } from '../../store/people-tables.ts'
import type { Tables } from '../../store/schema.ts'
import { hasRow } from '../../store/store.ts'
import type { IdSource } from '../../vocabulary/ids.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { grant, takeOpenInvitations } from '../invitations.ts'
import { readLink, takeLink } from '../links.ts'
import { noPassword } from '../passwords.ts'
import { proveAddress } from '../proof.ts'
import {
  addUser,
  findIdentity,
  findUser,
  getUser,
  lockPassword,
  type StoredPassword,
} from '../users.ts'

/** A person's identity at a provider outside of the gateway. */
export interface OutsideIdentity {
  /** The address of the provider. With `subject` it names the person for ever. */
  readonly issuer: string
  /** The provider's own id of the person. */
  readonly subject: string
  /** An address that the provider says is verified, in lower case; null: it has none, or says nothing of that. */
  readonly verifiedEmail: string | null
  /** Null: the provider has none that can be shown. */
  readonly name: string | null
}

interface Entering {
  readonly identity: OutsideIdentity
  /** The text of an invitation that the person opened; null: none. */
  readonly linkText: string | null
  /** Whether a verified address that no user has becomes a user without an invitation. */
  readonly canSignUp: boolean
  readonly ids: IdSource
  readonly nowMs: number
}

/**
 * Finds or makes the user of an identity, and gives the rights of an invitation. An identity that is not known joins
 * the user of its verified address, else it needs an invitation. Throws Problem `not_invited`, `invalid_link` and
 * `sign_in_refused`.
 */
export async function enterFromOutside(
  trx: Transaction<Tables>,
  entering: Entering,
): Promise<StoredPassword> {
  const { identity, linkText, nowMs } = entering
  const link =
    linkText === null ? null : await readLink(trx, { kind: 'invitation', text: linkText, nowMs })
  const known = await findIdentity(trx, identity)
  const { verifiedEmail } = identity
  const user = known ?? (verifiedEmail === null ? null : await findUser(trx, verifiedEmail))
  return user === null
    ? enterAsNew(trx, { ...entering, link })
    : enterAs(trx, { ...entering, link, user, isKnown: known !== null })
}

interface Known extends Entering {
  readonly link: LinkRow | null
  readonly user: UserRow
  /** False: the user is found only by the verified address. */
  readonly isKnown: boolean
}

async function enterAs(
  trx: Transaction<Tables>,
  { identity, link, user, isKnown, ids, nowMs }: Known,
): Promise<StoredPassword> {
  const userId = user.id
  const stored = await lockPassword(trx, userId)
  const locked = await getUser(trx, userId)
  // Removed since the user was found, or changed to another address than the one that the provider verifies.
  const isFound = isKnown || identity.verifiedEmail === locked?.email
  if (stored === null || locked === null || !isFound) throw new Problem('sign_in_refused')
  const { email } = locked
  if (link !== null) {
    if (link.email !== email) throw notTheirs()
    await takeLink(trx, { id: link.id, nowMs })
  }
  const proof = { userId, passwordHash: noPassword(), nowMs }
  const isProved = identity.verifiedEmail === email || link?.mailed === true
  const isFirst = isProved && (await proveAddress(trx, proof))
  // The first proof ended the identities that were there.
  if (!isKnown || isFirst) await addIdentity(trx, { identity, userId, ids, nowMs })
  if (link !== null) await grant(trx, { userId, link, nowMs })
  return { userId, passwordHash: isFirst ? proof.passwordHash : stored }
}

async function enterAsNew(
  trx: Transaction<Tables>,
  { identity, link, canSignUp, ids, nowMs }: Omit<Known, 'user' | 'isKnown'>,
): Promise<StoredPassword> {
  const { verifiedEmail } = identity
  const email = link?.email ?? verifiedEmail
  const invitations =
    link === null ? await takeOpenInvitations(trx, { email: verifiedEmail, nowMs }) : [link]
  const isInvited = invitations.length > 0
  if (email === null || !(isInvited || (canSignUp && email === verifiedEmail))) {
    throw verifiedEmail === null ? notVerified() : new Problem('not_invited')
  }
  if (link !== null) {
    await takeLink(trx, { id: link.id, nowMs })
    // The link alone does not prove that the person is this user.
    if ((await findUser(trx, email)) !== null) throw notTheirs()
  }
  const passwordHash = noPassword()
  const user = await addUser(trx, {
    ids,
    nowMs,
    email,
    name: identity.name ?? email,
    passwordHash,
    isOperator: invitations.some(({ isOperator }) => isOperator),
    isVouched: invitations.some(({ vouched }) => vouched),
  })
  if (user === null) throw new Problem('sign_in_refused')
  const isProved = email === verifiedEmail || link?.mailed === true
  if (isProved) await proveAddress(trx, { userId: user.id, passwordHash, nowMs })
  await addIdentity(trx, { identity, userId: user.id, ids, nowMs })
  for (const invitation of invitations) {
    await grant(trx, { userId: user.id, link: invitation, nowMs })
  }
  return { userId: user.id, passwordHash }
}

function notTheirs(): Problem {
  return new Problem('not_invited', {
    message:
      'This invitation is for a different email address. Open it again, and join with a password.',
  })
}

// Some providers, such as Entra ID, never say that an address is verified: those who are invited have a link.
function notVerified(): Problem {
  return new Problem('not_invited', {
    message:
      'This provider does not say that your email address is verified. If you are invited, open the link of the invitation and sign in from there. Otherwise, ask the operator for an invitation.',
  })
}

/** Throws Problem `sign_in_refused` if another transaction has given the identity to another user. */
async function addIdentity(
  trx: Transaction<Tables>,
  {
    identity,
    userId,
    ids,
    nowMs,
  }: Pick<Entering, 'identity' | 'ids' | 'nowMs'> & { readonly userId: string },
): Promise<void> {
  const { issuer: provider, subject: providerUserId } = identity
  const signIn = { id: ids.next('sign'), userId, provider, providerUserId, passwordHash: null }
  const added = trx
    .insertInto('sign_ins')
    .values(SIGN_INS.record({ ...signIn, createdAtMs: nowMs }))
    .onConflict((conflict) => conflict.columns(['provider', 'provider_user_id']).doNothing())
  if (await hasRow(added.returning('id'))) return
  if ((await findIdentity(trx, identity))?.id !== userId) throw new Problem('sign_in_refused')
}
