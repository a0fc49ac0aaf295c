import { z } from 'zod'
import { recordAction } from '../../ledger/operator-actions.ts'
import { emailField, nameField } from '../../operations/fields.ts'
import type { NewEmails } from '../../people/new-email.ts'
import { updateUser } from '../../people/users.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { proofFields, proofOf } from './factor-proof.ts'
import {
  enter,
  enterRecently,
  guessing,
  needsProof,
  type PageCall,
  type PageCallsInput,
  pageCall,
  readMe,
} from './page-calls.ts'
import { type MeAnswer, sessionAnswer } from './session-answers.ts'
import { linkBody, newPasswordField, passwordField } from './session-routes.ts'

const confirmBody = z.strictObject({ password: passwordField, ...proofFields })
const alertMailsBody = z.strictObject({ on: z.boolean() })
const nameBody = z.strictObject({ name: nameField })
const emailBody = z.strictObject({ email: emailField })
const changeBody = z.strictObject({
  current_password: passwordField,
  new_password: newPasswordField,
})

async function me(input: PageCallsInput, call: PageCall): Promise<MeAnswer> {
  const signedIn = await enter(input, call)
  return readMe(input, { signedIn, arrival: call.arrival })
}

async function changePassword(input: PageCallsInput, call: PageCall<typeof changeBody>) {
  const signedIn = await enter(input, call)
  const body = await call.readBody()
  const { current_password: currentPassword, new_password: password } = body
  await input.people.changePassword({ signedIn, currentPassword, password }, call.visitor)
  return { object: 'password_changed' }
}

async function changeName(input: PageCallsInput, call: PageCall<typeof nameBody>) {
  const { user } = await enter(input, call)
  const { name } = await call.readBody()
  const { db, clock, ids } = input
  await db.transaction().execute(async (trx) => {
    await updateUser(trx, user.id, { name })
    // The audit log shows its operators by their present names.
    const by = user.isOperator
      ? { id: ids.next('act'), userId: user.id, action: 'changeName' as const }
      : null
    const change = { targetId: user.id, detail: { name }, before: { name: user.name } }
    await recordAction(trx, { by, ...change, nowMs: clock.nowMs() })
  })
  return { object: 'name_changed', name }
}

/** Emails a link to the address that the user wants: nothing changes before it is used. */
async function askNewEmail(input: PageCallsInput, call: PageCall<typeof emailBody>) {
  const signedIn = await enterRecently(input, call)
  const { email } = await call.readBody()
  // The rights of an address that is only claimed are those of the person who really has it.
  if (needsProof(input, signedIn)) throw new Problem('address_not_proved')
  await requireNewEmails(input).ask(signedIn.user, { ...call.visitor, email })
  return { object: 'mail_asked' }
}

/** Changes the address in a session of the user who asked: a stranger's link must not give that stranger's user the address. */
async function confirmNewEmail(input: PageCallsInput, call: PageCall<typeof linkBody>) {
  const { user } = await enter(input, call)
  const { token } = await call.readBody()
  const newEmails = requireNewEmails(input)
  const email = await guessing(input, call, () => newEmails.confirm(token, user))
  return { object: 'email_changed', email }
}

function requireNewEmails({ newEmails }: PageCallsInput): NewEmails {
  if (newEmails !== null) return newEmails
  throw new Problem('not_found', { message: 'This gateway sends no email.' })
}

async function confirm(input: PageCallsInput, call: PageCall<typeof confirmBody>) {
  const signedIn = await enter(input, call)
  const { password, ...shown } = await call.readBody()
  const proof = proofOf(input.site, call.arrival, shown)
  await input.people.confirm({ signedIn, password, proof }, call.visitor)
  return { object: 'confirmed' }
}

async function changeAlertMails(input: PageCallsInput, call: PageCall<typeof alertMailsBody>) {
  const { user } = await enter(input, call)
  const { on } = await call.readBody()
  await updateUser(input.db, user.id, { alert_mails: on ? 1 : 0 })
  return { object: 'alert_mails', on }
}

async function listSessions(input: PageCallsInput, call: PageCall) {
  const signedIn = await enter(input, call)
  const rows = await input.people.sessions.list(signedIn)
  const sessions = rows.map((row) => sessionAnswer(row, signedIn.sessionId))
  return { object: 'list', data: sessions, has_more: false, next_cursor: null }
}

async function endSession(input: PageCallsInput, call: PageCall) {
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
async function endOtherSessions(input: PageCallsInput, call: PageCall) {
  const { user, sessionId: keptSessionId } = await enter(input, call)
  const ended = await input.people.sessions.endOthers({ userId: user.id, keptSessionId })
  return { object: 'sessions_ended', ended }
}

/** Calls by which a signed-in user reads and changes their own profile, password and sessions. */
export const USER_CALLS = [
  pageCall({ name: 'getMe', method: 'GET', path: 'me', run: me }),
  pageCall({
    name: 'changePassword',
    path: 'auth/password',
    body: changeBody,
    run: changePassword,
  }),
  pageCall({ name: 'changeName', path: 'auth/name', body: nameBody, run: changeName }),
  pageCall({ name: 'mailNewEmailLink', path: 'auth/email', body: emailBody, run: askNewEmail }),
  pageCall({
    name: 'confirmNewEmail',
    path: 'auth/new-email',
    body: linkBody,
    run: confirmNewEmail,
  }),
  pageCall({ name: 'confirmPassword', path: 'auth/confirm', body: confirmBody, run: confirm }),
  pageCall({
    name: 'changeAlertMails',
    path: 'auth/alert-mails',
    body: alertMailsBody,
    run: changeAlertMails,
  }),
  pageCall({ name: 'listSessions', method: 'GET', path: 'auth/sessions', run: listSessions }),
  pageCall({
    name: 'endOtherSessions',
    method: 'DELETE',
    path: 'auth/sessions',
    run: endOtherSessions,
  }),
  pageCall({
    name: 'endSession',
    method: 'DELETE',
    path: 'auth/sessions/{session_id}',
    run: endSession,
  }),
]
