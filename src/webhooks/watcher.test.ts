import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { holdInput, runScript } from '../ledger/testing/script.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { HOUR_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import { micros } from '../vocabulary/money.ts'
import { endConditions, raiseConditions } from './conditions.ts'
import { eventsSoFar } from './testing/events.ts'
import { makeWebhook, watcherOf } from './testing/watch.ts'

let bench: StoreBench
let references = 0

const watcher = (upstreams = ['near', 'far']) => watcherOf(bench, upstreams)

const events = () => eventsSoFar(bench.db)

/** The clock moves, so that credit comes after earlier changes. */
async function credit(accountId: string, amountMicros: number): Promise<void> {
  bench.nowMs += 1
  await bench.ledger.addCredit({
    accountId,
    purse: 'backed',
    amountMicros: micros(amountMicros),
    expiresAtMs: null,
    reference: `reference ${++references}`,
  })
}

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
    bench.nowMs = Date.parse('2027-01-01')
    await bench.createAccount('acct_1')
    await bench.createApiKey('key_1', 'acct_1')
  })
  afterEach(() => bench.close())

  test('an account is reported low once, and again only after its credit was above the amount', async () => {
    await makeWebhook(bench)
    const looks = [watcher(), watcher()]
    const look = () => Promise.all(looks.map((each) => each.look()))
    await look()
    expect(await events()).toEqual([])
    await credit('acct_1', 5_000_000)
    await look()
    expect(await events()).toEqual([])
    await credit('acct_1', -1)
    const low = { account_id: 'acct_1', balance: 4_999_999, low_balance: 5_000_000 }
    await look()
    await credit('acct_1', -1)
    await look()
    expect(await events()).toEqual([['balance.low', low]])
    await credit('acct_1', 2)
    await look()
    await credit('acct_1', -1)
    await look()
    expect(await events()).toEqual([
      ['balance.low', low],
      ['balance.low', low],
    ])
  })

  test('each account can have its own amount below which it is low', async () => {
    await makeWebhook(bench)
    await credit('acct_1', 4_000_000)
    await bench.ledger.updateAccount({ id: 'acct_1', lowBalanceMicros: micros(1_000_000) })
    await watcher().look()
    expect(await events()).toEqual([])
    await bench.ledger.updateAccount({ id: 'acct_1', lowBalanceMicros: micros(4_000_001) })
    await watcher().look()
    expect(await events()).toMatchObject([['balance.low', { low_balance: 4_000_001 }]])
    await bench.ledger.updateAccount({ id: 'acct_1', lowBalanceMicros: micros(0) })
    await credit('acct_1', -4_000_001)
    await watcher().look()
    await watcher().look()
    expect(await events()).toMatchObject([['balance.low', {}]])
  })

  test('low credit from before a webhook was created is not sent to it', async () => {
    await credit('acct_1', 1_000_000)
    bench.nowMs += 1
    await makeWebhook(bench)
    await watcher().look()
    expect(await events()).toEqual([])
    await credit('acct_1', 9_000_000)
    await watcher().look()
    await credit('acct_1', -9_000_000)
    await watcher().look()
    expect(await events()).toMatchObject([['balance.low', { balance: 1_000_000 }]])
  })

  test('a key is near its limit at nine tenths of it, whichever process ended the request', async () => {
    await bench.setApiKey('key_1', { creditLimitMicros: micros(1_000) })
    await credit('acct_1', 9_000_000)
    await makeWebhook(bench)
    const spend = async (spendMicros: number) => {
      bench.nowMs += 1
      await bench.db.updateTable('api_keys').set({ spend_micros: spendMicros }).execute()
      await hold(`req_${bench.nowMs}`)
    }
    await spend(899)
    const looking = watcher()
    await looking.look()
    expect(await events()).toEqual([])
    await spend(900)
    looking.noticed({ accountId: 'acct_1', apiKeyId: 'key_1' })
    await looking.look()
    await looking.look()
    expect(await events()).toEqual([
      [
        'key.limit_near',
        { key_id: 'key_1', account_id: 'acct_1', spend: 900, credit_limit: 1_000 },
      ],
    ])
    await bench.setApiKey('key_1', { creditLimitMicros: micros(2_000) })
    await looking.look()
    await spend(1_800)
    await watcher().look()
    expect((await events()).length).toBe(1)
    bench.nowMs += HOUR_MS
    await watcher().look()
    expect((await events()).slice(1)).toMatchObject([
      ['key.limit_near', { spend: 1_800, credit_limit: 2_000 }],
    ])
  })

  test('a key is reported near its allowance once in each period, separately from its credit limit', async () => {
    await runScript(bench, 'set key_1 allowance 100/day\nset key_1 limit 200')
    await credit('acct_1', 9_000_000)
    await makeWebhook(bench)
    const spend = async (chargeMicros: number) => {
      bench.nowMs += 1
      const id = `req_z${bench.nowMs}`
      await runScript(
        bench,
        `at ${bench.nowMs / 1_000}\nopen ${id} key_1 7\nsettle ${id} final ${chargeMicros}`,
      )
      await watcher().look()
    }
    await spend(7)
    await spend(7)
    expect(await events()).toEqual([])
    for (let count = 0; count < 11; count++) await spend(7)
    const near = {
      key_id: 'key_1',
      account_id: 'acct_1',
      spend: 91,
      allowance: 100,
      period: 'day',
      resets_at: '2027-01-02T00:00:00.000Z',
    }
    expect(await events()).toEqual([['key.limit_near', near]])
    // The next day it has spent nothing of it, and the row still has the day before.
    bench.nowMs = Date.parse('2027-01-02')
    await watcher().look()
    for (let count = 0; count < 12; count++) await spend(7)
    expect((await events()).length).toBe(1)
    // 175 in all, then 182: near its credit limit of 200, and near the second day's allowance.
    await spend(7)
    const nextDay = { ...near, resets_at: '2027-01-03T00:00:00.000Z' }
    const ofLimit = { key_id: 'key_1', account_id: 'acct_1', spend: 182, credit_limit: 200 }
    expect(new Set((await events()).slice(1))).toEqual(
      new Set([
        ['key.limit_near', nextDay],
        ['key.limit_near', ofLimit],
      ]),
    )
    await watcher().look()
    await spend(7)
    expect((await events()).length).toBe(3)
    const held = await bench.db.selectFrom('webhook_conditions').selectAll().execute()
    expect(held.map(({ subject_id }) => subject_id).toSorted()).toEqual([
      'key_1',
      'key_1 allowance reported',
      'key_1 day until 2027-01-03T00:00:00.000Z',
      'key_1 limit reported',
    ])
  })

  test('a request that is unresolved for a minute is reported once, without its content', async () => {
    await credit('acct_1', 9_000_000)
    await makeWebhook(bench)
    await hold('req_1')
    await bench.ledger.abandon('req_1')
    bench.nowMs += MINUTE_MS - 1
    await watcher().look()
    expect(await events()).toEqual([])
    bench.nowMs += 1
    await watcher().look()
    await watcher().look()
    const unresolved = {
      request_id: 'req_1',
      account_id: 'acct_1',
      key_id: 'key_1',
      model: 'acme/sage-pro',
      held: 7,
      ended_at: new Date(bench.nowMs - MINUTE_MS).toISOString(),
    }
    expect(await events()).toEqual([['request.unresolved', unresolved]])
  })

  test('an upstream that lists no models for a time is reported away once, until it lists models again', async () => {
    await makeWebhook(bench)
    await listed('near')
    const looking = watcher()
    bench.nowMs += 15 * MINUTE_MS
    await looking.look()
    expect(await events()).toEqual([])
    await listed('near')
    bench.nowMs += 1
    await looking.look()
    await looking.look()
    expect(await events()).toEqual([['upstream.away', { upstream: 'far', last_listed_at: null }]])
    await listed('far')
    await looking.look()
    bench.nowMs += 20 * MINUTE_MS
    await looking.look()
    expect((await events()).map(([, { upstream }]) => upstream).toSorted()).toEqual([
      'far',
      'far',
      'near',
    ])
  })

  test('an upstream that never listed models is reported once, although a newer process still waits', async () => {
    await makeWebhook(bench)
    await listed('near')
    const old = watcher()
    bench.nowMs += 15 * MINUTE_MS + 1
    await listed('near')
    const young = watcher()
    for (let pass = 0; pass < 3; pass += 1) {
      await old.look()
      await young.look()
    }
    expect(await events()).toEqual([['upstream.away', { upstream: 'far', last_listed_at: null }]])
  })

  test('an upstream is reported once, although another process is not configured with it', async () => {
    await makeWebhook(bench)
    await listed('near')
    await listed('far')
    const [both, one] = [watcher(), watcher(['near'])]
    bench.nowMs += 15 * MINUTE_MS + 1
    await listed('near')
    for (let pass = 0; pass < 3; pass += 1) {
      await both.look()
      await one.look()
    }
    expect(await events()).toMatchObject([['upstream.away', { upstream: 'far' }]])
  })

  test('an account that becomes low because its setting changed is reported without a new entry', async () => {
    await credit('acct_1', 20_000_000)
    bench.nowMs += 1
    await makeWebhook(bench)
    await bench.ledger.updateAccount({ id: 'acct_1', lowBalanceMicros: micros(50_000_000) })
    await watcher().look()
    expect(await events()).toMatchObject([['balance.low', { low_balance: 50_000_000 }]])
  })

  test('a key that nears its limit through a changed setting, or through a request from before the webhook, is reported', async () => {
    await bench.setApiKey('key_1', { creditLimitMicros: micros(2_000) })
    await credit('acct_1', 9_000_000)
    await hold('req_1')
    const spend = (spendMicros: number) =>
      bench.db.updateTable('api_keys').set({ spend_micros: spendMicros }).execute()
    await spend(1_000)
    bench.nowMs += 1
    await makeWebhook(bench)
    await spend(1_800)
    await watcher().look()
    expect(await events()).toMatchObject([
      ['key.limit_near', { spend: 1_800, credit_limit: 2_000 }],
    ])
    await bench.setApiKey('key_1', { creditLimitMicros: micros(3_000) })
    await watcher().look()
    bench.nowMs += HOUR_MS
    await bench.setApiKey('key_1', { creditLimitMicros: micros(1_500) })
    await watcher().look()
    expect((await events()).map(([, { credit_limit }]) => credit_limit)).toEqual([2_000, 1_500])
  })

  test('a condition is sent to existing webhooks, and not to one that is created while it holds', async () => {
    await makeWebhook(bench)
    await credit('acct_1', 1_000_000)
    const later = await makeWebhook(bench)
    await watcher().look()
    expect(await events()).toMatchObject([['balance.low', { account_id: 'acct_1' }]])
    const rows = await bench.db.selectFrom('webhook_deliveries').select('webhook_id').execute()
    expect(rows.map((row) => row.webhook_id)).not.toContain(later.id)
  })

  test('a condition that several processes see at the same time is reported once', async () => {
    await makeWebhook(bench)
    const raised = [{ subjectId: 'store', sinceMs: bench.nowMs, fields: {} }]
    const raise = () => raiseConditions(bench, { event: 'audit.difference', raised })
    await Promise.all([raise(), raise(), raise()])
    expect((await events()).length).toBe(1)
    await endConditions(bench.db, { event: 'audit.difference', subjectIds: ['store'] })
    await raise()
    expect((await events()).length).toBe(2)
  })

  test('a webhook that is disabled, or for other events, is sent nothing', async () => {
    const { db } = bench
    await makeWebhook(bench, ['upstream.away'])
    const disabled = await makeWebhook(bench)
    await db.updateTable('webhooks').set({ disabled: 1 }).where('id', '=', disabled.id).execute()
    await credit('acct_1', 1)
    await watcher().look()
    expect(await events()).toEqual([])
  })

  test('messages identify a key only by its ID', async () => {
    await bench.setApiKey('key_1', { creditLimitMicros: micros(1_000) })
    await credit('acct_1', 9_000_000)
    await makeWebhook(bench)
    await hold('req_1')
    await bench.db.updateTable('api_keys').set({ spend_micros: 1_000 }).execute()
    await watcher().look()
    expect((await events()).length).toBe(1)
    const { keyHash } = await bench.apiKey('key_1')
    expect(keyHash.length).toBeGreaterThan(8)
    expect(JSON.stringify(await events())).not.toContain(keyHash)
  })
})

/** An upstream lists its models. */
async function listed(upstream: string): Promise<void> {
  await bench.db
    .insertInto('catalog_state')
    .values({ upstream, source: 'x', place: 0, refreshed_at_ms: bench.nowMs })
    .onConflict((conflict) =>
      conflict.column('upstream').doUpdateSet({ refreshed_at_ms: bench.nowMs }),
    )
    .execute()
}

async function hold(requestId: string): Promise<void> {
  await bench.db
    .insertInto('price_snapshots')
    .values({ id: 'snap_1', model_id: 'acme/sage-pro', prices_json: '{}', created_at_ms: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const verdict = await bench.ledger.openHold(
    holdInput(requestId, {
      accountId: 'acct_1',
      apiKeyId: 'key_1',
      modelId: 'acme/sage-pro',
      amountMicros: 7,
      priceSnapshotId: 'snap_1',
    }),
  )
  expect(verdict.kind).toBe('opened')
}
