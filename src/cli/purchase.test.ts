import { expect, test } from 'vitest'
import { createLedger } from '../ledger/engines/create-ledger.ts'
import { paidLook } from '../ledger/testing/paid-look.ts'
import { addDepositAddresses } from '../sale/deposit-rows.ts'
import { parseDatabaseUrl } from '../store/database-url.ts'
import { openStore } from '../store/open-store.ts'
import { micros } from '../vocabulary/money.ts'
import type { Dispute } from '../vocabulary/purchase.ts'
import { cells, commandLineOfEachTest } from './testing/command-line.ts'

const line = commandLineOfEachTest()

/** A payment for $25 of credit that a look found to be a dollar short. */
async function makeHeld(purchaseId: string): Promise<string> {
  const accountId = await line.make('account', 'create', 'Ada')
  const ledger = createLedger({ location: parseDatabaseUrl(line.storeUrl) })
  // The result of a look at the simulator's provider.
  const store = await openStore({ url: line.storeUrl })
  const checkout = { id: purchaseId, cents: 2_400, state: 'paid', expires_at_ms: 1 }
  await store.db.insertInto('play_checkouts').values(checkout).execute()
  await store.close()
  await ledger.postPurchase({
    id: purchaseId,
    accountId,
    method: 'card',
    source: `play:${purchaseId}`,
    creditMicros: micros(25_000_000),
    priceUnits: 2_500n,
    seenReversals: 0,
    fact: {
      kind: 'paid',
      paid: { currency: 'usd', units: 2_400n },
      reversedUnits: 0n,
      paymentRef: null,
      dispute: null,
      judgment: { kind: 'hold', reason: 'a dollar short', worthMicros: micros(24_000_000) },
    },
    approved: false,
  })
  await ledger.close()
  return accountId
}

test('a held purchase is listed, shown and credited once', async () => {
  const accountId = await makeHeld('pur_1')
  const { out } = await line.run('purchase', 'list', '--state', 'held', '--account', accountId)
  expect(cells(out)[1]?.slice(0, 7)).toEqual([
    'pur_1',
    accountId,
    'Ada',
    'card',
    'held',
    '$25.00',
    '-',
  ])
  const shown = cells((await line.run('purchase', 'show', 'pur_1')).out)
  expect(shown).toContainEqual(['note', 'a dollar short'])
  expect(shown).toContainEqual(['paid', '$24.00'])
  expect(await line.run('purchase', 'credit', 'pur_1')).toMatchObject({
    exitCode: 0,
    out: `added $24.00 of paid credit to "Ada" (${accountId})\n`,
  })
  expect(await line.run('purchase', 'credit', 'pur_1')).toMatchObject({
    exitCode: 1,
    notes:
      'tollgate: This purchase is credited. Only a purchase that is on hold or below the minimum can be credited.\n',
  })
  expect((await line.run('purchase', 'list', '--state', 'held')).out).toBe('no purchases match\n')
  expect(await line.json('audit')).toMatchObject({ ok: true, checked: { purchases: 1 } })
})

/** A payment of $25 that a look found credited, and so many cents of it refunded or disputed. */
async function makeReversed(
  purchaseId: string,
  { cents, dispute = null }: { readonly cents: bigint; readonly dispute?: Dispute | null },
): Promise<void> {
  const accountId = String((await line.json('account', 'create', 'Ada'))['id'])
  const ledger = createLedger({ location: parseDatabaseUrl(line.storeUrl) })
  await ledger.postPurchase({
    ...paidLook('x', { accountId }),
    id: purchaseId,
    source: `play:${purchaseId}`,
    creditMicros: micros(25_000_000),
    fact: {
      kind: 'paid',
      paid: { currency: 'usd', units: 2_500n },
      reversedUnits: cents,
      paymentRef: null,
      dispute,
      judgment: { kind: 'credit' },
    },
  })
  await ledger.close()
}

test('refunded and disputed purchases are listed with their amounts, and each kind separately', async () => {
  await makeReversed('pur_1', { cents: 0n })
  await makeReversed('pur_2', { cents: 333n })
  await makeReversed('pur_3', { cents: 2_500n })
  await makeReversed('pur_4', { cents: 2_500n, dispute: 'open' })
  await makeReversed('pur_5', { cents: 2_500n, dispute: 'lost' })
  await makeReversed('pur_6', { cents: 0n, dispute: 'won' })
  const listed = async (...args: readonly string[]) => {
    const { out } = await line.run('purchase', 'list', ...args)
    return cells(out).map((row) => [row[0], row[4], row[6]])
  }
  expect(await listed('--state', 'credited')).toEqual([
    ['ID', 'STATE', 'REFUND OR DISPUTE'],
    ['pur_6', 'credited', 'dispute won'],
    ['pur_5', 'credited', 'dispute lost, $25.00'],
    ['pur_4', 'credited', 'disputed, $25.00'],
    ['pur_3', 'credited', 'refunded, $25.00'],
    ['pur_2', 'credited', 'partly refunded, $3.33'],
    ['pur_1', 'credited', '-'],
  ])
  const ids = async (reversal: string) =>
    (await listed('--reversal', reversal)).slice(1).map(([id]) => id)
  expect(await ids('disputed')).toEqual(['pur_4'])
  expect(await ids('dispute_lost')).toEqual(['pur_5'])
  expect(await ids('dispute_won')).toEqual(['pur_6'])
  expect(await ids('refunded')).toEqual(['pur_3'])
  expect(await ids('partly_refunded,disputed')).toEqual(['pur_4', 'pur_2'])
  const shown = cells((await line.run('purchase', 'show', 'pur_2')).out)
  expect(shown).toContainEqual(['refund or dispute', 'partly refunded, $3.33'])
  expect(shown).toContainEqual(['remaining', '$21.67'])
})

test('the payments of a month are listed and printed as CSV with the numbers of their receipts', async () => {
  await makeReversed('pur_1', { cents: 333n })
  await makeHeld('pur_2')
  const number = expect.stringMatching(/^R-\d{4}-0001$/)
  expect(await line.json('purchase', 'show', 'pur_1')).toMatchObject({ receipt_number: number })
  expect(await line.json('purchase', 'show', 'pur_2')).toMatchObject({ receipt_number: null })
  const listed = await line.json('purchase', 'list', '--since', '7d')
  expect(listed).toMatchObject({ data: [{ id: 'pur_1', receipt_number: number }] })
  const before = await line.run('purchase', 'list', '--until', '2001-01-01')
  expect(before.out).toBe('no purchases match\n')
  const csv = async (...args: readonly string[]) => {
    const { out } = await line.run('purchase', 'list', '--csv', ...args)
    return out
      .trimEnd()
      .split('\r\n')
      .map((row) => row.split(','))
  }
  const [head, row, ...rest] = await csv('--since', 'yesterday')
  expect(head?.slice(0, 3)).toEqual(['receipt_number', 'credited_at', 'created_at'])
  expect([row?.at(0), row?.slice(7)]).toEqual([
    number,
    ['25', 'usd', '0', '', '25', 'partly_refunded', '3.33', 'credited', '', 'pur_1'],
  ])
  expect(rest).toEqual([])
  expect((await csv()).map((cells) => cells.at(-1))).toEqual(['purchase_id', 'pur_2', 'pur_1'])
  const refused = await line.run('purchase', 'list', '--state', 'held', '--since', '7d')
  expect([refused.exitCode, refused.notes]).toEqual([
    2,
    expect.stringContaining('`--state` must include `credited`: `--since` and `--until` select'),
  ])
})

test('CSV has payments in tokens with their decimals and transaction, and the tax of a payment apart from its fee', async () => {
  const accountId = await line.make('account', 'create', 'Ada')
  const ledger = createLedger({ location: parseDatabaseUrl(line.storeUrl) })
  const { fact, ...look } = { ...paidLook('x', { accountId }), creditMicros: micros(10_000_000) }
  if (fact.kind !== 'paid') throw new Error('the look found no payment')
  const hash = `0x${'5f'.repeat(32)}`
  for (const [id, method, source, found] of [
    ['pur_1', 'card', 'play:1', { paid: { currency: 'usd', units: 1_300n }, taxUnits: 208n }],
    [
      'pur_2',
      'base-usdc',
      `chain:8453:${hash}:3`,
      { paid: { currency: 'USDC', units: 10_500_001n } },
    ],
    ['pur_3', 'base-xyz', `chain:8453:${hash}:4`, { paid: { currency: 'XYZ', units: 12n } }],
  ] as const) {
    await ledger.postPurchase({ ...look, id, method, source, fact: { ...fact, ...found } })
  }
  await ledger.close()
  const { out } = await line.run('purchase', 'list', '--csv')
  const rows = out
    .trimEnd()
    .split('\r\n')
    .map((row) => row.split(','))
  expect(rows.map((row) => [...row.slice(7, 12), row[15]])).toEqual([
    ['paid', 'currency', 'fee', 'tax', 'credit', 'reference'],
    ['12 units', 'XYZ', '', '', '10', hash],
    ['10.500001', 'USDC', '', '', '10', hash],
    ['13', 'usd', '0.92', '2.08', '10', ''],
  ])
})

test('a purchase is dismissed with a note, and only while it is held', async () => {
  const accountId = await makeHeld('pur_2')
  for (const [args, code, said] of [
    [['dismiss', 'pur_2'], 2, '`--note` is required'],
    [['dismiss', 'pur_9', '--note', 'x'], 3, 'No purchase has the ID "pur_9"'],
    [['show', 'pur_9'], 3, 'No purchase has the ID "pur_9"'],
    [['list', '--state', 'lost'], 2, '`--state` must be one or more of open'],
  ] as const) {
    const { exitCode, notes } = await line.run('purchase', ...args)
    expect([exitCode, notes], args.join(' ')).toEqual([code, expect.stringContaining(said)])
  }
  const dismissed = await line.run('purchase', 'dismiss', 'pur_2', '--note', 'paid back')
  expect(dismissed).toMatchObject({
    exitCode: 0,
    out: `dismissed pur_2 of "Ada" (${accountId}): no credit was added\n`,
  })
  expect(await line.json('purchase', 'show', 'pur_2')).toMatchObject({
    state: 'dismissed',
    note: 'a dollar short; paid back',
  })
  expect((await line.run('purchase', 'dismiss', 'pur_2', '--note', 'x')).exitCode).toBe(1)
})

test('the status of the sale has purchases by state, and a check of play money finds nothing', async () => {
  await makeHeld('pur_3')
  const { out } = await line.run('sale', 'status')
  expect(out).toContain('sold by card')
  expect(cells(out.split('\n\n')[1] ?? '')).toContainEqual(
    expect.arrayContaining(['card', 'held', '1', '$25.00']),
  )
  expect(await line.run('sale', 'check')).toMatchObject({
    exitCode: 0,
    out: 'the store agrees on 0 payments\n',
  })
  expect((await line.run('sale', 'check', '--days', '0')).notes).toContain('`--days` must be')
})

test('deposit addresses are listed with their paths, one page after the other', async () => {
  expect((await line.run('sale', 'addresses')).out).toBe('no deposit addresses match\n')
  const accountId = await line.make('account', 'create', 'Ada')
  const store = await openStore({ url: line.storeUrl })
  await addDepositAddresses(store.db, [
    { chainId: 8453, address: `0x${'0a'.repeat(20)}`, accountId, createdAtMs: 1 },
    { chainId: 8453, address: `0x${'0b'.repeat(20)}`, accountId, createdAtMs: 2 },
  ])
  await store.close()
  const first = await line.run('sale', 'addresses', '--limit', '1')
  expect(cells(first.out)).toEqual([
    ['ACCOUNT', 'CHAIN', 'ADDRESS', 'PATH', 'KEY', 'DEPOSITS'],
    [accountId, '8453', `0x${'0a'.repeat(20)}`, expect.stringMatching(/^\d+\/\d+$/), '-', '0'],
  ])
  const [, after = ''] = /--after (\S+)/.exec(first.notes) ?? []
  const second = await line.run('sale', 'addresses', '--after', after, '--account', accountId)
  expect(cells(second.out).at(1)?.[2]).toBe(`0x${'0b'.repeat(20)}`)
  expect((await line.run('sale', 'replace-key')).notes).toContain('CHAIN_ID is not set')
})
