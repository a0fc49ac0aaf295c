import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Mailbox, startMailbox } from '../../src/mail/testing/mailbox.ts'
import { makeLink } from '../../src/people/links.ts'
import { askForMail, linkIn, mailSettings, ORIGIN } from './mail-gate.ts'
import { ADA, Browser, errorOf, inviteGuest, linkParts, setUpOperator } from './page-client.ts'
import { pageWorld } from './page-world.ts'

/** The name and the email address of a user, who changes them on the page. */

let box: Mailbox
beforeEach(async () => {
  box = await startMailbox()
})
afterEach(() => box.close())

const world = pageWorld(() => mailSettings(box))
const browserAt = (address: string) => new Browser(world, { ...ORIGIN, address })
const NEW = 'ada@new.example'
const INVALID_LINK = { httpStatus: 404, code: 'invalid_link', param: null }

/** Asks for a link to the new address. Returns the text of that link. */
async function ask(ada: Browser, mail: number): Promise<string> {
  expect((await ada.post('auth/email', { email: NEW })).json).toEqual({ object: 'mail_asked' })
  expect((await box.mail(mail)).to).toEqual([NEW])
  return linkIn(box, mail)
}

test('a user changes the email address by a link to the new one, with a recent password; the earlier one gets a notice and no longer signs in', async () => {
  const ada = await setUpOperator(world, ORIGIN)
  const stranger = browserAt('203.0.113.9')
  await askForMail(stranger)
  const earlier = await linkIn(box, 0)
  world.passedMs = 11 * 60_000
  expect(errorOf(await ada.post('auth/email', { email: NEW }))).toMatchObject({
    code: 'sign_in_again',
  })
  await ada.post('auth/confirm', { password: ADA.password })
  const replaced = await ask(ada, 1)
  const token = await ask(ada, 2)
  expect((await ada.get('me')).json).toMatchObject({ user: { email: ADA.email } })
  const other = browserAt('203.0.113.7')
  expect((await other.post('auth/new-email/look', { token })).json).toMatchObject({
    usable: true,
    email: NEW,
  })
  expect(errorOf(await ada.post('auth/new-email', { token: replaced }))).toEqual(INVALID_LINK)
  expect(errorOf(await other.post('auth/new-email', { token }))).toMatchObject({
    httpStatus: 401,
    code: 'not_signed_in',
  })
  const changed = await ada.post('auth/new-email', { token })
  expect(changed.json).toEqual({ object: 'email_changed', email: NEW })
  expect(errorOf(await ada.post('auth/new-email', { token }))).toEqual(INVALID_LINK)
  expect((await ada.get('me')).json).toMatchObject({ user: { email: NEW, email_verified: true } })
  const notice = await box.mail(3)
  expect(notice.to).toEqual([ADA.email])
  expect(notice.text).toContain(`You now sign in with ${NEW}.`)
  expect(errorOf(await stranger.post('auth/link', { token: earlier }))).toEqual(INVALID_LINK)
  expect((await other.post('auth/sign-in', ADA)).httpStatus).toBe(401)
  expect((await other.post('auth/sign-in', { ...ADA, email: NEW })).httpStatus).toBe(200)
  const { data } = Object((await ada.get('operator/actions?action=changeEmail')).json)
  expect(data).toMatchObject([{ detail: { email: NEW }, before: { email: ADA.email } }])
})

test('whoever opens the link of another user keeps the own address, and gives it to no stranger', async () => {
  const ada = await setUpOperator(world, ORIGIN)
  const { id: accountId } = await world.account()
  const guest = { email: 'bob@example.org', accountId, role: 'member', ...ORIGIN } as const
  const bob = await inviteGuest(world, guest)
  const token = await ask(ada, 0)
  const refused = await bob.post('auth/new-email', { token })
  expect(errorOf(refused)).toEqual(INVALID_LINK)
  expect(JSON.stringify(refused.json)).toContain('Sign in as that user')
  expect((await bob.get('me')).json).toMatchObject({ user: { email: 'bob@example.org' } })
  expect((await ada.get('me')).json).toMatchObject({ user: { email: ADA.email } })
  expect((await ada.post('auth/new-email', { token })).httpStatus).toBe(200)
})

test('open invitations to the earlier address end with the change, so that none gives back rights that are taken later', async () => {
  const ada = await setUpOperator(world, ORIGIN)
  const { id: accountId } = await world.account()
  const membership = { accountId, role: 'owner' } as const
  const invited = { kind: 'invitation', email: ADA.email, isOperator: true, membership } as const
  const { text: invitation } = await makeLink(linkParts(world), invited)
  const token = await ask(ada, 0)
  expect((await ada.post('auth/new-email', { token })).httpStatus).toBe(200)
  const taken = { token: invitation, name: 'Ada', password: ADA.password }
  expect(errorOf(await browserAt('203.0.113.8').post('auth/invitation', taken))).toEqual(
    INVALID_LINK,
  )
})

test('a link to a new address ends with another password, and after 45 minutes', async () => {
  const ada = await setUpOperator(world, ORIGIN)
  const ended = await ask(ada, 0)
  const password = { current_password: ADA.password, new_password: 'another horse battery' }
  expect((await ada.post('auth/password', password)).httpStatus).toBe(200)
  expect(errorOf(await ada.post('auth/new-email', { token: ended }))).toEqual(INVALID_LINK)
  const late = await ask(ada, 1)
  world.passedMs = 45 * 60_000
  expect(errorOf(await ada.post('auth/new-email', { token: late }))).toEqual(INVALID_LINK)
  expect((await ada.get('me')).json).toMatchObject({ user: { email: ADA.email } })
})

test('the address of another user gets no email, and one that became it meanwhile is not taken', async () => {
  const ada = await setUpOperator(world, ORIGIN)
  const { id: accountId } = await world.account()
  const token = await ask(ada, 0)
  const guest = { email: NEW, accountId, role: 'member', ...ORIGIN } as const
  const eve = await inviteGuest(world, guest)
  expect(errorOf(await ada.post('auth/new-email', { token }))).toEqual(INVALID_LINK)
  const asked = await ada.post('auth/email', { email: NEW.toUpperCase() })
  expect(asked.json).toEqual({ object: 'mail_asked' })
  // The address of Eve is only claimed: her rights are those of the person who really has it.
  expect(errorOf(await eve.post('auth/email', { email: 'eve@example.org' }))).toMatchObject({
    httpStatus: 403,
    code: 'address_not_proved',
  })
  expect(errorOf(await ada.post('auth/email', { email: ADA.email }))).toMatchObject({
    code: 'invalid_parameter',
    param: 'email',
  })
  await ada.post('auth/email', { email: 'ada@third.example' })
  expect((await box.mail(1)).to).toEqual(['ada@third.example'])
})

test('a user changes their name at once, without a mail server too, and that of an operator is recorded', async () => {
  await world.reopen({ SMTP_URL: '', MAIL_FROM: '' })
  const ada = await setUpOperator(world, ORIGIN)
  expect((await ada.post('auth/name', { name: 'Ada Lovelace' })).httpStatus).toBe(200)
  expect((await ada.get('me')).json).toMatchObject({ user: { name: 'Ada Lovelace' } })
  expect(errorOf(await ada.post('auth/name', { name: '' }))).toMatchObject({ param: 'name' })
  const { data } = Object((await ada.get('operator/actions?action=changeName')).json)
  expect(data).toMatchObject([{ detail: { name: 'Ada Lovelace' }, before: { name: 'Ada' } }])
  expect((await ada.post('auth/email', { email: NEW })).httpStatus).toBe(404)
})
