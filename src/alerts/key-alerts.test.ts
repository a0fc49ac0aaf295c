import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { runScript } from '../ledger/testing/script.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { micros } from '../vocabulary/money.ts'
import { lookAtOnce } from './testing/look-at-once.ts'
import { addOwner, waitingLetters } from './testing/owners.ts'

/** How many alerts about keys are emailed in a day. */

const OWNER = 'user_ada'
const KEYS = ['key_1', 'key_2', 'key_3']

let bench: StoreBench

let limitMicros = 0

/** So many alerts about a key come up, one after the other. */
async function alertOften(count: number, mails = true): Promise<void> {
  for (let place = 0; place < count; place++) {
    bench.nowMs += 1
    await bench.setApiKey('key_1', { creditLimitMicros: micros(--limitMicros) })
    await lookAtOnce(bench, { apiKeyIds: ['key_1'], mails })
  }
}

/** Whether each letter says that it is the last of the day. */
async function lastOfDayFlags(): Promise<readonly boolean[]> {
  return (await waitingLetters(bench.db)).map((letter) => 'isLastOfDay' in letter)
}

const LAST = [...Array(49).fill(false), true]

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    limitMicros = 700
    bench = await open()
    bench.nowMs = Date.parse('2027-01-01')
    await bench.createAccount('acct_1')
    for (const apiKeyId of KEYS) {
      await bench.createApiKey(apiKeyId, 'acct_1')
    }
    await runScript(
      bench,
      'credit acct_1 backed 9000 r1\n' +
        KEYS.map((key) => `open req_${key} ${key} 700\nsettle req_${key} final 700`).join('\n'),
    )
    await addOwner(bench.db, OWNER)
    await lookAtOnce(bench)
  })
  afterEach(() => bench.auditAndClose())

  test('alerts without an email are not counted', async () => {
    const { db } = bench
    await alertOften(30, false)
    await db.updateTable('users').set({ alert_mails: 0 }).execute()
    await alertOften(30)
    await db.updateTable('users').set({ alert_mails: 1 }).execute()
    await alertOften(52)
    expect(await lastOfDayFlags()).toEqual(LAST)
  })

  test('alerts that were there before the first start are not counted', async () => {
    const { db } = bench
    for (const apiKeyId of KEYS) {
      await bench.setApiKey(apiKeyId, { creditLimitMicros: micros(700) })
    }
    await db.deleteFrom('settings').where('name', '=', 'alerts_noted').execute()
    await lookAtOnce(bench, { apiKeyIds: KEYS })
    await alertOften(52)
    expect(await lastOfDayFlags()).toEqual(LAST)
  })

  test('sent emails are counted, also emails to several owners at once', async () => {
    const { db } = bench
    await alertOften(40)
    await db.deleteFrom('alert_letters').execute()
    await addOwner(db, 'user_bob')
    await alertOften(12)
    expect(await lastOfDayFlags()).toEqual([...Array(18).fill(false), true, true])
  })

  test('of alerts that several processes note at the same time, one email is the last', async () => {
    await alertOften(48)
    bench.nowMs += 1
    for (const apiKeyId of KEYS) {
      await bench.setApiKey(apiKeyId, { creditLimitMicros: micros(600) })
    }
    await Promise.all(KEYS.map((apiKeyId) => lookAtOnce(bench, { apiKeyIds: [apiKeyId] })))
    const said = await lastOfDayFlags()
    expect([said.length, said.filter((isLast) => isLast).length]).toEqual([50, 1])
  })

  test('the rows of a day are removed a day after it', async () => {
    await alertOften(52)
    const rows = () =>
      bench.db.selectFrom('alerts').select('step').where('subject', 'like', 'acct_%').execute()
    expect(await rows()).toHaveLength(50)
    bench.nowMs = Date.parse('2027-01-03') - 1
    await lookAtOnce(bench)
    expect(await rows()).toHaveLength(50)
    bench.nowMs += 1
    await lookAtOnce(bench)
    expect(await rows()).toEqual([])
  })
})
