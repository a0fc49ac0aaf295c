import { beforeEach, describe, expect, test } from 'vitest'
import { getApiKey } from '../../src/ledger/api-keys.ts'
import { micros } from '../../src/vocabulary/money.ts'
import { type TestAccount, worldOfEach } from '../world.ts'
import { type Browser, errorOf, inviteGuest, setUpOperator } from './page-client.ts'

/** The estimated hold of a message in the Playground, requested while it is typed. */

const CHAT = {
  model: 'sim/text',
  messages: [{ role: 'user', content: 'How long is the coast?' }],
  max_tokens: 50,
}

let account: TestAccount
let member: Browser

const world = worldOfEach()
beforeEach(async () => {
  account = await world.account()
  await setUpOperator(world)
  member = await guest('member@example.org', account)
})

const guest = (email: string, { id: accountId }: TestAccount) =>
  inviteGuest(world, { email, accountId, role: 'member' })

function estimate(browser: Browser, body: unknown, format?: string) {
  const query = format === undefined ? '' : `?format=${format}`
  return browser.call('POST', `accounts/${account.id}/playground/estimate${query}`, { body })
}

/** The hold of the newest request of the account. */
async function heldByJourney(format: string, body: object): Promise<unknown> {
  const answer = await member.post(`accounts/${account.id}/playground/${format}`, body)
  expect(answer.httpStatus).toBe(200)
  await world.gateway.settled()
  const path = `accounts/${account.id}/requests/${answer.headers.get('x-request-id')}`
  return (await member.get(path)).json['hold']
}

/** How many rows the tables have that a request or its key would write. */
async function rowCounts(): Promise<unknown> {
  const { db } = world.gateway.store
  const counts = ['requests', 'api_keys', 'entries', 'operator_actions'] as const
  return Promise.all(counts.map(async (table) => db.selectFrom(table).selectAll().execute()))
}

function allowanceOf(amountMicros: number) {
  return {
    allowanceMicros: micros(amountMicros),
    allowancePeriod: 'month',
    allowanceTimeZone: 'UTC',
  } as const
}

describe('an estimate', () => {
  const messages = { messages: CHAT.messages, max_tokens: 50 }
  test.each([
    ['chat', CHAT],
    ['chat', { ...CHAT, max_tokens: 4_000, stream: true }],
    ['messages', { model: 'sim/text', ...messages }],
    ['responses', { model: 'sim/text', input: 'Hello.', max_output_tokens: 50, store: false }],
  ])('of %s equals the hold of a request with the same body', async (format, body) => {
    const { json, httpStatus } = await estimate(member, body, format)
    expect(httpStatus).toBe(200)
    expect(json['hold']).toBe(await heldByJourney(format, body))
  })

  test('has the fee of the account', async () => {
    const before = await estimate(member, CHAT)
    await world.gateway.ledger.updateAccount({ id: account.id, feeBasisPoints: 10_000 }, null)
    const after = await estimate(member, CHAT)
    expect(after.json['hold']).toBeGreaterThan(Number(before.json['hold']))
    expect(after.json['hold']).toBe(await heldByJourney('chat', CHAT))
  })

  test('opens no hold, creates no key, and sends and stores nothing', async () => {
    const before = await rowCounts()
    expect((await estimate(member, CHAT)).httpStatus).toBe(200)
    expect(await rowCounts()).toEqual(before)
    expect(world.simulator.requests.filter(({ isInference }) => isInference)).toEqual([])
    expect(world.log.join('\n')).not.toContain('coast')
  })

  test('of more than the available credit is the smallest amount that the request needs', async () => {
    account = await world.account({ creditMicros: 10 })
    member = await guest('poor@example.org', account)
    const { json } = await estimate(member, CHAT)
    expect(json['available']).toBe(10)
    const refused = await member.post(`accounts/${account.id}/playground/chat`, CHAT)
    const needed = /needs a hold of \$([\d.]+)/.exec(refused.text)?.[1]
    expect(json['hold']).toBe(Math.round(Number(needed) * 1_000_000))
  })

  test('of a body without a cap is the available credit if a request would lower the cap', async () => {
    account = await world.account({ creditMicros: 2_000 })
    member = await guest('little@example.org', account)
    const { max_tokens: _, ...uncapped } = CHAT
    const { json } = await estimate(member, uncapped)
    expect(json).toMatchObject({ hold: 2_000, available: 2_000 })
    expect(await heldByJourney('chat', uncapped)).toBe(2_000)
  })

  test("of a body without a cap is the rest of an allowance and of the key's limit", async () => {
    const { max_tokens: _, ...uncapped } = CHAT
    const { ledger } = world.gateway
    await ledger.updateAccount({ id: account.id, allowance: allowanceOf(1_000) }, null)
    expect((await estimate(member, uncapped)).json).toMatchObject({ hold: 1_000, available: 1_000 })
    expect(await heldByJourney('chat', uncapped)).toBe(1_000)
    await ledger.updateAccount({ id: account.id, allowance: null }, null)
    const { json } = await member.get(`accounts/${account.id}/keys`)
    const keys = json['data'] as readonly { readonly id: string; readonly name: string }[]
    const { id = '' } = keys.find(({ name }) => name === 'Playground') ?? {}
    const key = await getApiKey(world.gateway.store.db, id)
    await ledger.updateApiKey(
      { id, creditLimitMicros: micros((key?.spendMicros ?? 0) + 700) },
      null,
    )
    expect((await estimate(member, uncapped)).json['hold']).toBe(700)
    expect(await heldByJourney('chat', uncapped)).toBe(700)
  })

  test('in a new period has the whole allowance of the account, before a request has begun it', async () => {
    const { ledger, store } = world.gateway
    await ledger.updateAccount({ id: account.id, allowance: allowanceOf(1_000) }, null)
    const ended = { period_starts_at_ms: 0, period_ends_at_ms: 1, period_unused_from_ms: 1 }
    await store.db
      .updateTable('accounts')
      .set({ ...ended, period_spend_micros: 999 })
      .where('id', '=', account.id)
      .execute()
    expect((await estimate(member, CHAT)).json).toMatchObject({ available: 1_000 })
  })
})

describe('is refused', () => {
  test.each([
    ['{', 400, 'invalid_json'],
    ['{"model":"sim/none","messages":[]}', 404, 'model_not_found'],
    ['{"model":"sim/text","messages":1}', 400, 'invalid_parameter'],
  ])('the body %s', async (body, httpStatus, code) => {
    expect(errorOf(await estimate(member, body))).toMatchObject({ httpStatus, code })
  })

  test('another format, another account, and a model that the account may not use', async () => {
    expect(errorOf(await estimate(member, CHAT, 'images'))).toMatchObject({ httpStatus: 400 })
    const stranger = await guest('stranger@example.org', await world.account())
    expect(errorOf(await estimate(stranger, CHAT))).toMatchObject({ httpStatus: 404 })
    await world.gateway.ledger.updateAccount({ id: account.id, modelsAllow: ['sim/open'] }, null)
    const denied = await estimate(member, CHAT)
    expect(errorOf(denied)).toMatchObject({ httpStatus: 403, code: 'model_not_allowed' })
  })
})

test('a member with the maximum of estimates delays neither another member nor a request', async () => {
  const content = 'word '.repeat(600_000)
  const large = { ...CHAT, messages: [{ role: 'user', content }] }
  const modest = await guest('modest@example.org', account)
  const order: string[] = []
  const noted = async <T>(name: string, answer: Promise<T>): Promise<T> => {
    const answered = await answer
    order.push(name)
    return answered
  }
  const greedy = Array.from({ length: 8 }, () => noted('greedy', estimate(member, large)))
  await Promise.race(greedy)
  await noted('modest', estimate(modest, CHAT))
  await noted('request', modest.post(`accounts/${account.id}/playground/chat`, CHAT))
  expect(order.filter((name) => name === 'greedy').length).toBeLessThan(8)
  const answers = await Promise.all(greedy)
  expect(new Set(answers.map(({ httpStatus }) => httpStatus))).toEqual(new Set([200]))
})
