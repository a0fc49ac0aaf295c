import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { postLook } from '../ledger/testing/paid-look.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import { alertLetter } from './alert-letter.ts'
import { lookAtOnce } from './testing/look-at-once.ts'
import { addOwner, waitingLetters } from './testing/owners.ts'

/** Emails to the owners of an account about its purchases. */

let bench: StoreBench

const letters = () => waitingLetters(bench.db)

const look = (mails = true) => lookAtOnce(bench, { processes: 3, mails })

async function buy(name: string): Promise<void> {
  bench.nowMs += 1
  await postLook(bench, name, { accountId: 'acct_1' })
}

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
    bench.nowMs = Date.parse('2027-01-01')
    await bench.createAccount('acct_1')
    await addOwner(bench.db, 'user_ada')
    await addOwner(bench.db, 'user_bob', { alertMails: false })
  })
  afterEach(() => bench.auditAndClose())

  test('the owners of an account are emailed the receipt of a paid purchase once, unless they want no emails', async () => {
    await look()
    await buy('P')
    await look()
    await look()
    const about = { kind: 'purchase', purchaseId: 'pur_P', receiptNumber: 'R-2027-0001' }
    const paid = { creditMicros: 1_000, paid: { currency: 'usd', units: '10', decimals: 2 } }
    expect(await letters()).toEqual([
      { userId: 'user_ada', ...about, ...paid, balanceMicros: 1_000 },
    ])
    bench.nowMs += 15 * DAY_MS
    await look()
    expect(await letters()).toHaveLength(1)
    expect(await bench.db.selectFrom('alerts').selectAll().execute()).toEqual([])
  })

  test('purchases from before these emails existed, or before there was a mail server, cause no email', async () => {
    await look()
    await buy('old')
    await bench.db
      .updateTable('settings')
      .set({ value: '3' })
      .where('name', '=', 'alerts_noted')
      .execute()
    await look()
    await buy('unmailed')
    await look(false)
    await look()
    expect(await letters()).toEqual([])
    await buy('new')
    await look()
    expect(await letters()).toMatchObject([{ purchaseId: 'pur_new', receiptNumber: 'R-2027-0003' }])
  })
})

test.each([
  [{ currency: 'usd', units: '5250' }, ' for a payment of $52.50'],
  [{ currency: 'USDC', units: '50250000' }, ' for a payment of 50.25 USDC'],
  [{ currency: 'XYZ', units: '3' }, ' for a payment of 3 units of XYZ'],
  [
    { currency: 'USDC', units: `5025${'0'.repeat(16)}`, decimals: 18 },
    ' for a payment of 50.25 USDC',
  ],
  [null, ''],
])(
  'the email about a purchase that was paid with %j says what was paid and credited, and links to the receipt',
  (paid, said) => {
    const letter = alertLetter({
      ...{ to: 'ada@example.org', accountName: 'Ada' },
      accountUrl: 'https://gate.example.com/app/acct_1',
      about: {
        ...{ kind: 'purchase', purchaseId: 'pur_1', receiptNumber: 'R-2027-0001', paid },
        ...{ creditMicros: 50_000_000, balanceMicros: 60_000_000 },
      },
    })
    expect(
      `${letter.subject}\n${letter.text}`,
    ).toContain(`Receipt R-2027-0001: $50.00 of credit (Ada)
$50.00 of credit was added to the account "Ada"${said}.

The account has $60.00 of paid credit.

See the receipt:
https://gate.example.com/app/acct_1/credit?receipt=pur_1`)
  },
)
