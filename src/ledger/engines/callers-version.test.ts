import { sql } from 'kysely'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readSetting } from '../../store/settings.ts'
import { lockWaits } from '../../store/testing/lock-waits.ts'
import { micros } from '../../vocabulary/money.ts'
import { STORE_BENCHES } from '../testing/benches.ts'
import { createPostgresBench } from '../testing/postgres-bench.ts'
import { FACTS, holdInput, runScript } from '../testing/script.ts'
import type { StoreBench } from '../testing/store-bench.ts'
import { postgresLedger } from './create-ledger.ts'

const LIMITS = {
  openHoldsMax: 100,
  keyRequestsPerMinuteMax: 1_000,
  unbackedAccountRequestsPerMinuteMax: 1_000,
}

const HOLD = holdInput('R1', { apiKeyId: 'KA', amountMicros: 10 })

const RELEASE = { requestId: 'R1', resolution: { kind: 'released' }, facts: FACTS } as const

/** An account A with paid credit, and its key KA. */
async function setUp(bench: StoreBench): Promise<void> {
  await bench.createAccount('A')
  await bench.createApiKey('KA', 'A')
  await runScript(bench, 'credit A backed 1000 first')
}

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: StoreBench

  beforeEach(async () => {
    bench = await open({ limits: LIMITS })
    await setUp(bench)
  })
  afterEach(() => bench.close())

  async function version(): Promise<number> {
    return Number(await readSetting(bench.db, 'callers_version'))
  }

  type Change = (ledger: StoreBench['ledger']) => Promise<unknown>
  const RAISING: readonly (readonly [string, Change])[] = [
    ['a key is disabled', (ledger) => ledger.updateApiKey({ id: 'KA', disabled: true })],
    ['a key gets an expiry', (ledger) => ledger.updateApiKey({ id: 'KA', expiresAtMs: 5 })],
    ['a key is deleted', (ledger) => ledger.deleteApiKey('KA')],
    [
      'a key is rotated',
      (ledger) =>
        ledger.rotateApiKey({ id: 'KA', keyHash: 'f', displayPrefix: 'sk-f', graceMs: 0 }),
    ],
    ['an account gets a fee', (ledger) => ledger.updateAccount({ id: 'A', feeBasisPoints: 0 })],
    ['an account is disabled', (ledger) => ledger.updateAccount({ id: 'A', disabled: true })],
    [
      'a key may use fewer models',
      (ledger) => ledger.updateApiKey({ id: 'KA', modelsDeny: ['a/b'] }),
    ],
    [
      'an account may use fewer',
      (ledger) => ledger.updateAccount({ id: 'A', modelsAllow: ['a/*'] }),
    ],
  ]
  test.each(RAISING)('it is one higher after %s', async (_, change) => {
    const before = await version()
    await change(bench.ledger)
    expect(await version()).toBe(before + 1)
    // Again: nothing changes.
    if (change !== RAISING[2]?.[1]) await change(bench.ledger)
    expect(await version()).toBe(before + 1)
  })

  test('it is one higher after the first paid credit of an account, and unchanged after later credit', async () => {
    await bench.createAccount('B')
    const before = await version()
    await runScript(bench, 'credit B backed 5 first')
    expect(await version()).toBe(before + 1)
    await runScript(bench, 'credit B backed 5 second')
    expect(await version()).toBe(before + 1)
  })

  test('holds, settles, new accounts and keys, and names and limits of keys do not change it', async () => {
    const before = await version()
    await bench.ledger.openHold(HOLD)
    await bench.ledger.settle(RELEASE)
    await bench.ledger.createAccount({ id: 'B', name: 'B' })
    await bench.ledger.addApiKey({
      id: 'KB',
      accountId: 'B',
      name: 'KB',
      keyHash: 'hash of KB',
      displayPrefix: '',
    })
    await bench.ledger.updateApiKey({ id: 'KA', name: 'other', creditLimitMicros: micros(7) })
    expect(await version()).toBe(before)
  })

  test('it is raised in the commit of the change, or the change is not made', async () => {
    await sql`alter table settings rename to elsewhere`.execute(bench.db)
    await expect(bench.ledger.updateApiKey({ id: 'KA', disabled: true })).rejects.toThrow()
    expect(await bench.apiKey('KA')).toMatchObject({ disabled: false })
    expect(await bench.ledger.openHold(HOLD)).toMatchObject({ kind: 'opened' })
    await sql`alter table elsewhere rename to settings`.execute(bench.db)
    await bench.ledger.updateApiKey({ id: 'KA', disabled: true })
    expect(await bench.apiKey('KA')).toMatchObject({ disabled: true })
  })
})

test('on PostgreSQL holds and settles do not wait for a change that is not committed', async () => {
  const bench = await createPostgresBench({ limits: LIMITS })
  await setUp(bench)
  await bench.createAccount('B')
  await bench.createApiKey('KB', 'B')
  const outsider = new Client(bench.url)
  await outsider.connect()
  await outsider.query('begin')
  await outsider.query("update settings set value = value where name = 'callers_version'")
  const other = postgresLedger({ url: bench.url, limits: LIMITS })
  const disabled = other.updateApiKey({ id: 'KB', disabled: true })
  await lockWaits(bench.db, 1)
  expect(await bench.ledger.openHold(HOLD)).toMatchObject({ kind: 'opened' })
  expect(await bench.ledger.settle(RELEASE)).toMatchObject({ state: 'released' })
  await outsider.query('commit')
  expect(await disabled).toMatchObject({ disabled: true })
  await outsider.end()
  await other.close()
  await bench.close()
})
