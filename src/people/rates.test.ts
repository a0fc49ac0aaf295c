import { expect, test } from 'vitest'
import { openStore } from '../store/open-store.ts'
import { MADE_DATABASES } from '../store/testing/test-databases.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import { Problem } from '../vocabulary/problem.ts'
import { SignInAttempts } from './attempts.ts'
import { countInvitation } from './mail-rates.ts'

const OVER = 6

test.each(MADE_DATABASES)(
  'on $engine counts from a time when the clock was far ahead end after the clock is set back',
  async ({ create }) => {
    const database = await create()
    const { db, close } = await openStore({ url: database.url })
    const rightMs = Date.now()
    let nowMs = rightMs + 365 * DAY_MS
    const clock = { nowMs: () => nowMs }
    const attempts = new SignInAttempts({ db, clock })
    const codeOf = (work: Promise<unknown>) =>
      work.then(
        () => null,
        (error: Problem) => error.code,
      )
    const guess = () =>
      codeOf(
        attempts.run(
          { address: '192.0.2.1', email: 'ada@example.org' },
          { check: async () => null, wrong: new Problem('invalid_sign_in') },
        ),
      )
    const invite = () =>
      codeOf(countInvitation({ db, clock }, { email: 'bob@example.org', accountId: 'acct_1' }))
    for (let times = 1; times < OVER; times++) await Promise.all([guess(), invite()])
    expect([await guess(), await invite()]).toEqual(['rate_limited', 'rate_limited'])
    nowMs = rightMs
    expect([await guess(), await invite()]).toEqual(['invalid_sign_in', null])
    await close()
    await database.remove()
  },
)
