import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { checkInput } from '../../operations/check-input.ts'
import { listFactors } from '../../people/factors/own-factors.ts'
import type { MailDoor } from '../../people/mail-door.ts'
import type { NewEmails } from '../../people/new-email.ts'
import type { OutsideDoor } from '../../people/outside/outside-door.ts'
import { lacksPassword } from '../../people/passwords.ts'
import type { People } from '../../people/people.ts'
import type { NewSession, SignedIn, Visitor } from '../../people/sessions.ts'
import type { SignInLog, SignInMethod } from '../../people/sign-in-log.ts'
import { findPassword, findUser, listMemberships } from '../../people/users.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import type { Clock } from '../../vocabulary/clock.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { arrivalOf, type OnAccessTaken, readJson, routeOf } from '../operation-routes.ts'
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
  readonly signInLog: SignInLog
  readonly clock: Clock
  /** Null: no email is sent. */
  readonly mailDoor: MailDoor | null
  /** Null: no email is sent. */
  readonly newEmails: NewEmails | null
  readonly outsideDoor: OutsideDoor
  readonly mode: 'simulator' | 'live'
  /** The name of the service on the page; null: none is set. */
  readonly serviceName: string | null
  /** The link by which people reach the operator; null: none is set. */
  readonly contact: string | null
  /** The people who can become users. */
  readonly signUp: 'invited' | 'open'
  readonly sellsCredit: boolean
  /** The address that a client is counted under. */
  readonly addressOf: (arrival: Arrival) => string
  readonly bodyTimeoutMs: number
}

/** A call of the page, with any body. */
export interface AnyCall {
  readonly request: FastifyRequest<{ Params: Record<string, string> }>
  readonly reply: FastifyReply
  readonly arrival: Arrival
  readonly visitor: Visitor
}

/** A call of the page whose body has this schema. */
export interface PageCall<Body extends z.ZodType = z.ZodUndefined> extends AnyCall {
  /** Reads the body. Throws Problem `invalid_json`, `invalid_parameter`. */
  readBody(): Promise<z.output<Body>>
}

/** A call of the page that is no operation: it reads or writes cookies. The page's client follows from its types. */
interface DescribedCall<
  Name extends string,
  Path extends string,
  Body extends z.ZodType,
  Answer extends object,
> {
  readonly name: Name
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** From the root, with parameters in braces. The caller is a browser, signed in or not. */
  readonly paths: { readonly browser: Path }
  readonly query: null
  /** Null: the body is ignored. */
  readonly body: Body | null
  /** Answers it. Throws Problem. */
  run(input: PageCallsInput, call: PageCall<Body>): Promise<Answer>
}

interface CallInput<Name, Path, Body extends z.ZodType, Answer> {
  readonly name: Name
  /** Default: POST. */
  readonly method?: 'GET' | 'DELETE'
  /** Below `/app/api/`. */
  readonly path: Path
  /** Default: the body is ignored. */
  readonly body?: Body
  readonly run: (input: PageCallsInput, call: PageCall<Body>) => Promise<Answer>
}

/** Describes a call of the page. */
export function pageCall<
  const Name extends string,
  const Path extends string,
  Answer extends object,
  Body extends z.ZodType = z.ZodUndefined,
>({
  method,
  path,
  body,
  ...described
}: CallInput<Name, Path, Body, Answer>): DescribedCall<Name, `/app/api/${Path}`, Body, Answer> {
  const paths = { browser: `/app/api/${path}` } as const
  return { ...described, method: method ?? 'POST', paths, query: null, body: body ?? null }
}

/** Serves calls of the page. */
export function registerCalls(
  app: FastifyInstance,
  { onAccessTaken, ...input }: PageCallsInput & { readonly onAccessTaken: OnAccessTaken },
  calls: readonly DescribedCall<string, string, z.ZodType, object>[],
): void {
  for (const { method, paths, body, run } of calls) {
    app.route<{ Params: Record<string, string> }>({
      method,
      url: routeOf(paths.browser),
      async handler(request, reply) {
        const arrival = arrivalOf(request)
        const agent = String(request.headers['user-agent'] ?? '')
        const known = input.site.knownOf(arrival)
        const visitor = { address: input.addressOf(arrival), agent, known }
        const readBody = async () => {
          if (body === null) return undefined
          const reading = { timeoutMs: input.bodyTimeoutMs, shape: body }
          return checkInput(body, await readJson(request.raw, reply.raw, reading))
        }
        const answer = await run(input, { request, reply, arrival, visitor, readBody })
        // Sessions and second factors end by these.
        if (method !== 'GET') await onAccessTaken?.()
        return reply.header('x-request-id', request.id).send(answer)
      },
    })
  }
}

/** Finds the signed-in user, and counts the call. Throws Problem as `requireSignedIn` and `countCall` do. */
export async function enter(input: PageCallsInput, { arrival, reply }: AnyCall): Promise<SignedIn> {
  const signedIn = await requireSignedIn(input, arrival)
  countCall(input, { callerId: signedIn.user.id, client: reply.raw })
  return signedIn
}

/**
 * Sets the cookie of a new session, and answers as `GET me` does; a session that waits for the second factor of its user
 * gets an answer that says so. By position: the parts, the call, and the session with how the person has signed in.
 */
export async function letIn(
  input: PageCallsInput,
  { arrival, reply, visitor }: AnyCall,
  { sessionToken, method }: NewSession & { readonly method: SignInMethod },
): Promise<MeAnswer | FactorNeededAnswer> {
  const { people, site, signInLog } = input
  const signedIn = await people.sessions.find(sessionToken)
  const waiting = signedIn === null ? await people.sessions.findWaiting(sessionToken) : null
  if (signedIn === null && waiting === null) throw new Problem('not_signed_in')
  reply.header('set-cookie', site.sessionCookie(arrival, sessionToken))
  if (signedIn === null) return { object: 'factor_needed' }
  signInLog.succeeded(signedIn.user.id, { method, visitor })
  const known = await people.knownBrowsers.textFor(signedIn.user)
  reply.header('set-cookie', site.knownCookie(arrival, known))
  return readMe(input, { signedIn, arrival })
}

/** The answer of `GET me`. */
export async function readMe(
  input: PageCallsInput,
  { signedIn, arrival }: { readonly signedIn: SignedIn; readonly arrival: Arrival },
): Promise<MeAnswer> {
  const { db, site, mode, sellsCredit, operatorFactor } = input
  const userId = signedIn.user.id
  const memberships = await listMemberships(db, userId)
  const stored = await findPassword(db, signedIn.user.email)
  const kinds = signedIn.hasFactor ? await factorKinds(input, { userId, arrival }) : []
  return meAnswer({
    signedIn,
    memberships,
    hasPassword: stored !== null && !lacksPassword(stored),
    factorKinds: kinds,
    mode,
    factorRequired: isFactorMissing({ operatorFactor }, signedIn),
    sells_credit: sellsCredit,
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

/** The codes of refusals that count as guesses, but for a wrong password. */
const GUESSES: ReadonlySet<string> = new Set([
  'invalid_link',
  'invalid_code',
  'sign_in_refused',
  // The provider was called for it, and may have refused because of too many calls.
  'sign_in_unavailable',
])

/**
 * Counts wrong links, passwords and answers of providers by address, and refuses an address that guesses before it can
 * try again. A browser in which the user signed in before is exempt, because a whole office has one address.
 */
export async function guessing<T>(
  { unknownCallers, people, db }: PageCallsInput,
  call: AnyCall & {
    /** The user whose password is typed: only this user's browsers are exempt. Default: no password is typed. */
    readonly email?: string
  },
  take: () => Promise<T>,
): Promise<T> {
  const { arrival, visitor, email } = call
  const { known } = visitor
  const { isOver, end } = unknownCallers.begin(arrival)
  try {
    if (isOver && !(await isKnown())) throw new Problem('rate_limited', { retryAfterSeconds: 60 })
    return await take()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { code, param } = error
    const isGuess = GUESSES.has(code) || (code === 'invalid_sign_in' && param === null)
    if (!isGuess || isOver) throw error
    const refusal = unknownCallers.refusal(arrival, { code })
    throw refusal.code === code ? error : refusal
  } finally {
    end()
  }

  async function isKnown(): Promise<boolean> {
    if (email === undefined) return people.knownBrowsers.isKnown(known)
    const user = known === null ? null : await findUser(db, email)
    return user !== null && people.knownBrowsers.isOf(known, user)
  }
}

/**
 * Whether a user's address is only claimed although it could be proved: a factor of this user would lock out the person
 * who really has the address.
 */
export function needsProof(
  { mailDoor, outsideDoor }: PageCallsInput,
  { user: { emailVerified, vouched } }: SignedIn,
): boolean {
  return !emailVerified && !vouched && (mailDoor !== null || outsideDoor.providers.length > 0)
}

/** Finds the user, whose password must be recent and stays so. Throws Problem `sign_in_again`. */
export async function enterRecently(input: PageCallsInput, call: AnyCall): Promise<SignedIn> {
  const { sessions } = input.people
  const signedIn = await enter(input, call)
  if (!sessions.isRecent(signedIn)) throw new Problem('sign_in_again')
  await sessions.keepRecent(signedIn.sessionId)
  return signedIn
}
