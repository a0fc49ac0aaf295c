import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import { type FoundPayment, postLook } from '../ledger/testing/paid-look.ts'
import { runScript } from '../ledger/testing/script.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { DAY_MS } from '../vocabulary/clock.ts'
import { micros } from '../vocabulary/money.ts'
import { type AlertLetter, alertLetter } from './alert-letter.ts'
import { Alerts } from './alerts.ts'
import { lookAtOnce } from './testing/look-at-once.ts'
import { addOwner, waitingLetters } from './testing/owners.ts'

/** Emails to the owners of an account about refunds and disputes of its purchases, and about removed credit. */

let bench: StoreBench
let names = 0

const allLetters = () => waitingLetters(bench.db)
const letters = async () =>
  (await allLetters()).filter((letter) => Object(letter).kind !== 'purchase')

const look = () => lookAtOnce(bench, { processes: 3, accountIds: ['acct_1'] })

async function find(found: FoundPayment = {}): Promise<void> {
  bench.nowMs += 1
  await postLook(bench, 'P', { ...found, accountId: 'acct_1' })
}

async function spend(chargeMicros: number): Promise<void> {
  bench.nowMs += 1
  const id = `req_${++names}`
  await runScript(
    bench,
    `at ${bench.nowMs / 1_000}\nopen ${id} key_1 ${chargeMicros}\nsettle ${id} final ${chargeMicros}`,
  )
}

/** Returns the reference. */
async function remove(amountMicros: number): Promise<string> {
  bench.nowMs += 1
  const reference = `removed-${++names}`
  await bench.ledger.addCredit({
    accountId: 'acct_1',
    purse: 'backed',
    amountMicros: micros(-amountMicros),
    expiresAtMs: null,
    reference,
  })
  return reference
}

const of = { userId: 'user_ada', kind: 'reversal', creditMicros: 1_000 }

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
    bench.nowMs = Date.parse('2027-01-01')
    await bench.createAccount('acct_1')
    await bench.createApiKey('key_1', 'acct_1')
    await addOwner(bench.db, 'user_ada')
    await look()
    await find()
  })
  afterEach(() => bench.auditAndClose())

  test('an owner is emailed each refund, dispute, and dispute that was won once', async () => {
    const purchasedAtMs = bench.nowMs
    await find({ back: 3n })
    await look()
    await find({ back: 10n, dispute: 'open' })
    await look()
    await find({ back: 3n })
    await look()
    await look()
    const bought = { ...of, purchasedAtMs }
    expect(await letters()).toEqual([
      {
        ...bought,
        ...{ amountMicros: -300, cause: 'refund' },
        ...{ remainingMicros: 700, balanceMicros: 700 },
      },
      {
        ...bought,
        ...{ amountMicros: -700, cause: 'dispute', remainingMicros: 0, balanceMicros: 0 },
      },
      {
        ...bought,
        ...{ amountMicros: 700, cause: 'dispute_won' },
        ...{ remainingMicros: 700, balanceMicros: 700 },
      },
    ])
    bench.nowMs += 15 * DAY_MS
    await look()
    expect(await letters()).toHaveLength(3)
    expect(await bench.db.selectFrom('alerts').selectAll().execute()).toEqual([])
  })

  test('many refunds are noted without emails in few statements, and never within one transaction', async () => {
    for (let count = 0; count < 60; count++) {
      bench.nowMs += 1
      await postLook(bench, `many${count}`, { back: 5n, accountId: 'acct_1' })
    }
    const statements: string[] = []
    const db = bench.db.withPlugin({
      transformQuery({ node }) {
        statements.push(node.kind)
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const transactions = vi.spyOn(db, 'transaction')
    const alerts = new Alerts({
      ids: bench.ids,
      clock: bench.clock,
      db,
      mails: false,
      tokenDecimals: new Map(),
    })
    await alerts.look({ accountIds: [], apiKeyIds: [] })
    // Two for the purchases, and two for their refunds.
    expect(statements.filter((kind) => kind === 'InsertQueryNode')).toHaveLength(4)
    expect(transactions).not.toHaveBeenCalled()
    await look()
    expect(await letters()).toEqual([])
  })

  test('a dispute that was won before anyone looked is emailed as a dispute, and then as won', async () => {
    await find({ back: 10n, dispute: 'open' })
    await find()
    await look()
    const causes = (await letters()).map((about) => 'cause' in about && about.cause)
    expect(causes.toSorted()).toEqual(['dispute', 'dispute_won'])
  })

  test('a suspended account is emailed too, and an owner who wants no emails is not', async () => {
    const { db } = bench
    await addOwner(db, 'user_bob', { alertMails: false })
    await db.updateTable('accounts').set({ disabled: 1 }).execute()
    await find({ back: 10n })
    await look()
    expect(await letters()).toMatchObject([{ ...of, cause: 'refund' }])
    await db.updateTable('accounts').set({ disabled: 0 }).execute()
  })

  test('refunds and disputes from before these emails existed, or older than a week, cause no email', async () => {
    await bench.db
      .updateTable('settings')
      .set({ value: '1' })
      .where('name', '=', 'alerts_noted')
      .execute()
    await find({ back: 3n })
    await look()
    await find({ back: 4n })
    bench.nowMs += 8 * DAY_MS
    await look()
    expect(await letters()).toEqual([])
    await find({ back: 5n })
    await look()
    expect(await letters()).toMatchObject([{ amountMicros: -100 }])
  })

  test('refunded credit and credit that an operator removed are not used credit', async () => {
    await spend(100)
    await find({ back: 8n })
    await look()
    await remove(50)
    await look()
    // 50 of 1,000 are left, and 100 of 150 were spent.
    expect(await letters()).toMatchObject([{ ...of, amountMicros: -800 }, { kind: 'removal' }])
    await spend(25)
    await look()
    expect((await letters()).slice(2)).toMatchObject([
      { kind: 'credit', step: 75, leftMicros: 25, creditedMicros: 150, removedMicros: 850 },
    ])
  })

  test('a refund of everything that is left sends one email, which says so', async () => {
    await find({ back: 10n })
    await look()
    expect(await letters()).toMatchObject([{ ...of, balanceMicros: 0 }])
  })

  test('an owner gets one email about each removal of credit by an operator, even if the account is suspended', async () => {
    const { db } = bench
    const first = await remove(400)
    await look()
    await look()
    const removal = { userId: 'user_ada', kind: 'removal' }
    const firstLetter = { ...removal, amountMicros: 400, reference: first, balanceMicros: 600 }
    expect(await letters()).toEqual([firstLetter])
    await db.updateTable('accounts').set({ disabled: 1 }).execute()
    const rest = await remove(600)
    await look()
    expect(await letters()).toEqual([
      firstLetter,
      { ...removal, amountMicros: 600, reference: rest, balanceMicros: 0 },
    ])
    await db.updateTable('accounts').set({ disabled: 0 }).execute()
    await look()
    bench.nowMs += 15 * DAY_MS
    await look()
    expect(await letters()).toHaveLength(2)
    expect(await db.selectFrom('alerts').selectAll().execute()).toEqual([])
  })

  test('credit that was removed before these emails existed, or over a week ago, causes no email', async () => {
    await bench.db
      .updateTable('settings')
      .set({ value: '2' })
      .where('name', '=', 'alerts_noted')
      .execute()
    await find({ back: 3n })
    await remove(100)
    await look()
    // Refunds were emailed before.
    expect(await letters()).toMatchObject([{ ...of, amountMicros: -300 }])
    await remove(100)
    bench.nowMs += 8 * DAY_MS
    await look()
    expect(await letters()).toHaveLength(1)
    await remove(100)
    await look()
    expect((await letters()).slice(1)).toMatchObject([{ kind: 'removal', balanceMicros: 400 }])
  })

  test('each of many removals is emailed once, however many were noted before', async () => {
    const { db } = bench
    bench.nowMs += 1
    // SQLite takes 32,766 parameters.
    const counted = sql`with recursive counted(n) as (
      select 1 union all select n + 1 from counted where n < 33000)`
    await sql`insert into entries (account_id, number, kind, purse, amount_micros, reference, created_at_ms)
      ${counted} select 'acct_1', 1000 + n, 'chargeback', 'backed', -1, 'many-' || n, ${sql.lit(bench.nowMs)}
        from counted`.execute(db)
    await sql`insert into alerts (subject, step, account_id, created_at_ms)
      ${counted} select 'acct_1 removed many-' || n, 0, 'acct_1', 0 from counted where n > 501`.execute(
      db,
    )
    await look()
    expect(await letters()).toHaveLength(501)
    await db.deleteFrom('entries').where('reference', 'like', 'many-%').execute()
  })

  test('credit that was removed before credit was last added no longer counts', async () => {
    await find({ back: 5n })
    bench.nowMs += 1
    await postLook(bench, 'Q', { accountId: 'acct_1' })
    await spend(1_120)
    await look()
    expect((await letters()).slice(1)).toEqual([])
    await spend(10)
    await look()
    expect((await letters()).slice(1)).toMatchObject([
      { kind: 'credit', step: 75, creditedMicros: 1_500, removedMicros: 0 },
    ])
  })
})

const reversal = {
  kind: 'reversal',
  purchasedAtMs: Date.parse('2027-01-01T12:00:00Z'),
  creditMicros: 100_000_000,
  remainingMicros: 0,
  balanceMicros: 0,
} as const

test.each<[string, AlertLetter['about'], string]>([
  [
    'a part that was refunded',
    {
      ...{ ...reversal, amountMicros: -30_000_000, cause: 'refund' },
      ...{ remainingMicros: 70_000_000, balanceMicros: 12_500_000 },
    },
    `A purchase was partly refunded (Ada)
A part of the purchase of $100.00 on 2027-01-01 UTC was refunded: $30.00 of credit was removed from the account "Ada". $70.00 of this purchase remains.

The account has $12.50 of paid credit.`,
  ],
  [
    'a refund of credit that was spent',
    {
      ...{ ...reversal, amountMicros: -100_000_000, cause: 'refund' },
      balanceMicros: -40_000_000,
    },
    `A purchase was refunded (Ada)
The purchase of $100.00 on 2027-01-01 UTC was refunded: $100.00 of credit was removed from the account "Ada".

The account owes $40.00.

Requests that need paid credit are refused with insufficient_credit until credit is added.`,
  ],
  [
    'a dispute',
    { ...reversal, amountMicros: -100_000_000, cause: 'dispute' },
    `The payment of a purchase is disputed (Ada)
The payment of the purchase of $100.00 on 2027-01-01 UTC is disputed: $100.00 of credit was removed from the account "Ada". It is added again if the bank decides against the dispute.

The account has no paid credit.

Requests that need paid credit are refused with insufficient_credit until credit is added.`,
  ],
  [
    'a dispute that was won',
    {
      ...{ ...reversal, amountMicros: 100_000_000, cause: 'dispute_won' },
      ...{ remainingMicros: 100_000_000, balanceMicros: 100_000_000 },
    },
    `The dispute of a purchase is over (Ada)
The bank decided against the dispute of the purchase of $100.00 on 2027-01-01 UTC: $100.00 of credit was added to the account "Ada" again. $100.00 of this purchase remains.

The account has $100.00 of paid credit.`,
  ],
  [
    'a refund that failed',
    {
      ...{ ...reversal, amountMicros: 30_000_000, cause: 'refund_failed' },
      ...{ remainingMicros: 100_000_000, balanceMicros: 30_000_000 },
    },
    `The refund of a purchase failed (Ada)
A refund of the purchase of $100.00 on 2027-01-01 UTC failed: $30.00 of credit was added to the account "Ada" again. $100.00 of this purchase remains.

The account has $30.00 of paid credit.`,
  ],
  [
    'a change whose cause is unknown',
    { ...reversal, amountMicros: -20_000_000, cause: null, balanceMicros: 1_000_000 },
    `Credit of a purchase was removed (Ada)
The purchase of $100.00 on 2027-01-01 UTC was refunded or disputed: $20.00 of credit was removed from the account "Ada".

The account has $1.00 of paid credit.`,
  ],
  [
    'credit that an operator removed',
    {
      ...{ kind: 'removal', amountMicros: 25_000_000, reference: 'chargeback-1042' },
      balanceMicros: -5_000_000,
    },
    `$25.00 of credit was removed (Ada)
An operator of the gateway removed $25.00 of paid credit from the account "Ada", with the reference "chargeback-1042".

The account owes $5.00.

Requests that need paid credit are refused with insufficient_credit until credit is added.`,
  ],
  [
    'credit that is used, a part of which was refunded',
    {
      ...{ kind: 'credit', step: 75, leftMicros: 10_000_000 },
      ...{ creditedMicros: 40_000_000, removedMicros: 60_000_000 },
    },
    `75% of the credit is used (Ada)
$10.00 of $40.00 of credit is left in the account "Ada". $40.00 is its credit right after the last top-up, less $60.00 that was refunded or removed since then.`,
  ],
])('the email about %s says what happened, and what follows from it', (_, about, said) => {
  const letter = alertLetter({
    ...{ to: 'ada@example.org', accountName: 'Ada', about },
    accountUrl: 'https://gate.example.com/app/acct_1',
  })
  expect(`${letter.subject}\n${letter.text}`).toContain(`${said}

See the credit:
https://gate.example.com/app/acct_1/credit

You get this email because you own the account.`)
})
