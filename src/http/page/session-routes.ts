import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { emailField, nameField } from '../../operations/fields.ts'
import { lookAtLink } from '../../people/link-look.ts'
import type { MailDoor } from '../../people/mail-door.ts'
import { hasUsers, setAlertMails } from '../../people/users.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import { Problem } from '../../vocabulary/problem.ts'
import type { LinkKind } from '../../vocabulary/role.ts'
import { proofFields, proofOf } from './factor-proof.ts'
import {
  type Answer,
  enter,
  factorKinds,
  guessing,
  letIn,
  meOf,
  type PageCall,
  type PageCallsInput,
  readBody,
  registerCalls,
} from './page-calls.ts'
import type { PageSite } from './page-site.ts'
import {
  type FactorNeededAnswer,
  type LinkLookAnswer,
  linkLookAnswer,
  type MeAnswer,
  type StartAnswer,
  sessionAnswer,
} from './session-answers.ts'

const PASSWORD_CHARS_MIN = 12
const PASSWORD_CHARS_MAX = 128
const QUERY_CHARS_MAX = 8_000

const newPasswordField = z
  .string()
  .refine(
    ({ length }) => length >= PASSWORD_CHARS_MIN && length <= PASSWORD_CHARS_MAX,
    `must be ${PASSWORD_CHARS_MIN} to ${PASSWORD_CHARS_MAX} characters`,
  )
const passwordField = z.string().min(1, 'is required').max(PASSWORD_CHARS_MAX, 'is too long')
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
const linkBody = z.strictObject({ token: tokenField })
const codeBody = z.strictObject({
  ticket: tokenField,
  code: z.string().regex(/^\d{6}$/, 'must be six digits'),
})
const beginBody = z.strictObject({
  provider: tokenField,
  /** Of an invitation. */
  token: tokenField.regex(/^[\w-]*$/, 'is not the token of a link').optional(),
})
const finishBody = z.strictObject({
  provider: tokenField,
  query: z.string().max(QUERY_CHARS_MAX, 'is too long'),
})
const confirmBody = z.strictObject({ password: passwordField, ...proofFields })
const alertMailsBody = z.strictObject({ on: z.boolean() })
const changeBody = z.strictObject({
  current_password: passwordField,
  new_password: newPasswordField,
})

/** Sign-in, sessions, and who is signed in. They are no operations: they read and write cookies. */
export function registerSessionRoutes(app: FastifyInstance, input: PageCallsInput): void {
  const routes: readonly ['GET' | 'POST' | 'DELETE', string, Answer][] = [
    ['GET', 'start', (call) => start(input, call)],
    ['GET', 'me', (call) => me(input, call)],
    ['POST', 'setup', (call) => setUp(input, call)],
    ['POST', 'auth/sign-in', (call) => signIn(input, call)],
    ['POST', 'auth/sign-out', (call) => signOut(input, call)],
    ['POST', 'auth/invitation', (call) => acceptInvitation(input, call)],
    ['POST', 'auth/invitation/look', (call) => look(input, call, 'invitation')],
    ['POST', 'auth/reset/look', (call) => look(input, call, 'reset')],
    ['POST', 'auth/link/look', (call) => look(input, call, 'sign_in')],
    ['POST', 'auth/reset', (call) => resetPassword(input, call)],
    ['POST', 'auth/mail/sign-in', (call) => askSignIn(input, call)],
    ['POST', 'auth/mail/reset', (call) => askReset(input, call)],
    ['POST', 'auth/link', (call) => signInByLink(input, call)],
    ['POST', 'auth/code', (call) => signInByCode(input, call)],
    ['POST', 'auth/outside/begin', (call) => beginOutside(input, call)],
    ['POST', 'auth/outside/finish', (call) => finishOutside(input, call)],
    ['POST', 'auth/password', (call) => changePassword(input, call)],
    ['POST', 'auth/confirm', (call) => confirm(input, call)],
    ['POST', 'auth/alert-mails', (call) => changeAlertMails(input, call)],
    ['GET', 'auth/sessions', (call) => listSessions(input, call)],
    ['DELETE', 'auth/sessions', (call) => endOtherSessions(input, call)],
    ['DELETE', 'auth/sessions/:session_id', (call) => endSession(input, call)],
  ]
  registerCalls(app, input, routes)
}

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

async function me(input: PageCallsInput, call: PageCall): Promise<MeAnswer> {
  const signedIn = await enter(input, call)
  return meOf(input, { signedIn, arrival: call.arrival })
}

async function setUp(input: PageCallsInput, call: PageCall): Promise<Entered> {
  const { token: linkText, ...person } = await readBody(setUpBody, { input, call })
  const made = await guessing(input, call, () =>
    input.people.setUp({ linkText, ...person }, call.visitor),
  )
  call.reply.code(201)
  return letIn(input, call, made)
}

async function signIn(input: PageCallsInput, call: PageCall): Promise<Entered> {
  const credentials = await readBody(signInBody, { input, call })
  const take = () => input.people.signIn(credentials, call.visitor)
  const made = await guessing(input, { ...call, email: credentials.email }, take)
  return letIn(input, call, made)
}

async function signOut(input: PageCallsInput, { arrival, reply }: PageCall): Promise<object> {
  const sessionToken = input.site.sessionTokenOf(arrival)
  if (sessionToken !== null) await input.people.sessions.endByToken(sessionToken)
  reply.header('set-cookie', input.site.sessionCookie(arrival, null))
  return { object: 'signed_out' }
}

async function acceptInvitation(input: PageCallsInput, call: PageCall): Promise<Entered> {
  const { token: linkText, ...person } = await readBody(invitationBody, { input, call })
  const made = await guessing(input, call, () =>
    input.people.acceptInvitation({ linkText, ...person }, call.visitor),
  )
  call.reply.code(201)
  return letIn(input, call, made)
}

/** Reads the purpose of a link, and whether it still works, without using it. A wrong link counts as a guess. */
async function look(
  input: PageCallsInput,
  call: PageCall,
  kind: Exclude<LinkKind, 'setup'>,
): Promise<LinkLookAnswer> {
  const { token: text } = await readBody(linkBody, { input, call })
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

async function resetPassword(input: PageCallsInput, call: PageCall): Promise<Entered> {
  const { token: linkText, password } = await readBody(resetBody, { input, call })
  const made = await guessing(input, call, () =>
    input.people.resetPassword({ linkText, password }, call.visitor),
  )
  return letIn(input, call, made)
}

function requireMail({ mailDoor }: PageCallsInput): MailDoor {
  if (mailDoor !== null) return mailDoor
  const message = 'This gateway sends no mail. Ask the operator for a link.'
  throw new Problem('not_found', { message })
}

async function askSignIn(input: PageCallsInput, call: PageCall): Promise<object> {
  const { email } = await readBody(mailBody, { input, call })
  const ticket = await requireMail(input).askSignIn({ ...call.visitor, email })
  return { object: 'mail_asked', ticket }
}

async function askReset(input: PageCallsInput, call: PageCall): Promise<object> {
  const { email } = await readBody(mailBody, { input, call })
  await requireMail(input).askReset({ ...call.visitor, email })
  return { object: 'mail_asked' }
}

async function signInByLink(input: PageCallsInput, call: PageCall): Promise<Entered> {
  const { token } = await readBody(linkBody, { input, call })
  const made = await guessing(input, call, () => input.people.signInByLink(token, call.visitor))
  return letIn(input, call, made)
}

async function signInByCode(input: PageCallsInput, call: PageCall): Promise<Entered> {
  const presented = await readBody(codeBody, { input, call })
  const made = await guessing(input, call, () => input.people.signInByCode(presented, call.visitor))
  return letIn(input, call, made)
}

async function beginOutside(input: PageCallsInput, call: PageCall): Promise<object> {
  const { outsideDoor, site } = input
  const { arrival, reply } = call
  const { provider: providerId, token = '' } = await readBody(beginBody, { input, call })
  const linkText = token === '' ? null : token
  const begun = { providerId, origin: ownOrigin(site, arrival), linkText }
  const { url, ticket } = await outsideDoor.begin(begun)
  reply.header('set-cookie', site.ticketCookie(arrival, ticket))
  return { object: 'sign_in_begun', url }
}

async function finishOutside(input: PageCallsInput, call: PageCall): Promise<Entered> {
  const { outsideDoor, site, people } = input
  const { arrival, reply, visitor } = call
  const { provider: providerId, query } = await readBody(finishBody, { input, call })
  const made = await guessing(input, call, async () => {
    const returned = { providerId, origin: ownOrigin(site, arrival), query }
    const proof = await outsideDoor.finish({ ...returned, ticket: site.ticketOf(arrival) })
    return people.signInFromOutside(proof, visitor)
  })
  reply.header('set-cookie', site.ticketCookie(arrival, null))
  return letIn(input, call, made)
}

/** The page's own address, which each call that changes something has named. */
function ownOrigin(site: PageSite, arrival: Arrival): string {
  const origin = site.originOf(arrival)
  if (origin === null) throw new Problem('foreign_origin')
  return origin
}

async function changePassword(input: PageCallsInput, call: PageCall): Promise<object> {
  const signedIn = await enter(input, call)
  const body = await readBody(changeBody, { input, call })
  const { current_password: currentPassword, new_password: password } = body
  await input.people.changePassword({ signedIn, currentPassword, password }, call.visitor)
  return { object: 'password_changed' }
}

async function confirm(input: PageCallsInput, call: PageCall): Promise<object> {
  const signedIn = await enter(input, call)
  const { password, ...shown } = await readBody(confirmBody, { input, call })
  const proof = proofOf(input.site, call.arrival, shown)
  await input.people.confirm({ signedIn, password, proof }, call.visitor)
  return { object: 'confirmed' }
}

async function changeAlertMails(input: PageCallsInput, call: PageCall): Promise<object> {
  const { user } = await enter(input, call)
  const { on } = await readBody(alertMailsBody, { input, call })
  await setAlertMails(input.db, { userId: user.id, isOn: on, nowMs: input.clock.nowMs() })
  return { object: 'alert_mails', on }
}

async function listSessions(input: PageCallsInput, call: PageCall): Promise<object> {
  const signedIn = await enter(input, call)
  const rows = await input.people.sessions.list(signedIn)
  const sessions = rows.map((row) => sessionAnswer(row, signedIn.sessionId))
  return { object: 'list', data: sessions, has_more: false, next_cursor: null }
}

async function endSession(input: PageCallsInput, call: PageCall): Promise<object> {
  const { request, reply, arrival } = call
  const { user, sessionId: currentSessionId } = await enter(input, call)
  const { session_id: sessionId = '' } = request.params
  const isId = /^sess_\w+$/.test(sessionId)
  if (!isId || !(await input.people.sessions.end({ userId: user.id, sessionId }))) {
    throw new Problem('not_found', { message: 'No session has this ID.' })
  }
  if (sessionId === currentSessionId) {
    reply.header('set-cookie', input.site.sessionCookie(arrival, null))
  }
  return { id: sessionId, object: 'session', deleted: true }
}

/** Signs the user out everywhere else. */
async function endOtherSessions(input: PageCallsInput, call: PageCall): Promise<object> {
  const { user, sessionId: keptSessionId } = await enter(input, call)
  const ended = await input.people.sessions.endOthers({ userId: user.id, keptSessionId })
  return { object: 'sessions_ended', ended }
}
