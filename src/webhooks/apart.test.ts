import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LEDGER_LIMITS_DEFAULT } from '../ledger/ledger.ts'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { runScript } from '../ledger/testing/script.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { createIdSource } from '../vocabulary/ids.ts'
import { micros } from '../vocabulary/money.ts'
import { createWebhook } from './registry.ts'
import { toldSoFar } from './testing/told.ts'
import { Watcher } from './watcher.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

let bench: StoreBench
let nowMs: number

const clock = { nowMs: () => nowMs }
const ids = createIdSource({ clock, fillRandom: (bytes) => crypto.getRandomValues(bytes) })

async function look(): Promise<void> {
  const onFailure = (cause: unknown) => {
    throw cause
  }
  const { db } = bench.store
  const other = { upstreams: [], awayAfterMs: 15 * MINUTE_MS, onPass: null, onFailure }
  await new Watcher({ db, ids, clock, ...other }).look()
}

function at(ms: number): void {
  nowMs = ms
  bench.setNowMs(ms)
}

async function setNothing(): Promise<void> {
  await runScript(bench, 'set key_1 allowance none')
  await bench.setApiKey('key_1', { creditLimitMicros: null })
}

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open({ limits: LEDGER_LIMITS_DEFAULT })
    at(Date.parse('2027-01-01'))
    await bench.createAccount('acct_1')
    await bench.createApiKey('key_1', 'acct_1')
    await runScript(
      bench,
      'credit acct_1 backed 9000000 r1\nopen req_z1 key_1 90\nsettle req_z1 final 90',
    )
    const made = { url: 'https://receiver.example/', events: ['key.limit_near'] as const, by: null }
    await createWebhook({ db: bench.store.db, ids, clock }, made)
  })
  afterEach(() => bench.close())

  test('a key whose limits change all the time is reported once an hour for its limit, and for its allowance', async () => {
    const startMs = nowMs
    const turns = [
      () => runScript(bench, 'set key_1 allowance 90/day UTC'),
      () => bench.setApiKey('key_1', { creditLimitMicros: micros(90) }),
      () => runScript(bench, 'set key_1 allowance 90/week UTC'),
      () => bench.setApiKey('key_1', { creditLimitMicros: micros(91) }),
    ]
    for (let place = 0; place < 24; place++) {
      at(startMs + 1 + place * 7.5 * MINUTE_MS)
      await setNothing()
      await look()
      await turns[place % turns.length]?.()
      await look()
      await look()
    }
    const said = (await toldSoFar(bench.store.db)).map(([, data]) =>
      'allowance' in data ? 'allowance' : 'limit',
    )
    // In three hours.
    expect(said.toSorted()).toEqual([...Array(3).fill('allowance'), ...Array(3).fill('limit')])
    at(nowMs + HOUR_MS)
    await setNothing()
    await look()
    const { db } = bench.store
    expect(await db.selectFrom('webhook_conditions').selectAll().execute()).toEqual([])
  })

  test('a key that is near another limit within the hour is reported when the hour is over, if it still is', async () => {
    const startMs = nowMs
    await bench.setApiKey('key_1', { creditLimitMicros: micros(90) })
    await look()
    at(startMs + MINUTE_MS)
    await bench.setApiKey('key_1', { creditLimitMicros: micros(200) })
    await look()
    await bench.setApiKey('key_1', { creditLimitMicros: micros(100) })
    for (const minutes of [2, 59, 60, 61, 120]) {
      at(startMs + minutes * MINUTE_MS)
      await look()
    }
    const told = await toldSoFar(bench.store.db)
    expect(told.map(([, { credit_limit }]) => credit_limit)).toEqual([90, 100])
  })
})
