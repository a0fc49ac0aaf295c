import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { checkInput } from '../../operations/check-input.ts'
import { listFactors } from '../../people/factors/own-factors.ts'
import type { MailDoor } from '../../people/mail-door.ts'
import type { OutsideDoor } from '../../people/outside/outside-door.ts'
import { isNoPassword } from '../../people/passwords.ts'
import type { People } from '../../people/people.ts'
import type { NewSession, SignedIn, Visitor } from '../../people/sessions.ts'
import { findPassword, findUser, listMemberships } from '../../people/users.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import type { Clock } from '../../vocabulary/clock.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { arrivalOf, readJson } from '../operation-routes.ts'
import { passkeySiteOf } from './factor-proof.ts'
import { countCall, isFactorMissing, type PageAccessInput, requireSignedIn } from './page-access.ts'
import {
  FACTOR_KINDS,
  type FactorKind,
  type FactorNeededAnswer,
  type MeAnswer,
  meAnswer,
} from './session-answers.ts'

/** The parts of the page's own calls, which are not operations. */
export interface PageCallsInput extends PageAccessInput {
  readonly people: People
  readonly clock: Clock
  /** Null: no mail is sent. */
  readonly mailDoor: MailDoor | null
  readonly outsideDoor: OutsideDoor
  readonly mode: 'simulator' | 'live'
  /** Who becomes a user. */
  readonly signUp: 'invited' | 'open'
  /** The address that a client is counted under. */
  readonly addressOf: (arrival: Arrival) => string
  readonly bodyTimeoutMs: number
}

/** One call of the page. */
export interface PageCall {
  readonly request: FastifyRequest<{ Params: Record<string, string> }>
  readonly reply: FastifyReply
  readonly arrival: Arrival
  readonly visitor: Visitor
}

/** Answers a call. Throws Problem. */
export type Answer = (call: PageCall) => Promise<object>

/** Serves calls by their method and their path below `/app/api`. */
export function registerCalls(
  app: FastifyInstance,
  input: PageCallsInput,
  calls: readonly (readonly ['GET' | 'POST' | 'DELETE', string, Answer])[],
): void {
  for (const [method, path, answer] of calls) {
    app.route<{ Params: Record<string, string> }>({
      method,
      url: `/app/api/${path}`,
      async handler(request, reply) {
        const arrival = arrivalOf(request)
        const agent = String(request.headers['user-agent'] ?? '')
        const known = input.site.knownOf(arrival)
        const visitor = { address: input.addressOf(arrival), agent, known }
        const body = await answer({ request, reply, arrival, visitor })
        return reply.header('x-request-id', request.id).send(body)
      },
    })
  }
}

/** Who is signed in; the call is counted. Throws Problem as `requireSignedIn` and `countCall` do. */
export async function enter(
  input: PageCallsInput,
  { arrival, reply }: PageCall,
): Promise<SignedIn> {
  const signedIn = await requireSignedIn(input, arrival)
  countCall(input, { callerId: signedIn.user.id, client: reply.raw })
  return signedIn
}

/**
 * Sets the cookie of a session that has just been made, and answers as `GET me`; where the session waits for the second factor
 * of its user, that it does.
 */
export async function letIn(
  input: PageCallsInput,
  { arrival, reply }: PageCall,
  { sessionToken }: NewSession,
): Promise<MeAnswer | FactorNeededAnswer> {
  const { people, site } = input
  const signedIn = await people.sessions.find(sessionToken)
  const waiting = signedIn === null ? await people.sessions.findWaiting(sessionToken) : null
  if (signedIn === null && waiting === null) throw new Problem('not_signed_in')
  reply.header('set-cookie', site.sessionCookie(arrival, sessionToken))
  if (signedIn === null) return { object: 'factor_needed' }
  const known = await people.knownBrowsers.textFor(signedIn.user)
  reply.header('set-cookie', site.knownCookie(arrival, known))
  return meOf(input, { signedIn, arrival })
}

/** The answer of `GET me`. */
export async function meOf(
  input: PageCallsInput,
  { signedIn, arrival }: { readonly signedIn: SignedIn; readonly arrival: Arrival },
): Promise<MeAnswer> {
  const { db, site, mode, operatorFactor } = input
  const userId = signedIn.user.id
  const memberships = await listMemberships(db, userId)
  const stored = await findPassword(db, signedIn.user.email)
  const kinds = signedIn.hasFactor ? await factorKinds(input, { userId, arrival }) : []
  return meAnswer({
    signedIn,
    memberships,
    hasPassword: stored !== null && !isNoPassword(stored),
    factorKinds: kinds,
    mode,
    factorRequired: isFactorMissing({ operatorFactor }, signedIn),
    base_url: site.originOf(arrival) ?? '',
  })
}

/** The second factors of a user at this address of the page, other than recovery codes. */
export async function factorKinds(
  { db, site }: Pick<PageCallsInput, 'db' | 'site'>,
  { userId, arrival }: { readonly userId: string; readonly arrival: Arrival },
): Promise<readonly FactorKind[]> {
  const host = passkeySiteOf(site, arrival)?.host
  const factors = await listFactors(db, userId)
  return FACTOR_KINDS.filter((kind) =>
    factors.some((one) => one.kind === kind && (one.kind === 'app' || one.host === host)),
  )
}

interface GuessingCall extends PageCall {
  /** Whose password is typed: then the browser must be that user's. Default: no password is. */
  readonly email?: string
}

/**
 * Counts wrong links and passwords by address, and refuses an address that guesses before it is let try: not a browser in which
 * a user signed in before, because an office has one address.
 */
export async function guessing<T>(
  { unknownCallers, people, db }: PageCallsInput,
  { arrival, visitor: { known }, email }: GuessingCall,
  take: () => Promise<T>,
): Promise<T> {
  const isOver = unknownCallers.isOver(arrival)
  if (isOver && !(await isKnown())) throw new Problem('rate_limited', { retryAfterSeconds: 60 })
  return take().catch((error: unknown) => {
    if (!(error instanceof Problem)) throw error
    const { code } = error
    const isText = ['invalid_link', 'invalid_code', 'sign_in_refused'].includes(code)
    const isGuess = isText || (code === 'invalid_sign_in' && error.param === null)
    throw isGuess && !isOver ? unknownCallers.refusal(arrival, { code }) : error
  })

  async function isKnown(): Promise<boolean> {
    if (email === undefined) return people.knownBrowsers.isOfAny(known)
    const user = known === null ? null : await findUser(db, email)
    return user !== null && people.knownBrowsers.isOf(known, user)
  }
}

/** The body of a call. Throws Problem `invalid_json`, `invalid_parameter`. */
export async function readBody<Schema extends z.ZodType>(
  schema: Schema,
  { input, call }: { readonly input: PageCallsInput; readonly call: PageCall },
): Promise<z.output<Schema>> {
  const { request, reply } = call
  return checkInput(schema, await readJson(request.raw, reply.raw, input.bodyTimeoutMs))
}
