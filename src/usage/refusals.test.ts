import { rename } from 'node:fs/promises'
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { openStore } from '../store/open-store.ts'
import type { Store } from '../store/store.ts'
import {
  createMadeSqliteFile,
  databaseOfTest,
  MADE_DATABASES,
  storeOfTest,
} from '../store/testing/test-databases.ts'
import { HOUR_MS } from '../vocabulary/clock.ts'
import { RefusalCounter, readRefusals } from './refusals.ts'

const HOUR = 500_000
const DAY_HOURS = 24

let nowMs: number
const clock = { nowMs: () => nowMs }
const credit = { accountId: 'acct_1', apiKeyId: 'key_1', code: 'insufficient_credit' } as const
const limited = { ...credit, code: 'rate_limited' } as const

beforeEach(() => {
  nowMs = HOUR * HOUR_MS + 1_000
})

/** A counter, the refusals that it could not count, and its failures. */
function counterOn({ db }: Store, cellsMax?: number) {
  const uncounted: number[] = []
  const failures: unknown[] = []
  const counter = new RefusalCounter({
    db,
    clock,
    onUncounted: (requests) => uncounted.push(requests),
    onFailure: (cause) => failures.push(cause),
    ...(cellsMax === undefined ? {} : { cellsMax }),
  })
  return { counter, uncounted, failures }
}

function times(count: number, what: () => void): void {
  for (let nth = 0; nth < count; nth++) what()
}

async function rowsOf({ db }: Store): Promise<readonly (readonly [string, number])[]> {
  const rows = await db.selectFrom('refusals').selectAll().orderBy('hour').execute()
  return rows
    .map(({ hour, account_id, api_key_id, code, requests }) => {
      return [`${hour - HOUR} ${account_id} ${api_key_id} ${code}`, requests] as const
    })
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
}

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  let store: Store

  beforeEach(async () => {
    store = await storeOfTest(create)
  })

  test('each refusal is counted once, by account, key, code and hour, over all gateways', async () => {
    const [{ counter }, other] = [counterOn(store), counterOn(store)]
    times(3, () => counter.count(credit))
    counter.count(limited)
    counter.count({ ...credit, apiKeyId: 'key_2' })
    counter.count({ ...credit, accountId: 'acct_2', apiKeyId: 'key_3' })
    await counter.write()
    nowMs += 1_000
    times(4, () => other.counter.count(credit))
    await Promise.all([counter.write(), other.counter.write()])
    nowMs += HOUR_MS
    counter.count(credit)
    await counter.stop()
    expect(await rowsOf(store)).toEqual([
      ['0 acct_1 key_1 insufficient_credit', 7],
      ['0 acct_1 key_1 rate_limited', 1],
      ['0 acct_1 key_2 insufficient_credit', 1],
      ['0 acct_2 key_3 insufficient_credit', 1],
      ['1 acct_1 key_1 insufficient_credit', 1],
    ])
    const read = { accountId: 'acct_1', untilHour: HOUR + 1, apiKeyIds: null, keysMax: 2 }
    expect(await readRefusals(store.db, { ...read, fromHour: HOUR })).toEqual({
      codes: [
        { code: 'insufficient_credit', requests: 8, latest_at_ms: HOUR * HOUR_MS + 2_000 },
        { code: 'rate_limited', requests: 1, latest_at_ms: HOUR * HOUR_MS + 1_000 },
      ],
      keys: [
        expect.objectContaining({ api_key_id: 'key_1', requests: 7 }),
        expect.objectContaining({ api_key_id: 'key_2', requests: 1 }),
      ],
    })
    expect(await readRefusals(store.db, { ...read, fromHour: HOUR + 1 })).toEqual({
      codes: [],
      keys: [],
    })
    const apiKeyIds = ['key_2', 'key_3']
    expect(await readRefusals(store.db, { ...read, fromHour: HOUR, apiKeyIds })).toEqual({
      codes: [expect.objectContaining({ code: 'insufficient_credit', requests: 1 })],
      keys: [expect.objectContaining({ api_key_id: 'key_2', requests: 1 })],
    })
  })

  test('many keys and codes are written in few statements, each once', async () => {
    const { counter } = counterOn(store)
    times(777, () => counter.count(credit))
    for (let nth = 100; nth < 300; nth++) counter.count({ ...credit, apiKeyId: `key_${nth}` })
    await counter.write()
    const rows = await rowsOf(store)
    expect(rows.length).toBe(201)
    expect(rows.filter(([, requests]) => requests !== 1)).toEqual([
      ['0 acct_1 key_1 insufficient_credit', 777],
    ])
  })

  test('an account with many refused keys has few rows in an hour, and does not reduce the rows of others', async () => {
    const counter = new RefusalCounter({
      db: store.db,
      clock,
      onUncounted: () => {},
      onFailure: () => {},
      namedMax: 2,
    })
    for (let write = 0; write < 2; write++) {
      for (let nth = 1; nth <= 50; nth++) counter.count({ ...credit, apiKeyId: `key_${nth}` })
      counter.count({ ...credit, accountId: 'acct_2' })
      await counter.write()
    }
    expect(await rowsOf(store)).toEqual([
      ['0 acct_1  insufficient_credit', 96],
      ['0 acct_1 key_1 insufficient_credit', 2],
      ['0 acct_1 key_2 insufficient_credit', 2],
      ['0 acct_2 key_1 insufficient_credit', 2],
    ])
    const hours = { fromHour: HOUR, untilHour: HOUR + 1 }
    const read = await readRefusals(store.db, {
      accountId: 'acct_1',
      ...hours,
      apiKeyIds: null,
      keysMax: 9,
    })
    expect(read.codes).toMatchObject([{ requests: 100 }])
    expect(read.keys).toMatchObject([{ api_key_id: 'key_1' }, { api_key_id: 'key_2' }])
    nowMs += HOUR_MS
    counter.count({ ...credit, apiKeyId: 'key_50' })
    await counter.write()
    expect((await rowsOf(store)).at(-1)).toEqual(['1 acct_1 key_50 insufficient_credit', 1])
  })

  test('counts of more than 30 days ago are removed, and no others', async () => {
    const { counter } = counterOn(store)
    for (const daysAgo of [40, 31, 30, 1, 0]) {
      nowMs = (HOUR - daysAgo * DAY_HOURS) * HOUR_MS
      counter.count(credit)
      counter.count(limited)
    }
    await counter.write()
    nowMs = HOUR * HOUR_MS
    await counter.prune()
    const hours = await store.db.selectFrom('refusals').select('hour').distinct().execute()
    expect(hours.map(({ hour }) => (HOUR - hour) / DAY_HOURS).toSorted()).toEqual([0, 1, 30])
  })

  test('a starting gateway removes old counts', async () => {
    const { counter, failures } = counterOn(store)
    counter.count(credit)
    await counter.write()
    nowMs += 32 * DAY_HOURS * HOUR_MS
    counter.start()
    await expect.poll(() => rowsOf(store)).toEqual([])
    await counter.stop()
    expect(failures).toEqual([])
  })
})

test('memory is bounded: a count too many is reported, and counted after the next write', async () => {
  const store = await storeOfTest(createMadeSqliteFile)
  const { counter, uncounted } = counterOn(store, 2)
  for (const apiKeyId of ['key_1', 'key_2', 'key_3', 'key_3', 'key_1']) {
    counter.count({ ...credit, apiKeyId })
  }
  await counter.write()
  expect(uncounted).toEqual([2])
  counter.count({ ...credit, apiKeyId: 'key_3' })
  await counter.write()
  expect(await rowsOf(store)).toEqual([
    ['0 acct_1 key_1 insufficient_credit', 2],
    ['0 acct_1 key_2 insufficient_credit', 1],
    ['0 acct_1 key_3 insufficient_credit', 1],
  ])
  expect(uncounted).toEqual([2])
})

test('counts that could not be sent to the store are written later, and counts that it refused are not repeated', async () => {
  const { url } = await databaseOfTest(createMadeSqliteFile)
  const file = url.replace('sqlite:', '')
  const store = await openStore({ url })
  const { counter, failures } = counterOn(store)
  counter.count(credit)
  await rename(file, `${file}-away`)
  await expect(counter.write()).rejects.toThrow(file)
  counter.count(credit)
  await rename(`${file}-away`, file)
  await counter.write()
  expect(await rowsOf(store)).toEqual([['0 acct_1 key_1 insufficient_credit', 2]])

  await sql`alter table refusals rename to gone`.execute(store.db)
  counter.count(credit)
  await counter.stop()
  expect(failures).toHaveLength(1)
  await sql`alter table gone rename to refusals`.execute(store.db)
  await counter.stop()
  expect(await rowsOf(store)).toEqual([['0 acct_1 key_1 insufficient_credit', 2]])
  await store.close()
})
