import { beforeAll, describe, expect, test } from 'vitest'
import { micros } from '../../src/vocabulary/money.ts'
import { noonClock, type TestAccount, worldOfFile } from '../world.ts'
import { type Browser, errorOf, inviteGuest, setUpOperator } from './page-client.ts'

let account: TestAccount
let browser: Browser

const noon = noonClock()
let stoppedMs: number | null = null
const clock = { nowMs: () => stoppedMs ?? noon.nowMs() }

const world = worldOfFile({ clock })
beforeAll(async () => {
  account = await world.account({ apiKeys: 2 })
  await setUpOperator(world)
  const guest = { email: 'eve@example.org', accountId: account.id, role: 'member' } as const
  browser = await inviteGuest(world, guest)
  for (const model of ['sim/text', 'sim/text', 'sim/open']) await chat(model)
  await world.gateway.settled()
})

async function chat(model: string): Promise<void> {
  const answer = await world.chat(account.apiKey, { model })
  await answer.text()
}

function overview(query = '') {
  return browser.get(`accounts/${account.id}/overview${query}`)
}

/** Names as the API has them. */
type EntryAnswer = Readonly<Record<'amount', number> & Record<'kind', string>>
type SeriesAnswer = Readonly<Record<'charge', number> & Record<'charges', readonly number[]>>

/** The sum of the account's charges, as its entries have them. */
async function chargedMicros(): Promise<number> {
  const { json } = await browser.get(`accounts/${account.id}/entries?limit=100`)
  const entries = json['data'] as readonly EntryAnswer[]
  return -entries
    .filter(({ kind }) => kind === 'charge' || kind === 'correction')
    .reduce((sum, entry) => sum + entry.amount, 0)
}

describe('the overview', () => {
  test.each(['model', 'key', 'endpoint'])('by %s equals the sum of the entries', async (by) => {
    const { httpStatus, json } = await overview(`?by=${by}`)
    expect(httpStatus).toBe(200)
    const charged = await chargedMicros()
    expect(charged).toBeGreaterThan(0)
    const { figures, spend, keys, step } = Object(json)
    expect(figures).toMatchObject({ charge: charged, failed: 0 })
    expect(step).toBe('day')
    const series = spend.series as readonly SeriesAnswer[]
    expect(series.reduce((sum, one) => sum + one.charge, 0)).toBe(charged)
    for (const one of series) {
      expect(one.charges).toHaveLength(spend.steps.length)
      expect(one.charges.reduce((sum, each) => sum + each, 0)).toBe(one.charge)
    }
    expect(keys).toEqual([expect.objectContaining({ name: 'test 0', charge: charged })])
  })

  test('shows paid, free and held credit, and no forecast for an account younger than a day', async () => {
    const { json } = await overview()
    const balance = await browser.get(`accounts/${account.id}/balance`)
    const { credit, before, history } = Object(json)
    expect(credit).toMatchObject({
      ...Object(balance.json['credit']),
      has_backed_credit: true,
      held_running: { requests: 0, amount: 0 },
      held_estimated: { requests: 0, amount: 0 },
      held_unresolved: { requests: 0, amount: 0, next_release_at: null },
      recent_charge: await chargedMicros(),
      days_left: null,
    })
    expect(before).toMatchObject({ requests: 0, charge: 0, first_byte_ms_p50: null })
    expect(history.complete).toBe(true)
  })

  test('is of the last 30 UTC days, including today, by default', async () => {
    const { json } = await overview()
    const today = Math.floor(clock.nowMs() / 86_400_000)
    const days = [...Array(30).keys()].map((at) =>
      new Date((today - 29 + at) * 86_400_000).toISOString(),
    )
    expect(json['from']).toBe(days[0])
    expect(Object(json['spend']).steps).toEqual(days)
  })

  test('is by hour if the range is two days or less', async () => {
    const from = new Date(clock.nowMs() - 24 * 60 * 60_000).toISOString()
    const { json } = await overview(`?from=${from}`)
    expect(json['step']).toBe('hour')
    expect(Object(json['spend']).steps.length).toBeGreaterThanOrEqual(24)
  })

  test.each([
    ['?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'from'],
    ['?from=2020-01-01T00:00:00Z', 'from'],
    ['?from=yesterday', 'from'],
    ['?by=user', 'by'],
  ])('refuses %s', async (query, param) => {
    expect(errorOf(await overview(query))).toEqual({
      httpStatus: 400,
      code: 'invalid_parameter',
      param,
    })
  })

  test('lists keys that near their limit or expiry, and reports missing credit', async () => {
    const poor = await world.account({ creditMicros: 0 })
    const guest = { email: 'poor@example.org', accountId: poor.id, role: 'owner' } as const
    const owner = await inviteGuest(world, guest)
    const expires_at = new Date(clock.nowMs() + 60_000).toISOString()
    const path = `accounts/${poor.id}/keys`
    await owner.post(path, { name: 'spent', credit_limit: 0 })
    await owner.post(path, { name: 'expiring', expires_at })
    const off = await owner.post(path, { name: 'off', expires_at })
    await owner.call('PATCH', `${path}/${off.json['id']}`, { body: { disabled: true } })
    const { json } = await owner.get(`accounts/${poor.id}/overview`)
    expect(json['attention']).toEqual([
      { kind: 'no_credit', owed: 0 },
      expect.objectContaining({ kind: 'key_expires', name: 'expiring', expires_at }),
      expect.objectContaining({ kind: 'key_limit', name: 'spent', remaining: 0, days_left: null }),
    ])
  })
})

describe('Activity', () => {
  const list = (query: string) => browser.get(`accounts/${account.id}/requests?${query}`)

  test('is filtered by any of several values', async () => {
    const models = async (query: string) => {
      const rows = (await list(query)).json['data'] as readonly { readonly model: string }[]
      return rows.map(({ model }) => model).sort()
    }
    const all = await models('')
    expect(all).toHaveLength(3)
    expect(await models('model=sim/text')).toEqual(['sim/text', 'sim/text'])
    expect(await models('model=sim/text,sim/open')).toEqual(all)
    expect(await models('state=final,provisional&failed=false&endpoint=chat')).toEqual(all)
    expect(await models('failed=true')).toEqual([])
    expect(await models('endpoint=messages')).toEqual([])
  })

  test.each([
    ['state=final,lost', 'state'],
    ['key=key_1,acct_1', 'key'],
    [`model=${'a,'.repeat(60)}a`, 'model'],
    ['failed=maybe', 'failed'],
  ])('refuses the filter %s', async (query, param) => {
    expect(errorOf(await list(query))).toEqual({
      httpStatus: 400,
      code: 'invalid_parameter',
      param,
    })
  })

  const summary = (query = '') => browser.get(`accounts/${account.id}/requests/summary${query}`)

  test('is counted over time, with the charges of its entries', async () => {
    const { httpStatus, json } = await summary()
    expect(httpStatus).toBe(200)
    expect(json).toMatchObject({ requests: 3, failed: 0, charge: await chargedMicros(), held: 0 })
    const steps = json['steps'] as readonly { readonly requests: number }[]
    expect(steps).toHaveLength(60)
    expect(steps.reduce((sum, { requests }) => sum + requests, 0)).toBe(3)
    expect((await summary('?model=sim/open')).json).toMatchObject({ requests: 1 })
    expect((await summary('?failed=true')).json).toMatchObject({ requests: 0, charge: 0 })
  })

  const daysAgo = (days: number) => new Date(clock.nowMs() - days * 86_400_000).toISOString()

  test('is counted over more than a day by model, key, endpoint and error', async () => {
    const month = (await summary(`?since=${daysAgo(30)}`)).json
    expect(month).toMatchObject({ requests: 3, failed: 0, charge: await chargedMicros() })
    const steps = month['steps'] as readonly { readonly requests: number }[]
    expect(steps.length).toBeGreaterThanOrEqual(30)
    expect(steps.reduce((sum, { requests }) => sum + requests, 0)).toBe(3)
    const counted = async (filter: string) =>
      (await summary(`?since=${daysAgo(30)}&${filter}`)).json['requests']
    expect(await counted('model=sim/open')).toBe(1)
    expect(await counted('model=sim/open&endpoint=messages')).toBe(0)
    expect(await counted('failed=false&endpoint=chat,messages')).toBe(3)
    expect(await counted('key=key_unknown')).toBe(0)
    expect((await summary(`?since=${daysAgo(30)}&failed=true`)).json).toMatchObject({
      requests: 0,
      charge: null,
    })
  })

  test('is counted over more than a day in whole UTC days, because roll-ups have days for each key', async () => {
    const { json } = await summary('?since=2026-01-02T15:04:05Z&until=2026-03-01T06:00:00Z')
    const ats = (json['steps'] as readonly { readonly at: string }[]).map(({ at }) => at)
    expect(json['from']).toBe('2026-01-02T00:00:00.000Z')
    expect(ats.filter((at) => !at.endsWith('T00:00:00.000Z'))).toEqual([])
  })

  test.each(['since=2024-01-01T00:00:00Z', 'since=2099-01-01T00:00:00Z'])(
    'is not counted over more than 400 days, nor backwards: %s',
    async (query) => {
      expect(errorOf(await summary(`?${query}`))).toEqual({
        httpStatus: 400,
        code: 'invalid_parameter',
        param: 'since',
      })
    },
  )

  test.each(['state=final', 'tag=nightly'])(
    'is not counted over more than a day by %s, because roll-ups do not have it',
    async (filter) => {
      const refused = await summary(`?since=${daysAgo(2)}&${filter}`)
      expect(errorOf(refused)).toMatchObject({ httpStatus: 400, param: 'since' })
      expect(refused.text).toContain('24 hours')
    },
  )
})

test('free credit alone has no forecast, and is not low while most of it is left', async () => {
  const given = await world.account({ creditMicros: 0 })
  await world.gateway.ledger.addCredit({
    accountId: given.id,
    purse: 'free',
    amountMicros: micros(10_000_000),
    expiresAtMs: clock.nowMs() + 30 * 86_400_000,
    reference: 'gift',
  })
  await (await world.chat(given.apiKey, { model: 'sim/open' })).text()
  await world.gateway.settled()
  const guest = { email: 'given@example.org', accountId: given.id, role: 'member' } as const
  const member = await inviteGuest(world, guest)
  stoppedMs = clock.nowMs() + 2 * 86_400_000
  const { credit, attention } = Object((await member.get(`accounts/${given.id}/overview`)).json)
  expect(credit.free.balance).toBe(10_000_000 - credit.recent_charge)
  expect(credit.recent_charge).toBeGreaterThan(0)
  expect(credit.days_left).toBe(null)
  expect(attention).toEqual([])
})

test('an account in debt that has free credit left reports its debt', async () => {
  const owing = await world.account({ creditMicros: 0 })
  const credit = { accountId: owing.id, reference: 'gift' }
  const free = { purse: 'free', amountMicros: micros(5_000_000) } as const
  const expiresAtMs = clock.nowMs() + 30 * 86_400_000
  await world.gateway.ledger.addCredit({ ...credit, ...free, expiresAtMs })
  const removed = { purse: 'backed', amountMicros: micros(-2_000_000), reference: 'taken' } as const
  await world.gateway.ledger.addCredit({ ...credit, ...removed, expiresAtMs: null })
  const guest = { email: 'owing@example.org', accountId: owing.id, role: 'member' } as const
  const member = await inviteGuest(world, guest)
  const { json } = await member.get(`accounts/${owing.id}/overview`)
  expect(json['attention']).toEqual([{ kind: 'no_credit', owed: 2_000_000 }])
})

test('the forecast of credit uses the charges since the account was opened, from its second day on', async () => {
  const { json } = await browser.get(`accounts/${account.id}`)
  stoppedMs = Date.parse(String(json['created_at'])) + 2 * 86_400_000
  const { credit } = Object((await overview()).json)
  const days = credit.available / (credit.recent_charge / 2)
  expect(credit.days_left).toBe(Math.floor(days * 10) / 10)
})
