import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Fault } from '../../simulator/faults.ts'
import { errorOf, Management, refusal, textOf } from './management.ts'

let accountId: string
let apiKey: string

const admin = Management.ofEach()
beforeEach(async () => {
  admin.world.simulator.generations.answerUnknownFirst(Number.MAX_SAFE_INTEGER)
  accountId = await admin.account(10_000_000)
  apiKey = (await admin.apiKey(accountId)).text
})

afterEach(() => admin.world.expectExactLedger())

/** The path of a request that ended as the fault has it. */
async function requestAfter(fault: Fault | null): Promise<string> {
  if (fault !== null) admin.world.simulator.script(fault)
  const answer = await admin.chat(apiKey)
  await admin.world.gateway.settled()
  return `/v1/admin/requests/${String(answer.headers['x-request-id'])}`
}

const LOST: Fault = { cut: { at: { afterBytes: 40 }, how: 'reset' } }

async function balanceOf(): Promise<unknown> {
  const { json } = await admin.get(`/v1/admin/accounts/${accountId}`)
  return json['credit']
}

const settle = (path: string, cost: unknown) => admin.post(`${path}/settle`, { cost })

test('a request is shown whole', async () => {
  const path = await requestAfter(null)
  const { json } = await admin.get(path)
  expect(json).toEqual({
    id: path.split('/').at(-1),
    object: 'request',
    account_id: accountId,
    key_id: expect.stringMatching(/^key_/),
    endpoint: 'chat',
    model: 'sim/text',
    stream: false,
    state: 'provisional',
    http_status: 200,
    error_code: null,
    hold: expect.any(Number),
    held: 0,
    charge: expect.any(Number),
    margin: expect.any(Number),
    provider_cost: expect.stringMatching(/^0\.\d+$/),
    uncharged_provider_cost: null,
    fee_basis_points: 500,
    overrun: 0,
    estimated: false,
    usage: expect.objectContaining({ input_tokens: expect.any(Number) }),
    generation_id: expect.any(String),
    upstream: 'openrouter',
    price_snapshot: expect.any(String),
    tags: [],
    opened_at: expect.any(String),
    first_byte_at: expect.any(String),
    ended_at: expect.any(String),
    settled_at: null,
  })
})

test('looking up a request that was refused before it was forwarded says where to find the reason', async () => {
  const body = { model: 'acme/no-such', messages: [{ role: 'user', content: 'Hi' }] }
  const call = { method: 'POST', path: '/v1/chat/completions', body, token: apiKey } as const
  const refused = await admin.call(call)
  const id = String(refused.headers['x-request-id'])
  const { httpStatus, json } = await admin.get(`/v1/admin/requests/${id}`)
  expect(httpStatus).toBe(404)
  const message = `No request has the ID "${id}". A request that was refused before it was forwarded is not stored: its answer says why, and the log of the gateway has its error code.`
  expect(json).toMatchObject({ error: { message } })
})

test('an unresolved request is settled at its cost with the fee, and the rest of its hold is returned', async () => {
  const path = await requestAfter(LOST)
  expect((await admin.get(path)).json).toMatchObject({
    ...{ state: 'unresolved', charge: 0, estimated: false },
  })
  const settled = await settle(path, 2_000)
  expect(settled).toMatchObject({
    httpStatus: 200,
    json: { state: 'final', charge: 2_100, held: 0, provider_cost: '0.002' },
  })
  expect((await admin.get(path)).json).toEqual(settled.json)
  expect(await balanceOf()).toMatchObject({ backed: { balance: 9_997_900, held: 0 } })
})

test('a cost finer than a micro-dollar is settled exactly, as a decimal of dollars', async () => {
  const settled = await settle(await requestAfter(LOST), '0.0000095238')
  expect(settled.json).toMatchObject({ charge: 10, provider_cost: '0.0000095238' })
})

test('a request that cost nothing is settled at zero', async () => {
  const settled = await settle(await requestAfter(LOST), 0)
  expect(settled.json).toMatchObject({ state: 'final', charge: 0, held: 0 })
  expect(await balanceOf()).toMatchObject({ backed: { balance: 10_000_000, held: 0 } })
})

test('a provisional charge is corrected to the cost that an admin knows', async () => {
  const path = await requestAfter(null)
  const charged = Number((await admin.get(path)).json['charge'])
  await settle(path, 1_000)
  const { json } = await admin.get(`/v1/admin/accounts/${accountId}/entries?limit=1`)
  expect(json).toMatchObject({ data: [{ kind: 'correction', amount: charged - 1_050 }] })
})

test('of 20 concurrent settles one succeeds, and the others are refused as already settled', async () => {
  const path = await requestAfter(LOST)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, place) => settle(path, 1_000 * (place + 1))),
  )
  const statuses = answers.map(({ httpStatus }) => httpStatus).sort()
  expect(statuses).toEqual([200, ...new Array(19).fill(409)])
  for (const { httpStatus, json } of answers) {
    if (httpStatus === 409) expect(json).toEqual(errorOf('request_not_settleable'))
  }
})

test('a released request cannot be settled', async () => {
  const path = await requestAfter({ status: 500 })
  expect((await admin.get(path)).json).toMatchObject({ state: 'released' })
  expect(await settle(path, 1_000)).toEqual(refusal(409, 'request_not_settleable'))
  expect(textOf((await admin.get(path)).json, 'state')).toBe('released')
})

test.each([-1, 1.5, '-0.1', '1e400', 'free', '1e12', null, undefined])(
  'the cost %j is refused, and changes nothing',
  async (cost) => {
    const path = await requestAfter(LOST)
    expect(await settle(path, cost)).toEqual(refusal(400, 'invalid_parameter', 'cost'))
    expect(textOf((await admin.get(path)).json, 'state')).toBe('unresolved')
  },
)
