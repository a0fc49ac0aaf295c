import type { ServerResponse } from 'node:http'
import type { Kysely } from 'kysely'
import type { Gate } from '../../journey/gate/gate.ts'
import type { UnknownCallers } from '../../journey/gate/unknown-callers.ts'
import type { Caller, RecentPassword } from '../../operations/caller.ts'
import { notFound } from '../../operations/not-found.ts'
import type { People } from '../../people/people.ts'
import type { SignedIn } from '../../people/sessions.ts'
import { placeIn } from '../../people/users.ts'
import type { Tables } from '../../store/schema.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import type { IdSource } from '../../vocabulary/ids.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { type Access, countUntilAnswered } from '../access.ts'
import type { PageSite } from './page-site.ts'

/** The parts that find the signed-in user. */
export interface PageAccessInput {
  readonly people: Pick<People, 'sessions'>
  readonly site: PageSite
  /** The store, without the queue of page reads: this check must not wait for another user's chart. */
  readonly db: Kysely<Tables>
  /** Counts, by address, the requests with a session that does not exist. */
  readonly unknownCallers: Pick<UnknownCallers, 'refusal' | 'begin'>
  /** The limits of each user. */
  readonly gate: Gate
  /** Makes the ids of recorded actions. */
  readonly ids: IdSource
  /** Whether operators need a second factor for everything. */
  readonly operatorFactor: 'optional' | 'required'
}

/** Finds the signed-in user. Throws Problem `not_signed_in`, or `rate_limited` for an address that guesses. */
export async function requireSignedIn(
  { people, site, unknownCallers }: PageAccessInput,
  arrival: Arrival,
): Promise<SignedIn> {
  const sessionToken = site.sessionTokenOf(arrival)
  if (sessionToken === null) throw new Problem('not_signed_in')
  const signedIn = await people.sessions.find(sessionToken)
  if (signedIn === null) throw unknownCallers.refusal(arrival, { code: 'not_signed_in' })
  return signedIn
}

/** Whether a user must set up a second factor before anything else. */
export function isFactorMissing(
  { operatorFactor }: Pick<PageAccessInput, 'operatorFactor'>,
  { user, hasFactor }: SignedIn,
): boolean {
  return operatorFactor === 'required' && user.isOperator && !hasFactor
}

/** Finds the signed-in user. Throws Problem as {@link requireSignedIn} does, and `second_factor_required`. */
async function requireUser(input: PageAccessInput, arrival: Arrival): Promise<SignedIn> {
  const signedIn = await requireSignedIn(input, arrival)
  if (isFactorMissing(input, signedIn)) throw new Problem('second_factor_required')
  return signedIn
}

/** Counts a call for its user, or for a session that waits for the second factor. Throws Problem `rate_limited`. */
export function countCall(
  { gate }: Pick<PageAccessInput, 'gate'>,
  { callerId, client }: { readonly callerId: string; readonly client: ServerResponse },
): void {
  const caller = { apiKeyId: callerId, accountId: callerId, hasBackedCredit: true }
  countUntilAnswered(gate, caller, client)
}

/**
 * Access by a session to an account, for its members and for every operator. All others get `not_found`, as for an
 * unknown account.
 */
export function memberAccess(input: PageAccessInput): Access {
  return {
    kind: 'member',
    guards: null,
    async authenticate(arrival, { account_id: accountId = '' }) {
      const signedIn = await requireUser(input, arrival)
      const { user } = signedIn
      const password = passwordOf(input, signedIn)
      // No ID has a control character, and PostgreSQL refuses to look for some.
      if (/\p{Cc}/u.test(accountId)) throw new Problem('not_found')
      const place = { userId: user.id, accountId }
      const found = await placeIn(input.db, place)
      if (found !== null && user.isOperator) {
        const actionId = found.role === 'owner' ? null : input.ids.next('act')
        return { kind: 'member', ...place, role: 'owner', isOperator: true, actionId, password }
      }
      if (found === null || found.role === null) throw notFound('account', accountId)
      const { role } = found
      return { kind: 'member', ...place, role, isOperator: false, actionId: null, password }
    },
    onCaller(caller, client) {
      if (caller.kind === 'member') countCall(input, { callerId: caller.userId, client })
    },
  }
}

/** Access by the session of an operator, to everything below `/app/api/operator`. To others it does not exist. */
export function operatorAccess(input: PageAccessInput): Access {
  return {
    kind: 'operator',
    guards: '/app/api/operator',
    authenticate: async (arrival) => requireOperator(input, await requireUser(input, arrival)),
    onCaller(caller, client) {
      if (caller.kind === 'operator') countCall(input, { callerId: caller.userId, client })
    },
  }
}

/** A signed-in user as an operator. Throws Problem `not_found` for others. */
function requireOperator(
  input: Pick<PageAccessInput, 'people' | 'ids'>,
  signedIn: SignedIn,
): Extract<Caller, { kind: 'operator' }> {
  const { user } = signedIn
  if (!user.isOperator) throw new Problem('not_found')
  const actionId = input.ids.next('act')
  return { kind: 'operator', userId: user.id, actionId, password: passwordOf(input, signedIn) }
}

/** How recent the password of a session is. */
function passwordOf(
  { people: { sessions } }: Pick<PageAccessInput, 'people'>,
  signedIn: SignedIn,
): RecentPassword {
  return {
    isRecent: sessions.isRecent(signedIn),
    keepRecent: () => sessions.keepRecent(signedIn.sessionId),
  }
}
