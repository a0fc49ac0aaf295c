import { request } from 'undici'
import { beforeEach, expect, test } from 'vitest'
import { DAY_MS } from '../../src/vocabulary/clock.ts'
import { ADMIN_TOKEN, Management, refusal } from './management.ts'

type Kind = 'Decimal' | 'String' | 'Date/Time'

interface Column {
  readonly kind: Kind
  readonly isNull?: 'may' | 'must'
  readonly allowed?: readonly string[]
}

/** The mandatory columns of FOCUS 1.2: the type, the nulls and the allowed values of each. */
const MANDATORY: Readonly<Record<string, Column>> = {
  BilledCost: { kind: 'Decimal' },
  BillingAccountId: { kind: 'String' },
  BillingAccountName: { kind: 'String', isNull: 'may' },
  BillingCurrency: { kind: 'String', allowed: ['USD'] },
  BillingPeriodEnd: { kind: 'Date/Time' },
  BillingPeriodStart: { kind: 'Date/Time' },
  ChargeCategory: { kind: 'String', allowed: ['Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment'] },
  ChargeClass: { kind: 'String', isNull: 'may', allowed: ['Correction'] },
  ChargeDescription: { kind: 'String', isNull: 'may' },
  ChargePeriodEnd: { kind: 'Date/Time' },
  ChargePeriodStart: { kind: 'Date/Time' },
  ContractedCost: { kind: 'Decimal' },
  EffectiveCost: { kind: 'Decimal' },
  InvoiceIssuerName: { kind: 'String' },
  ListCost: { kind: 'Decimal' },
  PricingQuantity: { kind: 'Decimal', isNull: 'may' },
  PricingUnit: { kind: 'String', isNull: 'may' },
  ProviderName: { kind: 'String' },
  PublisherName: { kind: 'String' },
  ServiceCategory: { kind: 'String', allowed: ['AI and Machine Learning'] },
  ServiceName: { kind: 'String' },
}

const RECOMMENDED: Readonly<Record<string, Column>> = {
  ChargeFrequency: { kind: 'String', allowed: ['One-Time', 'Recurring', 'Usage-Based'] },
  ServiceSubcategory: { kind: 'String', allowed: ['Generative AI'] },
}

/** Columns that a provider with usage figures, unit prices, sub accounts or tags must have. */
const CONDITIONAL: Readonly<Record<string, Column>> = {
  ConsumedQuantity: { kind: 'Decimal', isNull: 'may' },
  ConsumedUnit: { kind: 'String', isNull: 'may' },
  SkuId: { kind: 'String', isNull: 'may' },
  SkuMeter: { kind: 'String', isNull: 'may' },
  SkuPriceId: { kind: 'String', isNull: 'may' },
  SubAccountId: { kind: 'String', isNull: 'may' },
  SubAccountName: { kind: 'String', isNull: 'may' },
  Tags: { kind: 'String', isNull: 'may' },
}

const COLUMNS = { ...MANDATORY, ...RECOMMENDED, ...CONDITIONAL }

const FORMATS: Readonly<Record<Kind, RegExp>> = {
  Decimal: /^-?\d+(\.\d+)?$/,
  String: /\S/,
  'Date/Time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
}

const START_MS = Date.UTC(2027, 0, 30, 22, 30)
const RANGE = 'from=2027-01-01&to=2027-03-01'

let nowMs: number

beforeEach(() => {
  nowMs = START_MS
})
const admin = Management.ofEach({
  clock: { nowMs: () => nowMs },
  settings: { TOLLGATE_PRICES_STALE_AFTER_MS: String(30 * DAY_MS) },
})

type Row = ReadonlyMap<string, string>

async function focus(query: string): Promise<{ readonly head: string[]; readonly rows: Row[] }> {
  const answer = await request(admin.world.url(`/v1/admin/usage?format=focus&${query}`), {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  expect(answer.headers['content-type']).toMatch(/^text\/csv/)
  const lines = (await answer.body.text()).split('\r\n')
  expect(lines.pop()).toBe('')
  const [head = [], ...rows] = lines.map(cellsOf)
  return {
    head,
    rows: rows.map((cells) => new Map(head.map((name, at) => [name, cells[at] ?? '']))),
  }
}

/** The cells of a line without line breaks inside of them. */
function cellsOf(line: string): string[] {
  const cells = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)]
  return cells.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '')
}

/** A decimal in pico-dollars. */
function picosOf(text = ''): bigint {
  const [, sign = '', whole = '', places = ''] = /^(-?)(\d+)(?:\.(\d{1,12}))?$/.exec(text) ?? []
  return BigInt(`${sign}${whole}${places.padEnd(12, '0')}`)
}

function sumOf(rows: readonly Row[], column: string): bigint {
  return rows.reduce((sum, row) => sum + picosOf(row.get(column)), 0n)
}

async function send(apiKey: string, path: string, body: object): Promise<number> {
  const answer = await request(admin.world.url(path), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'x-service-tags': 'nightly' },
    body: JSON.stringify(body),
  })
  await answer.body.dump()
  await admin.world.gateway.settled()
  return answer.statusCode
}

const CHAT = {
  model: 'sim/text',
  max_tokens: 16,
  messages: [{ role: 'user', content: 'Say hello.' }],
}

/** Requests of two accounts in two months: paid, on free credit, of several formats, and one that failed. */
async function makeRequests() {
  const paid = await admin.account(10_000_000)
  const free = await admin.account()
  const gift = { kind: 'free', amount: 50_000, expires_at: '2999-01-01T00:00:00Z', reference: 'x' }
  await admin.post(`/v1/admin/accounts/${free}/credit`, gift)
  await admin.patch(`/v1/admin/accounts/${free}`, { name: 'A team, "east"' })
  const [paidKey, freeKey] = [await admin.apiKey(paid), await admin.apiKey(free)]
  for (const days of [0, 3]) {
    nowMs = START_MS + days * DAY_MS
    expect(await send(freeKey.text, '/v1/chat/completions', { ...CHAT, model: 'sim/open' })).toBe(
      200,
    )
    expect(await send(paidKey.text, '/v1/chat/completions', CHAT)).toBe(200)
    expect(await send(paidKey.text, '/v1/embeddings', { model: 'sim/embed', input: 'Hello' })).toBe(
      200,
    )
    expect(await send(paidKey.text, '/v1/images', { model: 'sim/image', prompt: 'x' })).toBe(200)
    admin.world.simulator.script({ status: 500 })
    expect(await send(paidKey.text, '/v1/chat/completions', CHAT)).toBe(502)
  }
  return { paid, free, paidKey, freeKey }
}

test('each row has every mandatory column of FOCUS 1.2, with its type and only allowed values', async () => {
  await makeRequests()
  const { head, rows } = await focus(RANGE)
  expect(head.filter((name) => !name.startsWith('x_'))).toEqual(Object.keys(COLUMNS).toSorted())
  expect(
    head.slice(Object.keys(COLUMNS).length).every((name) => /^x_[A-Z][A-Za-z]+$/.test(name)),
  ).toBe(true)
  expect(new Set(rows.map((row) => row.get('ChargeCategory')))).toEqual(
    new Set(['Usage', 'Credit']),
  )
  for (const row of rows) {
    for (const [name, { kind, isNull, allowed }] of Object.entries(COLUMNS)) {
      const value = row.get(name) ?? ''
      if (value === '' && isNull !== undefined) continue
      expect([name, value]).toEqual([name, expect.stringMatching(FORMATS[kind])])
      if (allowed !== undefined) expect(allowed).toContain(value)
    }
  }
})

test('only rows of usage have figures of usage, and each quantity has a unit', async () => {
  await makeRequests()
  const { rows } = await focus(RANGE)
  for (const row of rows) {
    const isUsage = row.get('ChargeCategory') === 'Usage'
    for (const name of ['PricingQuantity', 'PricingUnit', 'ConsumedQuantity', 'ConsumedUnit']) {
      expect([name, row.get(name) !== '']).toEqual([name, isUsage])
    }
    if (!isUsage) expect(row.get('x_ProviderCost')).toBe('')
  }
  const quantities = rows.map((row) => `${row.get('SkuId')} ${row.get('PricingUnit')}`)
  expect(quantities).toContain('sim/text Tokens')
})

test.each(['day', 'month'])('rows by %s add up to the exact sums of the report', async (by) => {
  const { paid, free } = await makeRequests()
  for (const filter of ['', `&account=${paid}`, `&account=${free}`, '&model=sim/embed']) {
    const { rows } = await focus(`${RANGE}&by=${by}${filter}`)
    const { json } = await admin.get(`/v1/admin/usage?${RANGE}&by=${by}${filter}`)
    const totals = json['totals'] as unknown as Record<string, number>
    const usage = rows.filter((row) => row.get('ChargeCategory') === 'Usage')
    const credit = rows.filter((row) => row.get('ChargeCategory') === 'Credit')
    const picos = (name: string) => BigInt(totals[name] ?? Number.NaN) * 1_000_000n
    for (const cost of ['BilledCost', 'EffectiveCost', 'ListCost', 'ContractedCost']) {
      expect(sumOf(rows, cost)).toBe(picos('backed_charge'))
      expect(sumOf(usage, cost)).toBe(picos('charge'))
      expect(sumOf(credit, cost)).toBe(-picos('free_charge'))
    }
    const cost = sumOf(usage, 'x_ProviderCost')
    expect((cost + 500_000n) / 1_000_000n).toBe(BigInt(totals['cost'] ?? Number.NaN))
    expect(sumOf(usage, 'ConsumedQuantity') / 10n ** 12n).toBe(BigInt(totals['requests'] ?? 0))
    expect(sumOf(usage, 'x_OutputTokens') / 10n ** 12n).toBe(BigInt(totals['output_tokens'] ?? 0))
  }
})

test('a row is of one day or month, account, key, endpoint, upstream and model', async () => {
  const { free, freeKey } = await makeRequests()
  const { rows } = await focus(`${RANGE}&account=${free}`)
  const places = [
    'ChargePeriodStart',
    'ChargePeriodEnd',
    'BillingPeriodStart',
    'BillingPeriodEnd',
    'BillingAccountId',
    'BillingAccountName',
    'SubAccountId',
    'SubAccountName',
    'PublisherName',
    'SkuId',
    'x_Endpoint',
    'x_Upstream',
    'ChargeCategory',
  ]
  const [first] = rows
  expect(places.map((name) => first?.get(name))).toEqual([
    '2027-01-30T00:00:00Z',
    '2027-01-31T00:00:00Z',
    '2027-01-01T00:00:00Z',
    '2027-02-01T00:00:00Z',
    free,
    'A team, "east"',
    freeKey.id,
    'test',
    'sim',
    'sim/open',
    'chat',
    'openrouter',
    'Usage',
  ])
  const days = await focus(`${RANGE}&time_zone=Europe/Berlin`)
  expect(days.rows[0]?.get('ChargePeriodStart')).toBe('2027-01-29T23:00:00Z')
  const months = await focus(`${RANGE}&by=month`)
  expect(new Set(months.rows.map((row) => row.get('ChargePeriodEnd')))).toEqual(
    new Set(['2027-02-01T00:00:00Z', '2027-03-01T00:00:00Z']),
  )
})

test('groups and steps without FOCUS columns are refused, and keys have no FOCUS format', async () => {
  for (const [query, param] of [
    ['by=model', 'by'],
    ['by=day&step=day', 'step'],
    ['by=day&sort=charged', 'sort'],
  ] as const) {
    const answer = await admin.get(`/v1/admin/usage?format=focus&${query}`)
    expect(answer).toEqual(refusal(400, 'invalid_parameter', param))
  }
  const { text } = await admin.apiKey(await admin.account())
  const answer = await admin.get('/v1/usage?format=focus', text)
  expect(answer).toEqual(refusal(400, 'invalid_parameter', 'format'))
})
