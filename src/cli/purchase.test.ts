import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLedger } from '../ledger/engines/create-ledger.ts'
import { parseDatabaseUrl } from '../store/database-url.ts'
import { micros } from '../vocabulary/money.ts'
import { type CommandLine, cells, openCommandLine } from './testing/command-line.ts'

let line: CommandLine

beforeEach(() => {
  line = openCommandLine()
})
afterEach(() => line.close())

/** A payment of $25 that a look found to be in another currency. */
async function makeHeld(purchaseId: string): Promise<string> {
  const accountId = String((await line.json('account', 'create', 'Ada'))['id'])
  const ledger = createLedger({ location: parseDatabaseUrl(line.storeUrl) })
  await ledger.postPurchase({
    id: purchaseId,
    accountId,
    method: 'card',
    source: `test:${purchaseId}`,
    creditMicros: micros(25_000_000),
    seenReversals: 0,
    fact: {
      kind: 'paid',
      paid: { currency: 'eur', units: 2_500n },
      reversedUnits: 0n,
      paymentRef: null,
      judgment: { kind: 'hold', reason: 'paid in eur' },
    },
    approved: false,
  })
  await ledger.close()
  return accountId
}

test('a held purchase is listed, shown and credited once', async () => {
  const accountId = await makeHeld('pur_1')
  const { out } = await line.run('purchase', 'list', '--state', 'held', '--account', accountId)
  expect(cells(out)[1]?.slice(0, 6)).toEqual([
    'pur_1',
    accountId,
    'card',
    'held',
    '$25.000000',
    '$0.000000',
  ])
  const shown = cells((await line.run('purchase', 'show', 'pur_1')).out)
  expect(shown).toContainEqual(['note', 'paid in eur'])
  expect(shown).toContainEqual(['paid', '2500 eur'])
  expect(await line.run('purchase', 'credit', 'pur_1')).toMatchObject({
    exitCode: 0,
    out: `added $25.000000 of backed credit to ${accountId}\n`,
  })
  expect(await line.run('purchase', 'credit', 'pur_1')).toMatchObject({
    exitCode: 1,
    notes: 'tollgate: This purchase is credited.\n',
  })
  expect((await line.run('purchase', 'list', '--state', 'held')).out).toBe(
    'no purchases like this yet\n',
  )
  expect(await line.json('audit')).toMatchObject({ ok: true, checked: { purchases: 1 } })
})

test('a purchase is dismissed with a note, and only while it is held', async () => {
  await makeHeld('pur_2')
  for (const [args, code, said] of [
    [['dismiss', 'pur_2'], 2, '`--note` is required'],
    [['dismiss', 'pur_9', '--note', 'x'], 3, 'No purchase has the id "pur_9"'],
    [['show', 'pur_9'], 3, 'No purchase has the id "pur_9"'],
    [['list', '--state', 'lost'], 2, '`--state` must be one or more of open'],
  ] as const) {
    const { exitCode, notes } = await line.run('purchase', ...args)
    expect([exitCode, notes], args.join(' ')).toEqual([code, expect.stringContaining(said)])
  }
  const dismissed = await line.run('purchase', 'dismiss', 'pur_2', '--note', 'paid back')
  expect(dismissed).toMatchObject({ exitCode: 0, out: 'dismissed pur_2: no credit was added\n' })
  expect(await line.json('purchase', 'show', 'pur_2')).toMatchObject({
    state: 'dismissed',
    note: 'paid in eur; paid back',
  })
  expect((await line.run('purchase', 'dismiss', 'pur_2', '--note', 'x')).exitCode).toBe(1)
})
