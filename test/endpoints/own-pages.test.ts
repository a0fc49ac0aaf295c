import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Fault } from '../../simulator/faults.ts'
import { errorOf, Management, textOf } from './management.ts'

/** The answers to a key about itself and its account. */

const SETTLE_AFTER_MS = 86_400_000
const LOST: Fault = { cut: { at: { afterBytes: 40 }, how: 'reset' } }

let nowMs: number
let admin: Management
let accountId: string
let keyId: string
let apiKey: string

beforeEach(async () => {
  nowMs = Date.now()
  admin = await Management.start({ clock: { nowMs: () => nowMs } })
  admin.world.simulator.generations.answerUnknownFirst(Number.MAX_SAFE_INTEGER)
  accountId = await admin.account(10_000_000)
  const made = await admin.apiKey(accountId)
  keyId = made.id
  apiKey = made.text
})
afterEach(() => admin.close())

const own = async (path: string) => (await admin.get(path, apiKey)).json

async function grantFree(amountMicros: number, expires_at: string): Promise<void> {
  const body = { kind: 'free', amount: amountMicros, expires_at, reference: 'gift' }
  expect((await admin.post(`/v1/admin/accounts/${accountId}/credit`, body)).httpStatus).toBe(201)
}

test('a key sees its limit, its spend and its usable credit, with free credit separately', async () => {
  const expires_at = new Date(nowMs + 60_000).toISOString()
  await grantFree(3_000, expires_at)
  await admin.patch(`/v1/admin/keys/${keyId}`, { credit_limit: 2_000_000, expires_at: null })
  await admin.chat(apiKey)
  await admin.world.gateway.settled()
  const { spend } = (await admin.get(`/v1/admin/keys/${keyId}`)).json
  const spent = Number(spend)
  expect(spent).toBeGreaterThan(0)
  const seen = {
    id: keyId,
    object: 'key',
    name: 'test',
    prefix: expect.stringMatching(/^sk-tollgate-.{3}….{4}$/),
    disabled: false,
    state: 'active',
    models: null,
    expires_at: null,
    previous_expires_at: null,
    credit_limit: 2_000_000,
    credit_limit_remaining: 2_000_000 - spent,
    spend: spent,
    held: 0,
    allowance: null,
    limits: { requests_per_minute: null, in_flight: null, tokens_per_minute: null },
    default_limits: { requests_per_minute: 300, in_flight: 8 },
    credit_available: 10_000_000 - spent,
    free_credit_available: 3_000,
    free_credit_expires_at: expires_at,
    data: expect.objectContaining({
      limit: 2,
      limit_remaining: (2_000_000 - spent) / 1_000_000,
      limit_reset: null,
      usage: spent / 1_000_000,
      is_free_tier: false,
      workspace_id: accountId,
    }),
  }
  expect(await own('/v1/key')).toEqual(seen)
  nowMs += 60_000
  expect(await own('/v1/key')).toEqual({ ...seen, free_credit_available: 0 })
})

test('a key without a limit has a remainder of null, and a key at its limit a remainder of zero', async () => {
  expect(await own('/v1/key')).toMatchObject({ credit_limit: null, credit_limit_remaining: null })
  await admin.chat(apiKey)
  await admin.world.gateway.settled()
  await admin.patch(`/v1/admin/keys/${keyId}`, { credit_limit: 1 })
  expect(await own('/v1/key')).toMatchObject({ credit_limit: 1, credit_limit_remaining: 0 })
})

test('a balance has paid credit, free credit and their total, and no running or unresolved requests', async () => {
  const expires_at = new Date(nowMs + 60_000).toISOString()
  await grantFree(3_000, expires_at)
  const backed = { balance: 10_000_000, held: 0, available: 10_000_000 }
  expect(await own('/v1/balance')).toEqual({
    object: 'balance',
    account_id: accountId,
    credit: { backed, free: { balance: 3_000, held: 0, available: 3_000, expires_at } },
    total: { balance: 10_003_000, held: 0, available: 10_003_000 },
    has_backed_credit: true,
    running: { requests: 0, held: 0 },
    estimated: { requests: 0, held: 0 },
    unresolved: { requests: 0, held: 0, next_release_at: null },
  })
})

test('a balance counts the running requests that hold credit', async () => {
  const { simulator, gateway } = admin.world
  simulator.script({ hold: 'beforeHeaders', times: 2 })
  const answers = [admin.chat(apiKey), admin.chat(apiKey)]
  await simulator.gate().arrived(2)
  const { total, running, unresolved } = await own('/v1/balance')
  expect(running).toEqual({ requests: 2, held: expect.any(Number) })
  expect(total).toMatchObject({ held: (running as { readonly held: number }).held })
  expect(unresolved).toMatchObject({ requests: 0 })
  simulator.gate().release()
  await Promise.all(answers)
  await gateway.settled()
  expect(await own('/v1/balance')).toMatchObject({ running: { requests: 0, held: 0 } })
})

test('a balance shows unresolved requests, and when the first is released', async () => {
  const startedAtMs = nowMs
  const holds: number[] = []
  for (let lost = 0; lost < 2; lost++) {
    admin.world.simulator.script(LOST)
    const { headers } = await admin.chat(apiKey)
    await admin.world.gateway.settled()
    const { json } = await admin.get(`/v1/admin/requests/${String(headers['x-request-id'])}`)
    expect(textOf(json, 'state')).toBe('unresolved')
    holds.push(Number(json['held']))
    nowMs += 1_000
  }
  const held = holds.reduce((sum, each) => sum + each)
  expect(await own('/v1/balance')).toMatchObject({
    credit: { backed: { balance: 10_000_000, held, available: 10_000_000 - held } },
    total: { held },
    running: { requests: 0, held: 0 },
    unresolved: {
      requests: 2,
      held,
      next_release_at: new Date(startedAtMs + SETTLE_AFTER_MS).toISOString(),
    },
  })
})

test('purchases are bought and redeemed credit, without credit that was given or removed', async () => {
  await grantFree(3_000, new Date(nowMs + 60_000).toISOString())
  await admin.credit(accountId, { amountMicros: -5, reference: 'back' })
  await admin.credit(accountId, { amountMicros: 25, reference: 'invoice-2' })
  const made = await admin.post('/v1/admin/codes', { amount: 7 })
  const body = { code: textOf(made.json, 'code') }
  await admin.post(`/v1/admin/accounts/${accountId}/redeem`, body)
  await admin.chat(apiKey)
  expect(await own('/v1/credit/purchases')).toMatchObject({
    object: 'list',
    data: [
      { kind: 'activation', amount: 7, reference: textOf(made.json, 'id') },
      { kind: 'top_up', amount: 25, reference: 'invoice-2' },
      { kind: 'top_up', amount: 10_000_000, reference: 'first' },
    ],
    has_more: false,
    next_cursor: null,
    pending: [],
  })
})

test('no account sees data of another account', async () => {
  const other = await admin.account()
  const { text } = await admin.apiKey(other)
  expect((await admin.get('/v1/balance', text)).json).toMatchObject({
    account_id: other,
    total: { balance: 0 },
    has_backed_credit: false,
  })
  expect((await admin.get('/v1/credit/purchases', text)).json).toMatchObject({ data: [] })
})

test('reads do not count against limits of requests', async () => {
  const limited = await Management.start({ settings: { TOLLGATE_REQUESTS_PER_MINUTE: '1' } })
  const { text } = await limited.apiKey(await limited.account(1_000_000))
  for (let read = 0; read < 50; read++) {
    expect((await limited.get('/v1/key', text)).httpStatus).toBe(200)
  }
  expect((await limited.chat(text)).httpStatus).toBe(200)
  expect((await limited.chat(text)).json).toEqual(errorOf('rate_limited'))
  expect((await limited.get('/v1/balance', text)).httpStatus).toBe(200)
  await limited.close()
})
