import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { OPERATOR_ONLY } from '../../src/operations/customer-fields.ts'
import { describedOperations } from '../../src/operations/operations.ts'
import { pricingWithFee } from '../../src/upstreams/listing/pricing.ts'
import { ADA, type Browser, inviteGuest, setUpOperator } from '../page/page-client.ts'
import { type TestAccount, worldOfFile } from '../world.ts'

const UPSTREAM = 'hidden-vendor'

// Written here as well as in the product, whose list would otherwise be compared with itself.
const PROMISED = [
  'backed_charge',
  'cost',
  'external_id',
  'fee_basis_points',
  'free_charge',
  'generation_id',
  'margin',
  'price_snapshot',
  'provider_cost',
  'provider_price',
  'provider_pricing',
  'uncharged_cost',
  'uncharged_provider_cost',
  'uncosted',
  'upstream',
  'written_off',
]
const HIDDEN: ReadonlySet<string> = new Set([...OPERATOR_ONLY, ...PROMISED])

let account: TestAccount
let member: Browser
let operator: Browser
let requestId: string
let params: Readonly<Record<string, string>>

const world = worldOfFile({
  mode: 'simulator',
  configured: (usual) => ({ ...usual, upstreams: [{ ...usual.upstreams[0], name: UPSTREAM }] }),
})
beforeAll(async () => {
  account = await world.account()
  operator = await setUpOperator(world)
  const guest = { email: 'lin@example.org', accountId: account.id, role: 'owner' } as const
  member = await inviteGuest(world, guest)
  const changes = { fee_basis_points: 1_234, external_id: 'crm-7', name: 'Helix Lab' }
  await operator.call('PATCH', `operator/accounts/${account.id}`, { body: changes })
  const answer = await world.chat(account.apiKey)
  await answer.text()
  requestId = String(answer.headers.get('x-request-id'))
  await world.gateway.settled()
  const keys = await member.get(`accounts/${account.id}/keys`)
  const [first] = Object(keys.json)['data']
  const purchaseId = await world.purchase(account.id, { kind: 'credit' })
  params = {
    ...{ account_id: account.id, request_id: requestId },
    ...{ key_id: String(first.id), purchase_id: purchaseId },
  }
})

/** The names of all members of a JSON value, or of all properties of a schema. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [name, ...namesIn(member)])
}

/** All texts in a JSON value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsIn)
}

/** The prices above zero of a list of models, as their texts. */
function pricesIn(list: unknown, field: 'pricing' | 'provider_pricing'): Set<string> {
  const models: readonly object[] = Object(list)['data']
  const texts = models.flatMap((model) => textsIn(Object(model)[field]))
  return new Set(texts.filter((text) => /^[\d.]*[1-9]/.test(text)))
}

/** Fields of operators in a value. */
function hiddenIn(value: unknown): string[] {
  return namesIn(value).filter((name) => HIDDEN.has(name))
}

// Operations describe their input and answers before they have a store.
const ALL = describedOperations()

describe('a customer reads no field of operators', () => {
  const surfaces = ALL.flatMap((operation) =>
    (['key', 'anyone', 'member'] as const).flatMap((kind) =>
      operation.paths[kind] === undefined ? [] : [{ name: operation.name, kind, operation }],
    ),
  )

  test.each(surfaces)('in the shape of $name for $kind', ({ operation, kind }) => {
    for (const shape of Object.values(operation.answersTo(kind))) {
      expect(hiddenIn(z.toJSONSchema(shape, { io: 'output' }))).toEqual([])
    }
  })

  test('in any response that the document describes for keys or for anyone', async () => {
    const document: unknown = await (await fetch(world.url('/openapi.json'))).json()
    const { paths, components } = Object(document)
    const withRefs = (value: unknown): unknown => {
      const text = JSON.stringify(value)
      const names = [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name)
      return [value, names.map((name) => withRefs(components.schemas[String(name)]))]
    }
    const seen: string[] = []
    for (const [path, methods] of Object.entries(Object(paths))) {
      if (path.startsWith('/v1/admin')) continue
      for (const described of Object.values(Object(methods))) {
        const { operationId, responses } = Object(described)
        seen.push(operationId)
        expect({ operationId, hidden: hiddenIn(withRefs(responses)) }).toEqual({
          operationId,
          hidden: [],
        })
      }
    }
    expect(seen).toContain('listKeyRequests')
  })
})

/** Paths of what a customer reads, with the account's own ids. */
function readPaths(kind: 'key' | 'anyone' | 'member'): string[] {
  return ALL.flatMap(({ method, paths }) => {
    const path: string | undefined = method === 'GET' ? paths[kind] : undefined
    const filled = path?.replace(/\{(\w+)\}/g, (whole, name) => params[String(name)] ?? whole)
    if (filled?.includes('{')) throw new Error(`no ID fills ${filled}`)
    return filled ?? []
  })
}

const REPORT_GROUPS = ['day', 'month', 'model', 'key', 'endpoint', 'tag']
const CHART_GROUPS = ['model', 'key', 'endpoint']

/** A report by each of its groups, as JSON and as CSV. */
function reports(path: string): string[] {
  const grouped = REPORT_GROUPS.map((by) => `${path}?by=${by}`)
  return [...grouped, ...grouped.map((each) => `${each}&format=csv`)]
}

/** The columns of a CSV that only operators read. */
function hiddenColumns(csv: string): string[] {
  const columns = csv.split('\r\n')[0]?.split(',') ?? []
  expect(columns.length).toBeGreaterThan(3)
  return columns.filter((column) => HIDDEN.has(column))
}

/** The query that a path needs. */
function queryOf(path: string): string {
  if (path === '/v1/generation') return `?id=${requestId}`
  return path === '/v1/credit/quote' ? '?method=card&amount=25000000' : ''
}

describe('customers read neither an upstream nor a field of operators', () => {
  test('by key, or without one', async () => {
    const own = [...readPaths('key'), ...reports('/v1/usage')]
    const paths = [...own, ...readPaths('anyone'), '/v1', '/v1/models']
    for (const path of paths.map((one) => `${one}${queryOf(one)}`)) {
      const headers = { authorization: `Bearer ${account.apiKey}` }
      for (const accept of ['application/json', 'text/csv']) {
        const answer = await fetch(world.url(path), { headers: { ...headers, accept } })
        const text = await answer.text()
        expect([answer.status, text], path).toEqual([200, expect.not.stringContaining(UPSTREAM)])
        const isCsv = answer.headers.get('content-type')?.includes('csv')
        const hidden = isCsv ? hiddenColumns(text) : hiddenIn(JSON.parse(text))
        expect({ path, hidden }).toEqual({ path, hidden: [] })
      }
    }
    expect(paths).toContain('/v1/requests')
  })

  test('as a member on the page, and in its downloads', async () => {
    const usage = `accounts/${account.id}/usage`
    const paths = [
      ...readPaths('member').map((path) => path.replace('/app/api/', '')),
      ...reports(`${usage}/report`),
      ...CHART_GROUPS.flatMap((by) => [`${usage}?by=${by}`, `${usage}.csv?by=${by}`]),
    ]
    const receipt = await member.get(
      `accounts/${account.id}/purchases/${params['purchase_id']}/receipt`,
    )
    expect(receipt.json).toMatchObject({ purchase: { credit: 25_000_000 } })
    for (const path of paths) {
      const { httpStatus, headers, json, text } = await member.get(path)
      // The way to the payment page of a purchase that is paid.
      const expected = path.endsWith('/page') ? 409 : 200
      expect([httpStatus, text], path).toEqual([expected, expect.not.stringContaining(UPSTREAM)])
      const isCsv = headers.get('content-type')?.includes('csv')
      const hidden = isCsv ? hiddenColumns(text) : hiddenIn(json)
      expect({ path, hidden }).toEqual({ path, hidden: [] })
    }
    expect(paths).toContain(`accounts/${account.id}/requests/${requestId}`)
  })

  test('among the changes by operators in the account', async () => {
    const { json, text } = await member.get(`accounts/${account.id}/actions`)
    expect(Object(json)['data']).toContainEqual(
      expect.objectContaining({ action: 'changeAccount', detail: { name: 'Helix Lab' } }),
    )
    expect(text).not.toMatch(new RegExp(`1234|crm-7|${ADA.email}|Ada`))
  })
})

describe("the provider's prices", () => {
  test('are in no answer of the page to a member, who reads the charged prices', async () => {
    const provider = pricesIn((await operator.get('operator/models')).json, 'provider_pricing')
    expect(provider.size).toBeGreaterThan(5)
    for (const path of readPaths('member').map((one) => one.replace('/app/api/', ''))) {
      const { json } = await member.get(path)
      const shown = textsIn(json).filter((text) => provider.has(text))
      expect({ path, shown }).toEqual({ path, shown: [] })
    }
  })

  test("are the basis of an account's prices, with its own fee", async () => {
    const { json } = await member.get(`accounts/${account.id}/models`)
    const byKey = await fetch(world.url('/v1/models'), {
      headers: { authorization: `Bearer ${account.apiKey}` },
    })
    const { data: listed }: { data: { id: string; charged_pricing: object }[] } = Object(
      await byKey.json(),
    )
    const charged: { id: string; pricing: object }[] = Object(json)['data']
    // The flat price of an image is in no list of a provider.
    const listedAlone = ({ image_flat: _, ...pricing }: Record<string, unknown>) => pricing
    expect(charged.map(({ id, pricing }) => [id, listedAlone({ ...pricing })])).toEqual(
      listed.map(({ id, charged_pricing }) => [id, charged_pricing]),
    )
    const provider = pricesIn({ data: listed }, 'pricing')
    const [price] = pricesIn(json, 'pricing')
    expect(provider.has(String(price))).toBe(false)
  })

  test('have the highest flat price of an image, with the fee for members and without for operators', async () => {
    const pricingOf = (json: unknown, field: string) =>
      Object(Object(json)['data'].find(({ id }: { id: string }) => id === 'sim/image-flat'))[field]
    const { json: own } = await member.get(`accounts/${account.id}/models`)
    const { json: offered } = await operator.get('operator/models')
    expect(pricingOf(offered, 'provider_pricing')).toMatchObject({ image_flat: '0.1' })
    expect(pricingOf(offered, 'pricing')).toMatchObject({ image_flat: '0.105' })
    expect(pricingOf(own, 'pricing')['image_flat']).toMatch(/^0\.1\d*$/)
    expect(pricingOf(own, 'pricing')['image_flat']).not.toBe('0.1')
  })

  test('are read by operators, with the fee and the charged prices', async () => {
    const { json } = await operator.get('operator/models')
    const text = Object(json)['data'].find(({ id }: { id: string }) => id === 'sim/text')
    expect(text).toMatchObject({ upstream: UPSTREAM, fee_basis_points: 500, doubted: false })
    const { pricing, provider_pricing: provider } = text
    expect(pricing).toEqual(pricingWithFee(provider, 500))
    expect((await member.get('operator/models')).httpStatus).toBe(404)
  })
})

test('an account that may use only some models reads only those', async () => {
  const narrow = await world.account()
  await world.gateway.ledger.updateAccount({ id: narrow.id, modelsAllow: ['sim/text'] }, null)
  const { json } = await operator.get(`accounts/${narrow.id}/models`)
  expect(Object(json)['data']).toMatchObject([{ id: 'sim/text' }])
})

test('operators read fields that customers do not', async () => {
  const { json } = await operator.get(`operator/requests/${requestId}`)
  expect(json).toMatchObject({ upstream: UPSTREAM, fee_basis_points: 1_234 })
  const { provider_cost: cost, charge, margin } = Object(json)
  expect(margin).toBe(charge - Math.round(Number(cost) * 1_000_000))
  const csv = await operator.get('operator/requests.csv')
  expect(csv.text).toContain(UPSTREAM)
})
