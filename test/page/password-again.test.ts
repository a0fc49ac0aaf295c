import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Mailbox, startMailbox } from '../../src/mail/testing/mailbox.ts'
import { MINUTE_MS } from '../../src/vocabulary/clock.ts'
import { startWorld, type TestAccount, type World } from '../world.ts'
import { ADA, type Browser, errorOf, inviteGuest, setUpOperator } from './page-client.ts'

/** How long the password of a sign-in lasts for changes, and how it is shown again. */

const ORIGIN = 'https://gate.example.com'
const REFUSED = { httpStatus: 403, code: 'sign_in_again', param: null }

let box: Mailbox
let world: World
let account: TestAccount
let operator: Browser
let owner: Browser
let passedMs = 0

beforeEach(async () => {
  passedMs = 0
  box = await startMailbox()
  world = await startWorld({
    settings: { SMTP_URL: box.url, MAIL_FROM: 'gate@example.com', TOLLGATE_PUBLIC_URL: ORIGIN },
    clock: { nowMs: () => Date.now() + passedMs },
  })
  // The first operator owns the first account.
  await world.account()
  account = await world.account()
  operator = await setUpOperator(world, { origin: ORIGIN })
  const { id: accountId } = account
  const guest = { email: 'owner@example.org', accountId, role: 'owner', origin: ORIGIN } as const
  owner = await inviteGuest(world, guest)
})
afterEach(async () => {
  await world.close()
  await box.close()
})

const confirm = (browser: Browser) => browser.post('auth/confirm', { password: ADA.password })
const grant = (reference: string) =>
  operator.post(`operator/accounts/${account.id}/credit`, { kind: 'backed', amount: 5, reference })
const makeKey = (browser: Browser) =>
  browser.post(`accounts/${account.id}/keys`, { name: 'laptop' })

test('each change renews the ten minutes of the password, up to an hour after it', async () => {
  for (let minute = 9; minute < 60; minute += 9) {
    passedMs = minute * MINUTE_MS
    expect((await grant(`after ${minute}`)).httpStatus).toBe(201)
  }
  passedMs = 60 * MINUTE_MS
  expect(errorOf(await grant('an hour after'))).toEqual(REFUSED)
  expect((await confirm(operator)).httpStatus).toBe(200)
  passedMs += 9 * MINUTE_MS
  expect((await grant('renewed')).httpStatus).toBe(201)
  passedMs += 10 * MINUTE_MS
  expect(errorOf(await grant('ten minutes after'))).toEqual(REFUSED)
})

test('neither reading, nor a harmless change, nor a refused one renews the ten minutes', async () => {
  passedMs = 9 * MINUTE_MS
  expect((await operator.get('operator/accounts')).httpStatus).toBe(200)
  const path = `operator/accounts/${account.id}`
  const renamed = await operator.call('PATCH', path, { body: { name: 'Renamed' } })
  expect(renamed.httpStatus).toBe(200)
  const unknown = await operator.call('PATCH', 'operator/accounts/acct_none', {
    body: { email: null },
  })
  expect(unknown.httpStatus).toBe(404)
  passedMs = 10 * MINUTE_MS
  expect(errorOf(await grant('late'))).toEqual(REFUSED)
})

test('an operator is asked on the pages of other accounts, including the Playground, and not on the pages of their own', async () => {
  const theirs = await makeKey(owner)
  passedMs = 10 * MINUTE_MS
  const path = `accounts/${account.id}/keys/${theirs.json['id']}`
  const raise = (browser: Browser) => browser.call('PATCH', path, { body: { credit_limit: null } })
  const chat = { model: 'sim/text', messages: [{ role: 'user', content: 'Hi.' }], max_tokens: 9 }
  const talk = (browser: Browser) => browser.post(`accounts/${account.id}/playground/chat`, chat)
  expect(errorOf(await raise(operator))).toEqual(REFUSED)
  expect(errorOf(await talk(operator))).toEqual(REFUSED)
  expect((await raise(owner)).httpStatus).toBe(200)
  expect((await talk(owner)).httpStatus).toBe(200)
  const disabled = await operator.call('PATCH', path, { body: { disabled: true } })
  expect(disabled.httpStatus).toBe(200)
  await confirm(operator)
  expect((await raise(operator)).httpStatus).toBe(200)
  expect((await talk(operator)).httpStatus).toBe(200)
})

test('a member is asked before making a key, inviting a person and changing a role', async () => {
  const { json: me } = await owner.get('me')
  const userId = Object(me['user']).id
  const changes = {
    key: () => makeKey(owner),
    invitation: () =>
      owner.post(`accounts/${account.id}/invitations`, {
        email: 'grace@example.org',
        role: 'member',
      }),
    role: () =>
      owner.call('PATCH', `accounts/${account.id}/members/${userId}`, { body: { role: 'owner' } }),
  }
  passedMs = 10 * MINUTE_MS
  for (const change of Object.values(changes)) expect(errorOf(await change())).toEqual(REFUSED)
  expect(box.mails).toEqual([])
  await confirm(owner)
  expect((await changes.key()).httpStatus).toBe(201)
  expect((await changes.invitation()).httpStatus).toBe(201)
  expect((await changes.role()).httpStatus).toBe(200)
})

test('a user without a password signs in again by mail, and the change is accepted then', async () => {
  const signIn = async (nth: number) => {
    const { json } = await owner.post('auth/mail/sign-in', { email: 'owner@example.org' })
    const [, text = ''] = /^(\d{6})$/m.exec((await box.mail(nth)).text) ?? []
    return owner.post('auth/code', { ticket: json['ticket'], code: text })
  }
  expect(Object((await owner.get('me')).json['user']).has_password).toBe(true)
  // The first proof of the address ends the password.
  const { json: entered } = await signIn(0)
  expect(Object(entered['user']).has_password).toBe(false)
  passedMs = 10 * MINUTE_MS
  expect(errorOf(await makeKey(owner))).toEqual(REFUSED)
  expect(errorOf(await confirm(owner))).toMatchObject({ code: 'invalid_sign_in' })
  await signIn(1)
  expect((await makeKey(owner)).httpStatus).toBe(201)
})
