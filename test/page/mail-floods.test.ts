import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Mailbox, startMailbox } from '../../src/mail/testing/mailbox.ts'
import { askForMail, linkIn, mailSettings, ORIGIN } from './mail-gate.ts'
import { ADA, Browser, inviteGuest, setUpOperator } from './page-client.ts'
import { pageWorld } from './page-world.ts'

let box: Mailbox

beforeEach(async () => {
  box = await startMailbox()
})
afterEach(() => box.close())

const world = pageWorld(() => mailSettings(box))
const browserAt = (address: string) => new Browser(world, { ...ORIGIN, address })
const ADA_ONLY = { email: ADA.email }

const MAIL_PATHS = { sign_in: 'auth/mail/sign-in', reset: 'auth/mail/reset' } as const

describe('a flood of mails', () => {
  const MINUTE_MS = 60_000
  let strangers = 0

  /** A stranger of another network asks. */
  const flood = (email: string, kind: keyof typeof MAIL_PATHS = 'sign_in') => {
    strangers++
    const address = `198.51.${Math.floor(strangers / 250)}.${strangers % 250}`
    const inAnyCase = strangers % 2 === 0 ? email : email.toUpperCase()
    return browserAt(address).post(MAIL_PATHS[kind], { email: inAnyCase })
  }

  test.each(['sign_in', 'reset'] as const)(
    'sends five emails for %s at once, then one every 30 minutes',
    async (kind) => {
      await setUpOperator(world, ORIGIN)
      let mails = 0
      for (let minute = 0; minute <= 24 * 60; minute += 10) {
        world.passedMs = minute * MINUTE_MS
        for (;;) {
          const { httpStatus, headers, text } = await flood(ADA.email, kind)
          if (httpStatus === 200) {
            mails++
            continue
          }
          expect(httpStatus).toBe(429)
          // Each process of the test takes a few seconds.
          const waitSeconds = Number(headers.get('retry-after'))
          expect(waitSeconds).toBeGreaterThan(0)
          expect(waitSeconds).toBeLessThanOrEqual(30 * 60)
          expect(text).toMatch(
            /An email was sent to this address (?:less than a minute|\d+ minutes?) ago, and its link still works\. You can ask for another in \d+ minutes?\./,
          )
          break
        }
      }
      expect(mails).toBe(5 + 48)
    },
  )

  test('leaves a working link in the mailbox at any time', async () => {
    await setUpOperator(world, ORIGIN)
    const { db } = world.gateway.store
    let mails = 0
    for (let minute = 0; minute <= 180; minute += 5) {
      world.passedMs = minute * MINUTE_MS
      // Each is sent before the clock moves on, or its link would end first.
      while ((await flood(ADA.email)).httpStatus === 200) await box.mail(mails++)
      const links = await db.selectFrom('links').select('expires_at_ms').execute()
      const endsAtMs = Math.max(...links.map((link) => Number(link.expires_at_ms)))
      expect(endsAtMs).toBeGreaterThan(Date.now() + world.passedMs + 14 * MINUTE_MS)
    }
    expect(mails).toBe(5 + 6)
    const token = await linkIn(box, mails - 1)
    expect((await browserAt('203.0.113.7').post('auth/link', { token })).httpStatus).toBe(200)
  })

  test('gets the same answers for an address without a user', async () => {
    await setUpOperator(world, ORIGIN)
    const answers = async (email: string) => {
      const seen: unknown[] = []
      for (let nth = 0; nth < 6; nth++) {
        const { httpStatus, json } = await flood(email)
        seen.push([httpStatus, Object.keys(json), Object(json['error']).message])
      }
      return seen
    }
    expect(await answers('eve@example.org')).toEqual(await answers(ADA.email))
  })

  test('does not count a browser in which the user signed in, or its network', async () => {
    await setUpOperator(world, ORIGIN)
    const own = browserAt('203.0.113.7')
    expect((await own.post('auth/sign-in', ADA)).httpStatus).toBe(200)
    expect([...own.cookies.keys()]).toContain('__Host-tollgate_known')
    own.cookies.delete('__Host-tollgate_session')
    while ((await flood(ADA.email)).httpStatus === 200);
    const colleague = browserAt('203.0.113.7')
    for (let nth = 0; nth < 21; nth++) {
      await colleague.post('auth/mail/reset', { email: `p${nth}@example.org` })
    }
    for (let nth = 0; nth < 110; nth++) {
      await colleague.post('auth/link', { token: `${nth}`.padStart(32, 'x') })
    }
    expect((await colleague.post('auth/sign-in', ADA)).httpStatus).toBe(429)
    const statuses: number[] = []
    for (const kind of ['sign_in', 'reset', 'sign_in', 'reset', 'sign_in', 'sign_in'] as const) {
      statuses.push((await own.post(MAIL_PATHS[kind], ADA_ONLY)).httpStatus)
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
    world.passedMs = 61 * MINUTE_MS
    for (let nth = 0; nth < 110; nth++) {
      await colleague.post('auth/link', { token: `${nth}`.padStart(32, 'x') })
    }
    const later: number[] = []
    for (let nth = 0; nth < 6; nth++) {
      later.push((await own.post(MAIL_PATHS.sign_in, ADA_ONLY)).httpStatus)
    }
    expect(later).toEqual([200, 200, 200, 200, 200, 429])
    world.passedMs = 130 * MINUTE_MS
    expect((await own.post(MAIL_PATHS.sign_in, ADA_ONLY)).httpStatus).toBe(429)
    expect((await own.post('auth/sign-in', ADA)).httpStatus).toBe(200)
  })

  test("counts for another person's browser, for a forged cookie, and after 180 days", async () => {
    await setUpOperator(world, ORIGIN)
    const { id } = await world.account()
    const eve = await inviteGuest(world, {
      ...{ email: 'eve@example.org', accountId: id, role: 'member' },
      ...{ ...ORIGIN, address: '203.0.113.9' },
    })
    const own = browserAt('203.0.113.7')
    await own.post('auth/sign-in', ADA)
    const known = own.cookies.get('__Host-tollgate_known') ?? ''
    const [userId = '', signedAt = '', signature = ''] = known.split('.')
    const eves = (eve.cookies.get('__Host-tollgate_known') ?? '').split('.')
    while ((await flood(ADA.email)).httpStatus === 200);
    expect((await eve.post(MAIL_PATHS.sign_in, ADA_ONLY)).httpStatus).toBe(429)
    for (const forged of [
      [userId, ...eves.slice(1)],
      [userId, `${signedAt}1`, signature],
      [userId, signedAt, '0'.repeat(64)],
    ]) {
      const stranger = browserAt('203.0.113.10')
      stranger.cookies.set('__Host-tollgate_known', forged.join('.'))
      expect((await stranger.post(MAIL_PATHS.sign_in, ADA_ONLY)).httpStatus).toBe(429)
    }
    own.cookies.delete('__Host-tollgate_session')
    expect((await own.post(MAIL_PATHS.sign_in, ADA_ONLY)).httpStatus).toBe(200)
    expect((await own.get('me')).httpStatus).toBe(401)
    world.passedMs = 180 * 24 * 60 * MINUTE_MS
    while ((await flood(ADA.email)).httpStatus === 200);
    expect((await own.post(MAIL_PATHS.sign_in, ADA_ONLY)).httpStatus).toBe(429)
  })

  test('counts for a browser that was known before the address was proved', async () => {
    await setUpOperator(world, ORIGIN)
    const stranger = browserAt('198.51.100.66')
    await stranger.post('auth/sign-in', ADA)
    const own = browserAt('203.0.113.7')
    await askForMail(own)
    await own.post('auth/link', { token: await linkIn(box, 0) })
    while ((await flood(ADA.email)).httpStatus === 200);
    stranger.cookies.delete('__Host-tollgate_session')
    expect((await stranger.post(MAIL_PATHS.sign_in, ADA_ONLY)).httpStatus).toBe(429)
    own.cookies.delete('__Host-tollgate_session')
    expect((await own.post(MAIL_PATHS.sign_in, ADA_ONLY)).httpStatus).toBe(200)
  })
})

test('a network asks for twenty mails in an hour', async () => {
  await setUpOperator(world, ORIGIN)
  const network = browserAt('198.51.100.1')
  const asked: number[] = []
  for (let nth = 0; nth < 22; nth++) {
    const email = `user${nth}@example.org`
    asked.push((await network.post('auth/mail/reset', { email })).httpStatus)
  }
  expect(asked).toEqual([...new Array(20).fill(200), 429, 429])
  world.passedMs = 60 * 60_000
  expect((await network.post('auth/mail/sign-in', ADA_ONLY)).httpStatus).toBe(200)
})
