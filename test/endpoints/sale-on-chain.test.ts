import { join } from 'node:path'
import { HDKey, hdKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { saleSettingsOf } from '../../src/app/settings/sale-settings.ts'
import { createLedger } from '../../src/ledger/engines/create-ledger.ts'
import type { PostPurchaseInput } from '../../src/ledger/rules/post-purchase.ts'
import { depositAddresses } from '../../src/sale/chain/addresses.ts'
import { openDeposits } from '../../src/sale/open-deposits.ts'
import { openStore } from '../../src/store/open-store.ts'
import { MINUTE_MS } from '../../src/vocabulary/clock.ts'
import { ANVIL_CHAIN_ID, type Anvil } from '../chain/anvil.ts'
import { SEED, XPUB } from '../chain/deposit-bench.ts'
import { type NodeBetween, TwoNodes } from '../chain/node-between.ts'
import { column, Management, refusal, textOf } from './management.ts'
import { objectAt } from './openapi-reading.ts'

let nodes: TwoNodes
let anvil: Anvil
let one: NodeBetween
let two: NodeBetween
let admin: Management
let usdt: string
let feed: string
/** How far the gateway's clock is ahead. */
let aheadMs = 0
let ids = 0

beforeAll(async () => {
  nodes = await TwoNodes.start()
  ;({ anvil, one, two } = nodes)
  usdt = await anvil.deployToken('USDT', 6)
  feed = await anvil.deployFeed()
  const atS = Math.floor(Date.now() / 1_000)
  await anvil.setFeed(feed, { rate8: 97_000_000n, atS })
  await anvil.mine()
  admin = await Management.start({
    clock: { nowMs: () => Date.now() + aheadMs },
    settings: settings(),
  })
  await look()
})
afterAll(async () => {
  expect(await admin.world.audit()).toMatchObject({ ok: true, differences: [] })
  await admin.close()
  await nodes[Symbol.asyncDispose]()
})
beforeEach(() => {
  aheadMs = 0
  nodes.beHonest()
})

const USDC = `chain-${ANVIL_CHAIN_ID}-usdc`
const USDT = `chain-${ANVIL_CHAIN_ID}-usdt`

const settings = () => ({
  CHAIN_ID: String(ANVIL_CHAIN_ID),
  CHAIN_RPC_URLS: `${one.url},${two.url}`,
  CHAIN_TOKENS: `USDC=${anvil.usdc}:6,USDT=${usdt}:6`,
  CHAIN_DEPOSIT_XPUB: XPUB,
  CHAIN_PRICE_FEEDS: `USDC=1,USDT=${feed}:90000`,
  TOLLGATE_SALE_MINIMUM: '1',
})

const quote = (query: string) => admin.get(`/v1/credit/quote?${query}`, null)

const buy = (apiKey: string | null, body: object) =>
  admin.call({ method: 'POST', path: '/v1/credit/purchases', body, token: apiKey })

const check = () => admin.post('/v1/admin/sale/check?days=1', {})
const storeUrl = () => `sqlite:${join(admin.world.folder, 'store.db')}`

/** Looks at once, as another gateway of the store would; or scans again from a block. */
async function look(fromBlock: number | null = null): Promise<void> {
  const clock = { nowMs: () => Date.now() + aheadMs }
  const { config } = admin.world
  const store = await openStore({ url: storeUrl(), clock })
  const ledger = createLedger({ location: store.location, clock })
  const { db } = store
  const { chain: settings, terms } = saleSettingsOf(config)
  if (settings === null) throw new Error('no chain is configured')
  const opened = openDeposits({ settings, terms, db, clock, onNodeFailure: () => {} })
  const follow = {
    post: (input: PostPurchaseInput) => ledger.postPurchase(input),
    ids: { next: () => `pur_01kbh0c7x5qv3m9t2r8w6e${String(++ids).padStart(4, '0')}` },
    onTokenClosed: () => {},
    onContradicted: () => {},
    onFoundLate: () => {},
    onDust: () => {},
  }
  const watch = opened.watch(follow)
  if (fromBlock !== null) await opened.rescan(follow, fromBlock)
  while ((await watch.look()).kind === 'advanced');
  await ledger.close()
  await store.close()
}

test('each token is an offer; one that is below its floor is not available', async () => {
  const { json } = await admin.get('/v1/credit', null)
  const offer = {
    kind: 'deposit',
    chain_id: ANVIL_CHAIN_ID,
    decimals: 6,
    confirm: 'finalized',
    minimum: 1_000_000,
    fee_bps: 0,
  }
  expect(json['methods']).toEqual([
    {
      ...offer,
      id: USDC,
      token: 'USDC',
      token_address: expect.stringMatching(new RegExp(`^${anvil.usdc}$`, 'i')),
      available: true,
    },
    {
      ...offer,
      id: USDT,
      token: 'USDT',
      token_address: expect.stringMatching(new RegExp(`^${usdt}$`, 'i')),
      available: false,
    },
  ])
})

test('a quote has the amount to send, and an amount below the minimum has no quote', async () => {
  const quoted = await quote(`amount=10000000&method=${USDC}`)
  expect([quoted.httpStatus, quoted.json]).toEqual([
    200,
    {
      object: 'credit_quote',
      method: USDC,
      credit: 10_000_000,
      pay: { currency: 'USDC', amount: '10.000000', units: '10000000' },
      rate: '1',
      fee_bps: 0,
      as_of: expect.any(String),
      binding: false,
    },
  ])
  expect(await quote(`amount=10000000&method=${USDT}`)).toEqual(refusal(502, 'quote_unavailable'))
})

test.each([
  [`method=${USDC}`, 'amount'],
  [`amount=0&method=${USDC}`, 'amount'],
  [`amount=-1&method=${USDC}`, 'amount'],
  [`amount=1e7&method=${USDC}`, 'amount'],
  [`amount=999999&method=${USDC}`, 'amount'],
  [`amount=9007199254740993&method=${USDC}`, 'amount'],
  [`amount=10000000&amount=10000000&method=${USDC}`, 'amount'],
  ['amount=10000000', 'method'],
  [`amount=10000000&method=${USDC}&token=USDC`, 'token'],
])('refuses to quote ?%s', async (query, param) => {
  expect(await quote(query)).toEqual(refusal(400, 'invalid_parameter', param))
})

test.each([
  ['stale', 100_000_000n, -90_001],
  ['zero', 0n, 0],
  ['negative', -1n, 0],
  ['from the future', 100_000_000n, 3_600],
  ['below the floor', 97_999_999n, 0],
])('a rate that is %s is not quoted', async (_, rate8, laterS) => {
  const atS = Math.floor(Date.now() / 1_000)
  await anvil.setFeed(feed, { rate8: 98_000_000n, atS })
  await look()
  expect((await quote(`amount=10000000&method=${USDT}`)).json).toMatchObject({
    pay: { currency: 'USDT', units: '10204082' },
    rate: '0.98',
  })
  await anvil.setFeed(feed, { rate8, atS: atS + laterS })
  await look()
  expect(await quote(`amount=10000000&method=${USDT}`)).toEqual(refusal(502, 'quote_unavailable'))
  expect((await quote(`amount=10000000&method=${USDC}`)).httpStatus).toBe(200)
})

test('a token without a rate is not quoted', async () => {
  const store = await openStore({ url: storeUrl() })
  await store.db.deleteFrom('token_rates').where('token', '=', usdt.toLowerCase()).execute()
  await store.close()
  expect(await quote(`amount=10000000&method=${USDT}`)).toEqual(refusal(502, 'quote_unavailable'))
})

test('refuses any other method', async () => {
  const { apiKey } = await admin.buyer()
  for (const answer of [
    await quote('amount=10000000&method=base-usdc'),
    await buy(apiKey, { method: 'base-usdc' }),
  ]) {
    expect(answer).toEqual(refusal(404, 'not_found', 'method'))
  }
})

test('an account always has the same address, with a link for wallets', async () => {
  const [ada, bob] = [await admin.buyer(), await admin.buyer()]
  const answer = await buy(ada.apiKey, { method: USDC })
  const address = textOf(objectAt(answer.json, 'deposit'), 'address')
  const token = textOf(objectAt(answer.json, 'deposit'), 'token_address')
  expect([answer.httpStatus, answer.json]).toEqual([
    200,
    {
      deposit: {
        address: expect.stringMatching(/^0x[\da-fA-F]{40}$/),
        chain_id: ANVIL_CHAIN_ID,
        token: 'USDC',
        token_address: token,
        minimum: 1_000_000,
        uri: `ethereum:${token}@${ANVIL_CHAIN_ID}/transfer?address=${address}`,
      },
    },
  ])
  expect((await buy(ada.apiKey, { method: USDC })).json).toEqual(answer.json)
  const other = await buy(bob.apiKey, { method: USDC })
  expect(objectAt(other.json, 'deposit')['address']).not.toBe(address)
})

test('an amount for a deposit is refused, and a deposit needs a key', async () => {
  const { apiKey } = await admin.buyer()
  for (const amount of [10_000_000, 0, null]) {
    const refused = await buy(apiKey, { method: USDC, amount })
    expect(refused).toEqual(refusal(400, 'invalid_parameter', 'amount'))
  }
  expect((await buy(null, { method: USDC })).httpStatus).toBe(401)
})

test('a deposit is pending while it confirms, with its transaction, and an entry once it is final', async () => {
  const { accountId, apiKey } = await admin.buyer()
  const { json } = await buy(apiKey, { method: USDC })
  const to = textOf(objectAt(json, 'deposit'), 'address')
  const { transactionHash: hash } = await anvil.transfer({ to, units: 25_000_000n })
  const pending = async () => (await admin.get('/v1/credit/purchases', apiKey)).json['pending']
  await look()
  expect(await pending()).toEqual([
    {
      id: null,
      object: 'purchase',
      method: USDC,
      state: 'confirming',
      credit: 25_000_000,
      reversal: null,
      reversed: 0,
      paid: { currency: 'USDC', units: '25000000', decimals: 6 },
      transaction: { chain_id: ANVIL_CHAIN_ID, hash },
      created_at: expect.any(String),
      credited_at: null,
    },
  ])
  await anvil.mine()
  await look()
  expect(await pending()).toEqual([])
  const bought = await admin.get('/v1/credit/purchases', apiKey)
  expect(bought.json['data']).toMatchObject([{ kind: 'purchase', amount: 25_000_000 }])
  const all = await admin.get(`/v1/admin/purchases?account_id=${accountId}`)
  expect(all.json['data']).toMatchObject([
    { state: 'credited', transaction: { chain_id: ANVIL_CHAIN_ID, hash } },
  ])
})

test('an admin lists the addresses with the derivation paths of their keys', async () => {
  const { accountId, apiKey } = await admin.buyer()
  const { json } = await buy(apiKey, { method: USDC })
  const address = textOf(objectAt(json, 'deposit'), 'address')
  await anvil.transfer({ to: address, units: 25_000_000n })
  await anvil.mine()
  await look()
  const listed = await admin.get(`/v1/admin/sale/addresses?account_id=${accountId}`)
  const [found] = listed.json['data'] as [{ path: string }]
  expect(found).toEqual({
    object: 'deposit_address',
    account_id: accountId,
    chain_id: ANVIL_CHAIN_ID,
    address,
    path: expect.stringMatching(/^\d+\/\d+$/),
    of_key: true,
    deposits: 1,
    created_at: expect.any(String),
  })
  const path = `m/44'/60'/0'/${found.path}` as const
  expect(hdKeyToAccount(HDKey.fromMasterSeed(SEED), { path }).address).toBe(address)
  await buy((await admin.buyer()).apiKey, { method: USDC })
  const addresses = new Set<unknown>()
  for (let next = ''; ; ) {
    const page = await admin.get(`/v1/admin/sale/addresses?limit=1${next}`)
    for (const each of column(page, 'address')) addresses.add(each)
    if (page.json['next_cursor'] === null) break
    next = `&cursor=${page.json['next_cursor']}`
  }
  const all = await admin.get('/v1/admin/sale/addresses?limit=100')
  expect(addresses).toEqual(new Set(column(all, 'address')))
  expect(addresses.size).toBeGreaterThanOrEqual(2)
})

test('a check compares deposits with their receipts, changes nothing, and names each difference and how many could not be compared', async () => {
  const { accountId, apiKey } = await admin.buyer()
  const { json } = await buy(apiKey, { method: USDC })
  await anvil.transfer({ to: textOf(objectAt(json, 'deposit'), 'address'), units: 25_000_000n })
  await anvil.mine()
  await look()
  expect((await check()).json).toMatchObject({ ok: true, differences: [] })
  const store = await openStore({ url: storeUrl() })
  const ofAccount = store.db.updateTable('purchases').where('account_id', '=', accountId)
  await ofAccount.set({ paid_units: '26000000' }).execute()
  expect((await check()).json).toMatchObject({
    ok: false,
    differences: [
      {
        source: expect.stringMatching(/^chain:31337:0x/),
        stored: 'credited, 26000000 USDC',
        found: '25000000 USDC',
      },
    ],
  })
  await ofAccount.set({ paid_units: '25000000', paid_currency: 'GONE' }).execute()
  expect((await check()).json).toMatchObject({ ok: true, skipped: 1, differences: [] })
  await ofAccount.set({ paid_currency: 'USDC' }).execute()
  await store.close()
  two.mode = { kind: 'down' }
  expect(await check()).toEqual(refusal(502, 'payment_unavailable'))
})

test('a check finds a deposit that the store lacks, by the balance of the address', async () => {
  const { accountId, apiKey } = await admin.buyer()
  // As a restored backup: it lacks the address when the deposit arrives.
  const to = depositAddresses(XPUB)(accountId)
  const fromBlock = await anvil.blockNumber()
  await anvil.transfer({ to, units: 3_000_000n })
  await anvil.mine()
  await look()
  await buy(apiKey, { method: USDC })
  const source = `${USDC} of ${accountId}`
  const found = `a balance of 3.000000 USDC at ${to.toLowerCase()}`
  expect((await check()).json).toMatchObject({
    ok: false,
    differences: [{ source, stored: 'deposits of 0.000000 USDC', found }],
  })
  await look(fromBlock)
  expect((await check()).json).toMatchObject({ ok: true, differences: [] })
  await anvil.sweep({ from: to, units: 3_000_000n })
  await anvil.mine()
  await look()
  expect((await check()).json).toMatchObject({ ok: true, differences: [] })
})

test('requests without a key cause no call of a node', async () => {
  const before = one.requests
  const startedMs = performance.now()
  for (let count = 0; count < 300; count++) {
    await admin.get('/v1/credit', null)
    await quote(`amount=10000000&method=${USDC}`)
  }
  // Timed looks continue: one every 15 seconds.
  const looks = 2 + (performance.now() - startedMs) / 15_000
  expect(one.requests - before).toBeLessThan(20 * looks)
  expect(20 * looks).toBeLessThan(600)
})

describe('if no look has succeeded for two minutes', () => {
  beforeEach(() => {
    one.mode = { kind: 'down' }
    aheadMs = 3 * MINUTE_MS
  })

  test('no deposit is offered, quoted or started: 502 chain_unavailable', async () => {
    const { apiKey } = await admin.buyer()
    for (const answer of [
      await admin.get('/v1/credit', null),
      await quote(`amount=10000000&method=${USDC}`),
      await buy(apiKey, { method: USDC }),
    ]) {
      expect(answer).toEqual(refusal(502, 'chain_unavailable'))
    }
  })

  test('if the operator sells another way, the offer says that this one is not available', async () => {
    const both = await Management.start({
      mode: 'simulator',
      settings: { ...settings(), CHAIN_RPC_URLS: 'http://127.0.0.1:9,http://127.0.0.1:9/second' },
    })
    const { httpStatus, json } = await both.get('/v1/credit', null)
    expect(httpStatus).toBe(200)
    expect(json['methods']).toMatchObject([
      { id: 'card', available: true },
      { id: USDC, available: false },
      { id: USDT, available: false },
    ])
    await both.close()
  })
})
