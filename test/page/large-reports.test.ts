import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { DAY_MS } from '../../src/vocabulary/clock.ts'
import { noonClock, type TestAccount, worldOfFile } from '../world.ts'
import { type Browser, inviteGuest, setUpOperator } from './page-client.ts'

const KEYS = 60
const DAYS = 390

let account: TestAccount
let browser: Browser

const clock = noonClock()
const today = Math.floor(clock.nowMs() / DAY_MS)

const world = worldOfFile({ clock })
beforeAll(async () => {
  account = await world.account()
  await setUpOperator(world)
  const guest = { email: 'eve@example.org', accountId: account.id, role: 'member' } as const
  browser = await inviteGuest(world, guest)
  await rollUp()
})

/** Rolls up days in which each key of the account was used. */
async function rollUp(): Promise<void> {
  const { db } = world.gateway.store
  const days = sql`with recursive
    days(day) as (select ${today - DAYS} union all select day + 1 from days where day < ${today - 1}),
    keys(place) as (select 1 union all select place + 1 from keys where place < ${KEYS})`
  await sql`insert into usage_days (day, account_id, api_key_id, model_id, endpoint, upstream, requests)
    ${days} select day, ${account.id}, 'key_' || place, 'sim/text', 'chat', 'openrouter', 1
    from days cross join keys`.execute(db)
  await sql`insert into usage_rolled (step, number, requests, rolled_at_ms)
    ${days} select 'day', day, ${KEYS}, 0 from days`.execute(db)
}

/** Reads the usage of each key on each of the last days. */
function report(days: number, format: 'csv' | 'json') {
  const from = new Date((today - days) * DAY_MS).toISOString()
  const query = new URLSearchParams({ by: 'key', step: 'day', from, format })
  return browser.get(`accounts/${account.id}/usage/report?${query}`)
}

/** The longest time of the thread's processor, in microseconds, in which no other request could be served. */
async function longestTurn(work: Promise<unknown>): Promise<number> {
  let isOver = false
  const ended = work.finally(() => {
    isOver = true
  })
  let [longest, before] = [0, usedMicros()]
  while (!isOver) {
    await new Promise((resolve) => setImmediate(resolve))
    const now = usedMicros()
    longest = Math.max(longest, now - before)
    before = now
  }
  await ended
  return longest
}

function usedMicros(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

test('a large report is refused to members as JSON, and has all of its rows as CSV', async () => {
  const refused = await report(DAYS, 'json')
  expect(refused.httpStatus).toBe(400)
  expect(refused.text).toContain('more than 20,000 rows')
  const { httpStatus, text } = await report(DAYS, 'csv')
  expect(httpStatus).toBe(200)
  // With a heading and the totals.
  const lines = text.trimEnd().split('\r\n')
  expect(lines).toHaveLength(1 + DAYS * KEYS + 1)
  expect(lines.at(-1)).toMatch(`total,,,${DAYS * KEYS},`)
})

test('a report of thirteen times as many rows does not keep other requests waiting longer', async () => {
  await report(DAYS, 'csv')
  const small: number[] = []
  const large: number[] = []
  // The best of several: garbage is collected in some of them.
  for (let round = 0; round < 4; round++) {
    small.push(await longestTurn(report(DAYS / 13, 'csv')))
    large.push(await longestTurn(report(DAYS, 'csv')))
  }
  expect(Math.min(...large)).toBeLessThan(Math.min(...small) * 8)
})
