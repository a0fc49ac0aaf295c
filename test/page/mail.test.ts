import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Mailbox, startMailbox } from '../../src/mail/testing/mailbox.ts'
import { databaseOfTest, MADE_DATABASES } from '../../src/store/testing/test-databases.ts'
import { startWorld } from '../world.ts'
import { askForMail, codeIn, linkIn, mailSettings, ORIGIN } from './mail-gate.ts'
import { ADA, Browser, errorOf, setUpOperator, tracesOf } from './page-client.ts'
import { pageWorld } from './page-world.ts'

let box: Mailbox
/** The refusal that the mail server answers emails with; null: it takes them. */
let refusal: Error | null = null

beforeEach(async () => {
  refusal = null
  box = await startMailbox({ onMailFrom: (_address, _session, done) => done(refusal) })
})
afterEach(() => box.close())

const world = pageWorld(() => mailSettings(box))
const browserAt = (address: string) => new Browser(world, { ...ORIGIN, address })
const INVALID_LINK = { httpStatus: 404, code: 'invalid_link', param: null }
const INVALID_CODE = { httpStatus: 404, code: 'invalid_code', param: null }

/** A code that is not the one of an email. */
function wrongOf(code: string, nth = 1): string {
  return String((Number(code) + nth) % 1_000_000).padStart(6, '0')
}

test('a link signs a user in once, and no GET of any program uses it', async () => {
  await setUpOperator(world, ORIGIN)
  const browser = browserAt('203.0.113.7')
  await askForMail(browser)
  const token = await linkIn(box, 0)
  // A program that looks at links sends no part behind #, and reads alone.
  for (const path of ['/app/sign-in-link', `/app/sign-in-link?token=${token}`]) {
    expect((await fetch(world.url(path))).status).toBeLessThan(500)
  }
  expect((await browser.get(`auth/link?token=${token}`)).httpStatus).toBe(404)
  const foreign = new Browser(world, { origin: 'https://evil.example' })
  expect(errorOf(await foreign.post('auth/link', { token }))).toMatchObject({
    httpStatus: 403,
    code: 'foreign_origin',
  })
  expect((await browser.post('auth/link', { token })).httpStatus).toBe(200)
  expect((await browser.get('me')).json).toMatchObject({ user: { email: ADA.email } })
  expect(errorOf(await browserAt('203.0.113.8').post('auth/link', { token }))).toEqual(INVALID_LINK)
})

test('operators read that the last email could not be sent, until one is', async () => {
  const operator = await setUpOperator(world, ORIGIN)
  const email = async () => {
    const { checks } = (await operator.get('operator/health')).json as {
      checks: readonly { readonly name: string }[]
    }
    return checks.find(({ name }) => name === 'email')
  }
  expect(await email()).toEqual({ name: 'email', ok: true, message: null })
  refusal = Object.assign(new Error('busy'), { responseCode: 451 })
  await askForMail(browserAt('203.0.113.7'))
  const words = 'The last email could not be sent: the mail server refused'
  await expect.poll(email).toMatchObject({ ok: true, message: expect.stringContaining(words) })
  const readiness = await fetch(world.url('/readyz'))
  expect(await readiness.text()).not.toContain('email')
  refusal = null
  await box.mail(0)
  await expect.poll(email).toMatchObject({ message: null })
})

test('the log reports an email that the mail server refuses', async () => {
  await setUpOperator(world, ORIGIN)
  refusal = Object.assign(new Error('no such mailbox'), { responseCode: 550 })
  await askForMail(browserAt('203.0.113.7'))
  const logged = JSON.parse(await world.logged('an email could not be sent'))
  expect(logged).toMatchObject({ level: 40, kind: 'given_up' })
})

test('of two simultaneous clicks, one signs in', async () => {
  await setUpOperator(world, ORIGIN)
  await askForMail(browserAt('203.0.113.7'))
  const token = await linkIn(box, 0)
  const clicks = Array.from({ length: 4 }, () =>
    browserAt('203.0.113.7').post('auth/link', { token }),
  )
  const statuses = (await Promise.all(clicks)).map(({ httpStatus }) => httpStatus)
  expect(statuses.toSorted()).toEqual([200, 404, 404, 404])
})

test('a code expires 15 minutes after its email was requested, and the link after 45', async () => {
  await setUpOperator(world, ORIGIN)
  const browser = browserAt('203.0.113.7')
  const ticket = await askForMail(browser)
  const [token, code] = [await linkIn(box, 0), await codeIn(box, 0)]
  world.passedMs = 15 * 60_000
  expect(errorOf(await browser.post('auth/code', { ticket, code }))).toEqual(INVALID_CODE)
  world.passedMs = 45 * 60_000
  expect(errorOf(await browser.post('auth/link', { token }))).toEqual(INVALID_LINK)
  await browser.post('auth/mail/reset', ADA_ONLY)
  const reset = { token: await linkIn(box, 1), password: 'another horse battery' }
  world.passedMs = 90 * 60_000
  expect(errorOf(await browser.post('auth/reset', reset))).toEqual(INVALID_LINK)
})

test('a code signs in only the browser that requested it, once, and ends the link of its email', async () => {
  await setUpOperator(world, ORIGIN)
  const browser = browserAt('203.0.113.7')
  const ticket = await askForMail(browser)
  const [token, code] = [await linkIn(box, 0), await codeIn(box, 0)]
  const stranger = browserAt('203.0.113.8')
  const others = await askForMail(stranger)
  expect(errorOf(await stranger.post('auth/code', { ticket: others, code }))).toEqual(INVALID_CODE)
  expect((await browser.post('auth/code', { ticket, code })).httpStatus).toBe(200)
  expect((await browser.get('me')).httpStatus).toBe(200)
  expect(errorOf(await browser.post('auth/code', { ticket, code }))).toEqual(INVALID_CODE)
  expect(errorOf(await browser.post('auth/link', { token }))).toEqual(INVALID_LINK)
})

test('five wrong codes end a code, even if thirty come at the same time, and no code of another browser', async () => {
  await setUpOperator(world, ORIGIN)
  const browser = browserAt('203.0.113.7')
  const ticket = await askForMail(browser)
  const code = await codeIn(box, 0)
  const stranger = browserAt('203.0.113.8')
  const guessed = await askForMail(stranger)
  const guessedCode = await codeIn(box, 1)
  await Promise.all(
    Array.from({ length: 30 }, (_, nth) =>
      stranger.post('auth/code', { ticket: guessed, code: wrongOf(guessedCode, nth + 1) }),
    ),
  )
  const right = { ticket: guessed, code: guessedCode }
  expect(errorOf(await stranger.post('auth/code', right))).toEqual(INVALID_CODE)
  for (let nth = 1; nth <= 4; nth++) {
    const wrong = { ticket, code: wrongOf(code, nth) }
    expect(errorOf(await browser.post('auth/code', wrong))).toEqual(INVALID_CODE)
  }
  expect((await browser.post('auth/code', { ticket, code })).httpStatus).toBe(200)
})

test('an unknown address gets the same answer, after the same statements, and no email', async () => {
  await setUpOperator(world, ORIGIN)
  const known = await tracesOf(world, () =>
    browserAt('203.0.113.7').post('auth/mail/sign-in', ADA_ONLY),
  )
  const unknown = await tracesOf(world, () =>
    browserAt('203.0.113.7').post('auth/mail/sign-in', { email: 'eve@example.org' }),
  )
  expect(unknown.written).toEqual(known.written)
  expect(unknown.shape).toEqual(known.shape)
  const ticket = String(unknown.json['ticket'])
  const guess = { ticket, code: '123456' }
  expect(errorOf(await browserAt('203.0.113.7').post('auth/code', guess))).toEqual(INVALID_CODE)
  const reset = await browserAt('203.0.113.7').post('auth/mail/reset', { email: 'eve@example.org' })
  expect([reset.httpStatus, reset.json]).toEqual([200, { object: 'mail_asked' }])
  await browserAt('203.0.113.7').post('auth/mail/reset', ADA_ONLY)
  await box.mail(1)
  expect(box.mails.map(({ to }) => to)).toEqual([[ADA.email], [ADA.email]])
})

const ADA_ONLY = { email: ADA.email }

test('a mailed link sets a new password once, and ends sessions and other links', async () => {
  const desk = await setUpOperator(world, ORIGIN)
  const browser = browserAt('203.0.113.7')
  await askForMail(browser)
  const signIn = await linkIn(box, 0)
  await browser.post('auth/mail/reset', { email: 'ADA@example.org' })
  const token = await linkIn(box, 1)
  const password = 'another horse battery'
  expect((await browser.post('auth/reset', { token, password })).httpStatus).toBe(200)
  expect((await desk.get('me')).httpStatus).toBe(401)
  expect(errorOf(await browser.post('auth/reset', { token, password }))).toEqual(INVALID_LINK)
  expect(errorOf(await browser.post('auth/link', { token: signIn }))).toEqual(INVALID_LINK)
  const again = await browserAt('203.0.113.9').post('auth/sign-in', { ...ADA, password })
  expect(again.httpStatus).toBe(200)
})

test('the first proof of an address ends a password that was set before it, and later proofs end nothing', async () => {
  const desk = await setUpOperator(world, ORIGIN)
  const browser = browserAt('203.0.113.7')
  await askForMail(browser)
  expect((await box.mail(0)).text).toContain('ends all sessions and removes the password')
  await browser.post('auth/link', { token: await linkIn(box, 0) })
  expect((await desk.get('me')).httpStatus).toBe(401)
  expect((await browserAt('203.0.113.8').post('auth/sign-in', ADA)).httpStatus).toBe(401)
  await browser.post('auth/mail/reset', ADA_ONLY)
  await browser.post('auth/reset', { token: await linkIn(box, 1), password: ADA.password })
  const phone = browserAt('203.0.113.9')
  await askForMail(phone)
  expect((await box.mail(2)).text).not.toContain('ends all sessions')
  await phone.post('auth/link', { token: await linkIn(box, 2) })
  expect((await browser.get('me')).httpStatus).toBe(200)
  expect((await browserAt('203.0.113.8').post('auth/sign-in', ADA)).httpStatus).toBe(200)
})

test('no store and no log has the text, the ticket or the code of a mail', async () => {
  await setUpOperator(world, ORIGIN)
  const ticket = await askForMail(browserAt('203.0.113.7'))
  const [token, code] = [await linkIn(box, 0), await codeIn(box, 0)]
  const rows = JSON.stringify(
    await world.gateway.store.db.selectFrom('links').selectAll().execute(),
  )
  await world.logged('"email"')
  for (const secretText of [ticket, token, `"${code}"`]) {
    expect(rows).not.toContain(secretText)
    expect(world.log.join('\n')).not.toContain(secretText)
  }
})

test('links lead to the configured address, and a call cannot change it', async () => {
  await setUpOperator(world, ORIGIN)
  await browserAt('203.0.113.7').call('POST', 'auth/mail/reset', {
    body: ADA_ONLY,
    headers: { 'x-forwarded-host': 'evil.example' },
  })
  const { raw, html } = await box.mail(0)
  expect(raw).not.toContain('evil.example')
  expect(html.match(/https?:\/\/[^/"<]+/g)).toEqual([
    'https://gate.example.com',
    'https://gate.example.com',
  ])
})

test('a removed user cannot sign in by email', async () => {
  await setUpOperator(world, ORIGIN)
  await askForMail(browserAt('203.0.113.7'))
  const token = await linkIn(box, 0)
  const { db } = world.gateway.store
  await db.deleteFrom('sign_ins').execute()
  expect(errorOf(await browserAt('203.0.113.7').post('auth/link', { token }))).toEqual(INVALID_LINK)
})

test('an invitation is sent by email, names who invites, and the name of its account is plain text', async () => {
  await world.reopen({ ADMIN_API_TOKEN: 'an-admin-token', TOLLGATE_NAME: 'Corner Models' })
  const operator = await setUpOperator(world, ORIGIN)
  const call = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const headers = { authorization: 'Bearer an-admin-token', 'content-type': 'application/json' }
    const sent = { method: 'POST', headers, body: JSON.stringify(body) }
    return Object(await (await fetch(world.url(`/v1/admin/${path}`), sent)).json())
  }
  const name = '<img src=//evil.example> "Ada" & co'
  const { id } = await call('accounts', { name, email: null })
  const email = 'eve@example.org'
  const { url } = await call('invitations', { email, account_id: id, mail: true })
  const { to, text, html } = await box.mail(0)
  expect(to).toEqual([email])
  expect(text).toContain(`You are invited to use the account "${name}" at Corner Models.`)
  expect(text).toContain(String(url))
  expect(html).not.toMatch(/<img/)
  const visitor = browserAt('203.0.113.7')
  const person = { token: await linkIn(box, 0), name: 'Eve', password: ADA.password }
  expect((await visitor.post('auth/invitation', person)).httpStatus).toBe(201)
  await operator.post(`accounts/${id}/invitations`, { email: 'bob@example.org', role: 'member' })
  expect((await box.mail(1)).text).toContain('Ada (ada@example.org) invites you to use the account')
})

describe('without a mail server that answers', () => {
  test('calls are answered at once', async () => {
    await world.reopen({ SMTP_URL: 'smtp://127.0.0.1:1?tls=off' })
    await setUpOperator(world, ORIGIN)
    await askForMail(browserAt('203.0.113.7'))
    expect((await browserAt('203.0.113.7').get('start')).json).toMatchObject({ mail: true })
  })

  test('without mail settings these calls do not exist', async () => {
    const unmailed = await startWorld({ settings: { TOLLGATE_PUBLIC_URL: ORIGIN.origin } })
    onTestFinished(() => unmailed.close())
    const browser = new Browser(unmailed, ORIGIN)
    expect((await browser.get('start')).json).toMatchObject({ mail: false })
    for (const path of ['auth/mail/sign-in', 'auth/mail/reset']) {
      expect(errorOf(await browser.post(path, ADA_ONLY))).toMatchObject({ code: 'not_found' })
    }
  })
})

test.each(MADE_DATABASES)(
  'on $engine one of many simultaneous right codes signs in',
  async ({ create }) => {
    const { url } = await databaseOfTest(create)
    await world.reopen({ DATABASE_URL: url })
    await setUpOperator(world, ORIGIN)
    const browser = browserAt('203.0.113.7')
    const ticket = await askForMail(browser)
    const code = await codeIn(box, 0)
    const tries = Array.from({ length: 12 }, () => browser.post('auth/code', { ticket, code }))
    const statuses = (await Promise.all(tries)).map(({ httpStatus }) => httpStatus)
    expect(statuses.filter((httpStatus) => httpStatus === 200)).toHaveLength(1)
    await world.reopen()
  },
)
