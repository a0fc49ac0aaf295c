import { z } from 'zod'
import { emailField, nameField } from '../../operations/fields.ts'
import { lookAtLink } from '../../people/links.ts'
import type { MailDoor } from '../../people/mail-door.ts'
import type { People } from '../../people/people.ts'
import type { NewSession, Visitor } from '../../people/sessions.ts'
import type { SignInMethod } from '../../people/sign-in-log.ts'
import { hasUsers } from '../../people/users.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import { Problem } from '../../vocabulary/problem.ts'
import type { LinkKind } from '../../vocabulary/role.ts'
import { PASSWORD_CHARS_MIN, TEXT_CHARS_MAX } from '../../vocabulary/text-chars.ts'
import {
  factorKinds,
  guessing,
  letIn,
  type PageCall,
  type PageCallsInput,
  pageCall,
} from './page-calls.ts'
import type { PageSite } from './page-site.ts'
import {
  type FactorNeededAnswer,
  type LinkLookAnswer,
  linkLookAnswer,
  type MeAnswer,
  type StartAnswer,
} from './session-answers.ts'

const QUERY_CHARS_MAX = 8_000

/** A password that a user chooses. */
export const newPasswordField = z
  .string()
  .refine(
    ({ length }) => length >= PASSWORD_CHARS_MIN && length <= TEXT_CHARS_MAX.password,
    `must be ${PASSWORD_CHARS_MIN} to ${TEXT_CHARS_MAX.password} characters`,
  )

/** A password as typed at a sign-in. */
export const passwordField = z
  .string()
  .min(1, 'is required')
  .max(TEXT_CHARS_MAX.password, 'is too long')
const tokenField = z.string().max(200, 'is not the token of a link')

const setUpBody = z.strictObject({
  token: tokenField,
  email: emailField,
  name: nameField,
  password: newPasswordField,
})
const invitationBody = z.strictObject({
  token: tokenField,
  name: nameField,
  password: newPasswordField,
})
const resetBody = z.strictObject({ token: tokenField, password: newPasswordField })
const signInBody = z.strictObject({ email: emailField, password: passwordField })
const mailBody = z.strictObject({ email: emailField })
/** The token of a link. */
export const linkBody = z.strictObject({ token: tokenField })
const codeBody = z.strictObject({
  ticket: tokenField,
  code: z.string().regex(/^\d{6}$/, 'must be six digits'),
})
const beginBody = z.strictObject({
  provider: tokenField,
  /** The token of an invitation. */
  token: tokenField.regex(/^[\w-]*$/, 'is not the token of a link').optional(),
})
const finishBody = z.strictObject({
  provider: tokenField,
  query: z.string().max(QUERY_CHARS_MAX, 'is too long'),
})

/** The answer to a person who has signed in. */
type Entered = MeAnswer | FactorNeededAnswer

async function start(input: PageCallsInput, { arrival }: PageCall): Promise<StartAnswer> {
  const { people, site, db, mode, mailDoor, outsideDoor } = input
  const sessionToken = site.sessionTokenOf(arrival)
  const signedIn = sessionToken === null ? null : await people.sessions.find(sessionToken)
  const waiting =
    sessionToken === null || signedIn !== null
      ? null
      : await people.sessions.findWaiting(sessionToken)
  return {
    object: 'start',
    mode,
    service_name: input.serviceName,
    contact: input.contact,
    setup_needed: !(await hasUsers(db)),
    sign_up: input.signUp,
    mail: mailDoor !== null,
    providers: outsideDoor.providers,
    signed_in: signedIn !== null,
    factor_needed:
      waiting === null
        ? null
        : {
            email: waiting.user.email,
            kinds: await factorKinds(input, { userId: waiting.user.id, arrival }),
          },
    secure: site.originOf(arrival) !== null,
  }
}

/**
 * A call that signs a person in. A wrong link or code counts as a guess. By position: how its body makes a session; how
 * the person signs in, and whether it makes a user.
 */
function entering<Body extends z.ZodType>(
  enterWith: (people: People, body: z.output<Body>, visitor: Visitor) => Promise<NewSession>,
  { method, makesUser = false }: { readonly method: SignInMethod; readonly makesUser?: boolean },
) {
  return async (input: PageCallsInput, call: PageCall<Body>): Promise<Entered> => {
    const body = await call.readBody()
    const take = () => enterWith(input.people, body, call.visitor)
    const made = await guessing(input, call, take)
    if (makesUser) call.reply.code(201)
    return letIn(input, call, { ...made, method })
  }
}

const setUp = entering<typeof setUpBody>(
  (people, { token: linkText, ...person }, visitor) =>
    people.setUp({ linkText, ...person }, visitor),
  { method: 'setup link', makesUser: true },
)

const acceptInvitation = entering<typeof invitationBody>(
  (people, { token: linkText, ...person }, visitor) =>
    people.acceptInvitation({ linkText, ...person }, visitor),
  { method: 'invitation', makesUser: true },
)

const resetPassword = entering<typeof resetBody>(
  (people, { token: linkText, password }, visitor) =>
    people.resetPassword({ linkText, password }, visitor),
  { method: 'password link' },
)

const signInByLink = entering<typeof linkBody>(
  (people, { token }, visitor) => people.signInByLink(token, visitor),
  { method: 'email' },
)

const signInByCode = entering<typeof codeBody>(
  (people, presented, visitor) => people.signInByCode(presented, visitor),
  { method: 'email' },
)

async function signIn(input: PageCallsInput, call: PageCall<typeof signInBody>): Promise<Entered> {
  const { people, signInLog } = input
  const { visitor } = call
  const credentials = await call.readBody()
  const { email } = credentials
  const method = 'password'
  const take = () =>
    people.signIn(credentials, visitor).catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'invalid_sign_in') {
        signInLog.failed({ email }, { method, visitor })
      }
      throw error
    })
  const made = await guessing(input, { ...call, email }, take)
  return letIn(input, call, { ...made, method })
}

async function signOut(input: PageCallsInput, { arrival, reply }: PageCall) {
  const sessionToken = input.site.sessionTokenOf(arrival)
  if (sessionToken !== null) await input.people.sessions.endByToken(sessionToken)
  reply.header('set-cookie', input.site.sessionCookie(arrival, null))
  return { object: 'signed_out' }
}

/** Reads the purpose of a link, and whether it still works, without using it. A wrong link counts as a guess. */
async function look(
  input: PageCallsInput,
  call: PageCall<typeof linkBody>,
  kind: Exclude<LinkKind, 'setup'>,
): Promise<LinkLookAnswer> {
  const { token: text } = await call.readBody()
  const found = await guessing(input, call, async () => {
    const link = await lookAtLink(input.db, { kind, text, nowMs: input.clock.nowMs() })
    if (link === null) throw new Problem('invalid_link')
    return link
  }).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'invalid_link') return null
    throw error
  })
  return linkLookAnswer(found)
}

function requireMail({ mailDoor }: PageCallsInput): MailDoor {
  if (mailDoor !== null) return mailDoor
  const message = 'This gateway sends no email. Ask the operator for a link.'
  throw new Problem('not_found', { message })
}

async function askSignIn(input: PageCallsInput, call: PageCall<typeof mailBody>) {
  const { email } = await call.readBody()
  const ticket = await requireMail(input).askSignIn({ ...call.visitor, email })
  return { object: 'mail_asked', ticket }
}

async function askReset(input: PageCallsInput, call: PageCall<typeof mailBody>) {
  const { email } = await call.readBody()
  await requireMail(input).askReset({ ...call.visitor, email })
  return { object: 'mail_asked' }
}

async function beginOutside(input: PageCallsInput, call: PageCall<typeof beginBody>) {
  const { outsideDoor, site } = input
  const { arrival, reply } = call
  const { provider: providerId, token = '' } = await call.readBody()
  const linkText = token === '' ? null : token
  const begun = { providerId, origin: ownOrigin(site, arrival), linkText }
  const { url, ticket } = await outsideDoor.begin(begun)
  reply.header('set-cookie', site.ticketCookie(arrival, ticket))
  return { object: 'sign_in_begun', url }
}

async function finishOutside(
  input: PageCallsInput,
  call: PageCall<typeof finishBody>,
): Promise<Entered> {
  const { outsideDoor, site, people } = input
  const { arrival, reply, visitor } = call
  const { provider: providerId, query } = await call.readBody()
  const made = await guessing(input, call, async () => {
    const origin = ownOrigin(site, arrival)
    const returned = { providerId, origin, query, ticket: site.ticketOf(arrival) }
    return outsideDoor.finish(returned, (proof) => people.signInFromOutside(proof, visitor))
  })
  reply.header('set-cookie', site.ticketCookie(arrival, null))
  return letIn(input, call, { ...made, method: providerId })
}

/** The page's own address, which each call that changes something has named. */
function ownOrigin(site: PageSite, arrival: Arrival): string {
  const origin = site.originOf(arrival)
  if (origin === null) throw new Problem('foreign_origin')
  return origin
}

/** Sign-in and sign-out. They are no operations: they read and write cookies. */
export const SESSION_CALLS = [
  pageCall({ name: 'getStart', method: 'GET', path: 'start', run: start }),
  pageCall({ name: 'setUp', path: 'setup', body: setUpBody, run: setUp }),
  pageCall({ name: 'signIn', path: 'auth/sign-in', body: signInBody, run: signIn }),
  pageCall({ name: 'signOut', path: 'auth/sign-out', run: signOut }),
  pageCall({
    name: 'acceptInvitation',
    path: 'auth/invitation',
    body: invitationBody,
    run: acceptInvitation,
  }),
  pageCall({
    name: 'lookAtInvitation',
    path: 'auth/invitation/look',
    body: linkBody,
    run: (input, call) => look(input, call, 'invitation'),
  }),
  pageCall({
    name: 'lookAtResetLink',
    path: 'auth/reset/look',
    body: linkBody,
    run: (input, call) => look(input, call, 'reset'),
  }),
  pageCall({
    name: 'lookAtSignInLink',
    path: 'auth/link/look',
    body: linkBody,
    run: (input, call) => look(input, call, 'sign_in'),
  }),
  pageCall({
    name: 'lookAtNewEmailLink',
    path: 'auth/new-email/look',
    body: linkBody,
    run: (input, call) => look(input, call, 'new_email'),
  }),
  pageCall({ name: 'resetPassword', path: 'auth/reset', body: resetBody, run: resetPassword }),
  pageCall({ name: 'mailSignInLink', path: 'auth/mail/sign-in', body: mailBody, run: askSignIn }),
  pageCall({ name: 'mailResetLink', path: 'auth/mail/reset', body: mailBody, run: askReset }),
  pageCall({ name: 'signInByLink', path: 'auth/link', body: linkBody, run: signInByLink }),
  pageCall({ name: 'signInByCode', path: 'auth/code', body: codeBody, run: signInByCode }),
  pageCall({
    name: 'beginOutsideSignIn',
    path: 'auth/outside/begin',
    body: beginBody,
    run: beginOutside,
  }),
  pageCall({
    name: 'finishOutsideSignIn',
    path: 'auth/outside/finish',
    body: finishBody,
    run: finishOutside,
  }),
]
