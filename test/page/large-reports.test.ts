import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { DAY_MS } from '../../src/vocabulary/clock.ts'
import { firstIdOf } from '../../src/vocabulary/ids.ts'
import { noonClock, type TestAccount, worldOfFile } from '../world.ts'
import { type Browser, inviteGuest, setUpOperator } from './page-client.ts'

const KEYS = 60
const DAYS = 390
const TAGGED = 3_000

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
  await sql`insert into usage_hours (hour, account_id, model_id, endpoint, upstream, requests)
    ${days} select day * 24 + 12, ${account.id}, 'sim/' || place, 'chat', 'openrouter', 1
    from days cross join keys`.execute(db)
  await sql`insert into usage_rolled (step, number, requests, rolled_at_ms)
    ${days} select 'day', day, ${KEYS}, 0 from days`.execute(db)
  await sql`insert into usage_rolled (step, number, requests, rolled_at_ms)
    ${days}, hours(hour) as (select 0 union all select hour + 1 from hours where hour < 23)
    select 'hour', day * 24 + hour, case hour when 12 then ${KEYS} else 0 end, 0
    from days cross join hours`.execute(db)
}

/** Makes requests of all of the days, each with three tags that no other has. */
async function tagRequests(): Promise<void> {
  const { db } = world.gateway.store
  for (let place = 0; place < TAGGED; place++) {
    const openedAtMs = (today - DAYS) * DAY_MS + Math.floor((place / TAGGED) * DAYS * DAY_MS)
    const tags = JSON.stringify([1, 2, 3].map((tag) => `tag ${place} ${tag}`))
    await sql`insert into requests (id, account_id, api_key_id, instance_id, endpoint, model_id, upstream, stream, state, price_snapshot_id, opened_at_ms, tags)
      values (${`${firstIdOf({ prefix: 'req', timeMs: openedAtMs })}0000000000000000`}, ${account.id}, (select id from api_keys where account_id = ${account.id}), 'inst', 'chat', 'sim/text', 'openrouter', 0, 'final', 'price', ${openedAtMs}, ${tags})`.execute(
      db,
    )
  }
}

/** Reads the usage of the last days. */
function report(
  days: number,
  { format = 'csv', ...query }: Readonly<Record<string, string>> = { by: 'key', step: 'day' },
) {
  const from = new Date((today - days) * DAY_MS).toISOString()
  const search = new URLSearchParams({ ...query, from, format })
  return browser.get(`accounts/${account.id}/usage/report?${search}`)
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

/** The least of three results: a collection of garbage, which may come at any time, is not in all of them. */
async function leastOfThree(measure: () => Promise<number>): Promise<number> {
  return Math.min(await measure(), await measure(), await measure())
}

function usedMicros(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

test('a large report is refused to members as JSON, and has all of its rows as CSV', async () => {
  const refused = await report(DAYS, { by: 'key', step: 'day', format: 'json' })
  expect(refused.httpStatus).toBe(400)
  expect(refused.text).toContain('more than 20,000 rows')
  const { httpStatus, text } = await report(DAYS)
  expect(httpStatus).toBe(200)
  // With a heading and the totals.
  const lines = text.trimEnd().split('\r\n')
  expect(lines).toHaveLength(1 + DAYS * KEYS + 1)
  expect(lines.at(-1)).toMatch(`total,,,${DAYS * KEYS},`)
})

test.each([
  ['key and day', { by: 'key', step: 'day' }, DAYS * KEYS],
  [
    'model and day of a time zone',
    { by: 'model', step: 'day', time_zone: 'Europe/Berlin' },
    DAYS * KEYS,
  ],
  // The last row is that of requests without tags.
  ['tag', { by: 'tag' }, TAGGED * 3 + 1],
])(
  'a report by %s of thirteen times as many rows does not keep other requests waiting longer',
  async (_, query, rows) => {
    if (query.by === 'tag') await tagRequests()
    const { httpStatus, text } = await report(DAYS, query)
    expect([httpStatus, text.split('\r\n').length]).toEqual([200, rows + 3])
    const small = await leastOfThree(() => longestTurn(report(DAYS / 13, query)))
    const large = await leastOfThree(() => longestTurn(report(DAYS, query)))
    expect(large).toBeLessThan(small * 8)
  },
)
