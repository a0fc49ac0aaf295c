import { beforeAll, describe, expect, test } from 'vitest'
import { noonClock, type TestAccount, worldOfFile } from '../world.ts'
import { type Browser, errorOf, inviteGuest, microsOf, setUpOperator } from './page-client.ts'

let account: TestAccount
let browser: Browser
let operator: Browser

const clock = noonClock()

const world = worldOfFile({ clock })
beforeAll(async () => {
  account = await world.account({ apiKeys: 2 })
  operator = await setUpOperator(world)
  const guest = { email: 'eve@example.org', accountId: account.id, role: 'member' } as const
  browser = await inviteGuest(world, guest)
  const [one = '', other = ''] = account.apiKeys
  for (const [apiKey, model] of [
    [one, 'sim/text'],
    [one, 'sim/open'],
    [other, 'sim/text'],
  ] as const) {
    await chat(apiKey, model)
  }
  await world.gateway.settled()
})

async function chat(apiKey: string, model: string): Promise<void> {
  const answer = await fetch(world.url('/v1/chat/completions'), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      ...(model === 'sim/open' ? { 'x-service-tags': 'nightly, team-two' } : {}),
    },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello.' }] }),
  })
  await answer.text()
}

const read = (path: string) => browser.get(`accounts/${account.id}/${path}`)

const yesterday = () => new Date(clock.nowMs() - 24 * 60 * 60_000).toISOString()

/** Names as the API has them. */
type Figures = Readonly<Record<'requests' | 'failed' | 'charge' | 'output_tokens', number>>
type Group = Readonly<Record<'id' | 'name', string> & Record<'figures', Figures>>

/** The sum of the account's charges in micro-dollars, as its entries have them. */
async function chargedMicros(): Promise<number> {
  const entries = (await read('entries?limit=100')).json['data'] as readonly Readonly<
    Record<'amount', number> & Record<'kind', string>
  >[]
  return -entries
    .filter(({ kind }) => kind === 'charge' || kind === 'correction')
    .reduce((sum, { amount }) => sum + amount, 0)
}

/** The cells of lines without quotes. */
function cellsOf(text: string): readonly (readonly string[])[] {
  return text
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','))
}

describe('usage by tag', () => {
  test('counts a request for each of its tags, and once in the total, as in the entries', async () => {
    const { httpStatus, json } = await read('usage/report?by=tag')
    expect(httpStatus).toBe(200)
    const { totals, data } = Object(json)
    expect(totals).toMatchObject({ requests: 3, charge: await chargedMicros() })
    expect(data.map(({ id, figures }: Group) => [id, figures.requests])).toEqual([
      ['nightly', 1],
      ['team-two', 1],
      [null, 2],
    ])
    const [nightly, , untagged] = data as readonly Group[]
    expect((nightly?.figures.charge ?? 0) + (untagged?.figures.charge ?? 0)).toBe(totals.charge)
  })

  test('is downloaded as CSV in exact dollars', async () => {
    const { text, headers } = await read('usage/report?by=tag&format=csv')
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const rows = cellsOf(text)
    expect(rows.map(([tag = '']) => tag)).toEqual(
      expect.arrayContaining(['tag', 'nightly', 'team-two', 'total']),
    )
    const chargeAt = rows[0]?.indexOf('charge') ?? -1
    expect(microsOf(rows.at(-1)?.[chargeAt] ?? '')).toBe(await chargedMicros())
  })

  test('has only requests of the account', async () => {
    const other = await world.account()
    const { httpStatus } = await browser.get(`accounts/${other.id}/usage/report?by=tag`)
    expect(httpStatus).toBe(404)
  })
})

describe.each(['model', 'key', 'endpoint'])('usage by %s', (by) => {
  test.each(['day', 'hour'])('by %s equals the entries in every sum', async (step) => {
    const { httpStatus, json } = await read(`usage?from=${yesterday()}&by=${by}&step=${step}`)
    expect(httpStatus).toBe(200)
    const { figures, groups, series, all, steps, others } = Object(json)
    const charged = await chargedMicros()
    expect(charged).toBeGreaterThan(0)
    expect(figures).toMatchObject({ charge: charged, requests: 3, failed: 0 })
    expect(figures.first_byte_ms_p50).toBeGreaterThanOrEqual(0)
    const sum = (some: readonly Pick<Figures, 'charge'>[]) =>
      some.reduce((total, { charge }) => total + charge, 0)
    expect(sum(groups.map((group: Group) => group.figures))).toBe(charged)
    expect(all).toHaveLength(steps.length)
    expect(sum(all)).toBe(charged)
    expect(sum(series.flatMap((one: { readonly steps: readonly Figures[] }) => one.steps))).toBe(
      charged,
    )
    expect(others).toBeNull()
  })

  test('as CSV adds up to the entries, to the micro-dollar', async () => {
    const { text, headers } = await read(`usage.csv?by=${by}`)
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const [head = [], ...rows] = cellsOf(text)
    expect(head.slice(0, 3)).toEqual(['utc_day', by, 'name'])
    const column = (name: string) => rows.map((row) => row[head.indexOf(name)] ?? '')
    expect(column('charge').reduce((sum, dollars) => sum + microsOf(dollars), 0)).toBe(
      await chargedMicros(),
    )
    expect(column('requests').reduce((sum, requests) => sum + Number(requests), 0)).toBe(3)
  })
})

test.each(['day', 'hour'])(
  'the CSV by %s has cost and margin for operators, and for no customer',
  async (step) => {
    const path = `accounts/${account.id}/usage.csv?by=key&step=${step}&from=${yesterday()}`
    const { text, httpStatus } = await operator.get(`operator/${path}`)
    expect(httpStatus).toBe(200)
    const [head = [], ...rows] = cellsOf(text)
    const sum = (name: string) =>
      rows.reduce((total, row) => total + microsOf(row[head.indexOf(name)] ?? ''), 0)
    const { totals } = Object(
      (await operator.get(`operator/usage/report?by=key&account=${account.id}`)).json,
    )
    expect(totals.cost).toBeGreaterThan(0)
    expect([sum('charge'), sum('cost'), sum('margin')]).toEqual([
      ...[totals.charge, totals.cost, totals.margin],
    ])
    const own = cellsOf((await browser.get(path)).text)[0]
    expect(own?.filter((name) => /cost|margin|backed|free|written/.test(name))).toEqual([])
    expect((await browser.get(`operator/${path}`)).httpStatus).toBe(404)
  },
)

test('a month is selected by its dates, has the sums of its CSV, and is compared with the month before', async () => {
  const now = new Date(clock.nowMs())
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  const from = new Date(Date.UTC(year, month)).toISOString()
  const to = new Date(Date.UTC(year, month + 1)).toISOString()
  const monthBefore = new Date(Date.UTC(year, month - 1)).toISOString()
  const charged = await chargedMicros()
  for (const [step, head] of [
    ['day', 'utc_day'],
    ['month', 'utc_month'],
  ]) {
    const query = `from=${from}&to=${to}&step=${step}`
    const { json } = await read(`usage?${query}&compare=before`)
    expect(json).toMatchObject({ from, to, step, figures: { charge: charged } })
    expect(json['before']).toMatchObject({ requests: 0, charge: 0 })
    expect(json['compared']).toMatchObject({ from: monthBefore, to: from, groups: [] })
    const [heads = [], ...rows] = cellsOf((await read(`usage.csv?${query}`)).text)
    expect(heads[0]).toBe(head)
    const at = heads.indexOf('charge')
    expect(rows.reduce((sum, row) => sum + microsOf(row[at] ?? ''), 0)).toBe(charged)
  }
  const { json } = await read(`usage?from=${from}&to=${to}&compare=year`)
  expect(json['compared']).toMatchObject({
    from: new Date(Date.UTC(year - 1, month)).toISOString(),
  })
  expect((await read('usage')).json['compared']).toBeNull()
})

test('keys have their names in usage, even if they are deleted or the name looks like a formula', async () => {
  const { json } = await browser.post(`accounts/${account.id}/keys`, { name: '=1+1' })
  await chat(String(json['key']), 'sim/text')
  await world.gateway.settled()
  const path = `accounts/${account.id}/keys/${json['id']}`
  await browser.call('DELETE', path, { body: {} })
  const usage = await read('usage?by=key')
  expect(usage.json['groups']).toContainEqual(
    expect.objectContaining({
      id: json['id'],
      name: '=1+1',
      prefix: json['prefix'],
      deleted: true,
    }),
  )
  expect((await read('usage.csv?by=key')).text).toContain(`,${json['id']},'=1+1,1,0,`)
})

test.each([
  ['by=user', 'by'],
  ['step=minute', 'step'],
  ['compare=never', 'compare'],
  ['from=2025-01-01T00:00:00Z&to=2026-02-05T00:00:00Z', null],
  ['from=2025-01-01T00:00:00Z&to=2026-02-06T00:00:00Z', 'from'],
  ['from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'from'],
  [`step=hour&from=${new Date(clock.nowMs() - 13 * 24 * 3_600_000).toISOString()}`, null],
  ['step=hour&by=key', 'step'],
  ['step=hour&by=model&from=2026-01-01T00:00:00Z&to=2026-01-16T00:00:00Z', 'step'],
])('the refusal of usage?%s names only the faulty parameters: %s', async (query, param) => {
  for (const path of ['usage', 'usage.csv']) {
    const answer = await read(`${path}?${query}`)
    if (param === null) expect(answer.httpStatus).toBe(200)
    else expect(errorOf(answer)).toEqual({ httpStatus: 400, code: 'invalid_parameter', param })
  }
})
