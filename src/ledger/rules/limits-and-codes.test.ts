import { expect, test } from 'vitest'
import { micros } from '../../vocabulary/money.ts'
import {
  createCreditCode,
  hashCreditCode,
  listCreditCodes,
  makeCreditCode,
} from '../credit-codes.ts'
import { createLedger } from '../engines/create-ledger.ts'
import { STORE_BENCHES } from '../testing/benches.ts'
import { runScript } from '../testing/script.ts'
import { describeScripts } from '../testing/scripts.ts'
import { createSqliteBench } from '../testing/sqlite-bench.ts'

describeScripts(['account A', 'key K A'], (holds) => {
  test('keys are refused first, then frequency, then credit', () =>
    holds(`
    open R1 K 10                  → insufficient_credit needs 10 of 0, held 0
    open R1 K9 10                 → invalid_api_key
    credit A backed 100 r1        → added top_up 100
    open R1 K 1                   → opened 1 = backed 1 + free 0
    open R2 K 1                   → opened 1 = backed 1 + free 0
    open R3 K 1                   → opened 1 = backed 1 + free 0
    open R4 K 999                 → too_many_concurrent_requests
    set K expires 10
    at 9.999
    open R4 K 999                 → too_many_concurrent_requests
    at 10
    open R4 K 999                 → api_key_expired
    set K disabled
    open R4 K 999                 → api_key_disabled
    set K deleted
    open R4 K 999                 → invalid_api_key
    settle R1 final 1             → final 1
    key K2 A
    set A disabled
    open R4 K2 1                  → account_suspended
    `))

  test('a key opens no hold of another account', () =>
    holds(`
    account A2
    credit A backed 100 r1        → added top_up 100
    credit A2 backed 100 r2       → added top_up 100
    open R1 K 10 for A2           → invalid_api_key
    show A                        → backed 100 held 0, free 0 held 0
    show A2                       → backed 100 held 0, free 0 held 0
    `))

  test('the limit of requests of a key applies to any 60 seconds, exact to a second', () =>
    holds(`
    credit A backed 100 r1        → added top_up 100
    at 100.9
    open R1 K 1                   → opened 1 = backed 1 + free 0
    settle R1 released            → released 0
    open R2 K 1                   → opened 1 = backed 1 + free 0
    settle R2 released            → released 0
    at 130
    open R3 K 1                   → opened 1 = backed 1 + free 0
    settle R3 released            → released 0
    open R4 K 999                 → insufficient_credit needs 999 of 100, held 0
    open R4 K 1                   → opened 1 = backed 1 + free 0
    settle R4 released            → released 0
    open R5 K 1                   → opened 1 = backed 1 + free 0
    settle R5 released            → released 0
    at 130.5
    open R6 K 1                   → rate_limited retry after 30
    at 159.999
    open R6 K 1                   → rate_limited retry after 1
    at 160
    open R6 K 1                   → opened 1 = backed 1 + free 0
    settle R6 released            → released 0
    open R7 K 1                   → opened 1 = backed 1 + free 0
    settle R7 released            → released 0
    open R8 K 1                   → rate_limited retry after 30
    `))

  test('an account that never had paid credit has a lower limit over all its keys, until it gets credit', () =>
    holds(`
    key K1 A
    key K2 A
    credit A free 100 r1 until 999 → added grant 100
    open R1 K1 1 free             → opened 1 = backed 0 + free 1
    open R2 K1 1 free             → opened 1 = backed 0 + free 1
    open R3 K2 1 free             → opened 1 = backed 0 + free 1
    open R4 K2 1 free             → rate_limited retry after 60
    credit A backed 1 r2          → added top_up 1
    open R4 K2 1 free             → opened 1 = backed 0 + free 1
    credit A backed -1 r3         → added chargeback -1
    open R5 K2 1 free             → opened 1 = backed 0 + free 1
    `))

  test('a code gives paid credit to the first account that redeems it, and to no other', () =>
    holds(`
    account A2
    code C 100
    redeem C A                    → redeemed activation 100 code_C
    redeem C A2                   → used
    redeem C A                    → exists activation 100 code_C
    show A                        → backed 100 held 0, free 0 held 0
    show A2                       → backed 0 held 0, free 0 held 0
    entries A                     → activation backed 100
  `))

  test('free credit that has expired is gone before a code adds credit', () =>
    holds(`
    credit A free 100 r1 until 60 → added grant 100
    code C 10
    at 60
    redeem C A                    → redeemed activation 10 code_C
    entries A                     → grant free 100, expiry free -100, activation backed 10
    show A                        → backed 10 held 0, free 0 held 0
  `))

  test('a code that is expired, revoked or unknown, or an unknown account, adds no credit', () =>
    holds(`
    code C1 100 until 60
    code C2 100 until 60
    code C3 100 revoked
    redeem C9 A                   → unknownCode
    redeem C1 A9                  → unknownAccount
    redeem C3 A                   → revoked
    at 59.999
    redeem C1 A                   → redeemed activation 100 code_C1
    at 60
    redeem C2 A                   → expired
    redeem C1 A                   → exists activation 100 code_C1
  `))

  test('an activation lifts the limit of accounts without paid credit, as a top-up does', () =>
    holds(`
    code C 100
    credit A free 100 r1 until 60 → added grant 100
    open R1 K 1 free              → opened 1 = backed 0 + free 1
    settle R1 released            → released 0
    open R2 K 1 free              → opened 1 = backed 0 + free 1
    settle R2 released            → released 0
    open R3 K 1 free              → opened 1 = backed 0 + free 1
    settle R3 released            → released 0
    open R4 K 1 free              → rate_limited retry after 60
    redeem C A                    → redeemed activation 100 code_C
    open R4 K 1 free              → opened 1 = backed 0 + free 1
  `))

  test('no other credit is posted with the ID of a code', () =>
    holds(`
    code C 100
    credit A backed 100 code_C    → rejects: StoreRefused
    redeem C A                    → redeemed activation 100 code_C
    credit A backed 100 code_C    → rejects: StoreRefused
  `))
})

test.each(STORE_BENCHES)(
  'of 50 accounts that redeem a code at the same time, over two connections to $engine, one gets its credit',
  async ({ open }) => {
    const bench = await open()
    const accounts = Array.from({ length: 50 }, (_, place) => `A${place}`)
    for (const account of accounts) await bench.createAccount(account)
    await runScript(bench, 'code C 100')
    // Another process has its own writer on the same store.
    const other = createLedger({ location: bench.store.location })
    const verdicts = await Promise.all(
      accounts.map((accountId, place) =>
        (place % 2 === 0 ? bench.ledger : other).redeemCode({ accountId, codeHash: 'C' }),
      ),
    )
    await other.close()
    const kinds = verdicts.map(({ kind }) => kind).sort()
    expect(kinds).toEqual(['redeemed', ...accounts.slice(1).map(() => 'used')])
    await bench.auditAndClose()
  },
)

test('a code is read in any case, with or without hyphens, and with letters for digits', () => {
  const { text, hash, displaySuffix } = makeCreditCode()
  expect(text).toMatch(/^(?:[0-9A-HJKMNP-TV-Z]{6}-){3}[0-9A-HJKMNP-TV-Z]{6}$/)
  expect(text.endsWith(displaySuffix)).toBe(true)
  for (const typed of [
    text,
    text.toLowerCase(),
    text.replaceAll('-', ''),
    ` ${text.replaceAll('-', ' ')} `,
    text.replaceAll('0', 'O').replaceAll('1', 'l'),
  ]) {
    expect(hashCreditCode(typed), typed).toBe(hash)
  }
  expect(hashCreditCode(makeCreditCode().text)).not.toBe(hash)
})

test('codes are listed newest first, and a redeemed one is not revoked', async () => {
  const bench = await createSqliteBench()
  await bench.createAccount('A')
  const { db } = bench
  const make = (id: string) =>
    createCreditCode(bench.ledger, { id, amountMicros: micros(7), expiresAtMs: null })
  const first = await make('code_1')
  await make('code_2')
  await bench.ledger.redeemCode({ accountId: 'A', codeHash: hashCreditCode(first.text) })
  bench.nowMs = 9
  expect(await bench.ledger.revokeCreditCode('code_1')).toMatchObject({
    revokedAtMs: null,
    redeemedBy: 'A',
  })
  expect(await bench.ledger.revokeCreditCode('code_2')).toMatchObject({ revokedAtMs: 9 })
  bench.nowMs = 10
  expect(await bench.ledger.revokeCreditCode('code_2')).toMatchObject({ revokedAtMs: 9 })
  expect(await bench.ledger.revokeCreditCode('code_9')).toBeNull()
  const page = await listCreditCodes(db, { limit: 1 })
  expect(page).toMatchObject({ rows: [{ id: 'code_2' }], nextCursor: 'code_2' })
  expect(await listCreditCodes(db, { cursor: 'code_2', limit: 1 })).toMatchObject({
    rows: [{ id: 'code_1' }],
    nextCursor: null,
  })
  await bench.auditAndClose()
})
