import { expect, test } from 'vitest'
import {
  createMadeSqliteFile,
  MADE_DATABASES,
  storeOfTest,
} from '../store/testing/test-databases.ts'
import { DAY_MS, HOUR_MS } from '../vocabulary/clock.ts'
import { Problem } from '../vocabulary/problem.ts'
import { SignInAttempts } from './attempts.ts'
import { countInvitation, countSignUp } from './mail-rates.ts'

const OVER = 6

test.each(MADE_DATABASES)(
  'on $engine counts are of an address in any case, and those from a time when the clock was far ahead end after it is set back',
  async ({ create }) => {
    const { db } = await storeOfTest(create)
    const rightMs = Date.now()
    let nowMs = rightMs + 365 * DAY_MS
    const clock = { nowMs: () => nowMs }
    const attempts = new SignInAttempts({ db, clock })
    const codeOf = (work: Promise<unknown>) =>
      work.then(
        () => null,
        (error: Problem) => error.code,
      )
    let asked = 0
    const inAnyCase = (email: string) => (asked++ % 2 === 0 ? email : email.toUpperCase())
    const guess = () =>
      codeOf(
        attempts.run(
          { address: '192.0.2.1', email: inAnyCase('ada@example.org') },
          { check: async () => null, wrong: new Problem('invalid_sign_in') },
        ),
      )
    const invite = () =>
      codeOf(
        countInvitation(
          { db, clock },
          { email: inAnyCase('bob@example.org'), accountId: 'acct_1' },
        ),
      )
    for (let times = 1; times < OVER; times++) await guess()
    for (let times = 1; times < OVER; times++) await invite()
    expect([await guess(), await invite()]).toEqual(['rate_limited', 'rate_limited'])
    nowMs = rightMs
    expect([await guess(), await invite()]).toEqual(['invalid_sign_in', null])
  },
)

test('a refusal says how long to wait: minutes, and from two hours on hours', async () => {
  const { db } = await storeOfTest(createMadeSqliteFile)
  let nowMs = Date.now()
  const clock = { nowMs: () => nowMs }
  const attempts = new SignInAttempts({ db, clock })
  const messageOf = (work: Promise<unknown>) =>
    work.then(
      () => null,
      (error: Problem) => error.message,
    )
  const wrong = new Problem('invalid_sign_in')
  const guess = () =>
    attempts.run({ factorOf: 'user_1' }, { check: async () => null, wrong }).catch(() => null)
  const invite = () =>
    countInvitation({ db, clock }, { email: 'bob@example.org', accountId: 'acct_1' })
  const signUp = () => countSignUp({ db, clock }, '192.0.2.1')
  for (let times = 1; times < OVER; times++) {
    await guess()
    await invite()
    await signUp()
  }
  nowMs += 90_000
  const again = attempts.run({ factorOf: 'user_1' }, { check: async () => null, wrong })
  expect(await messageOf(again)).toBe(
    'Too many wrong second factors for this user. Try again in 9 minutes.',
  )
  nowMs += 20 * HOUR_MS
  expect(await messageOf(invite())).toBe(
    'Five invitations were sent to this address within 24 hours. Ask the person to look for them, or try again in 4 hours.',
  )
  nowMs += 3 * HOUR_MS
  expect(await messageOf(signUp())).toBe(
    'Too many people signed up from your network within 24 hours. Try again in 59 minutes, or ask the operator for an invitation.',
  )
})
