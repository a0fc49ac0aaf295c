import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createLedger } from '../../src/ledger/engines/create-ledger.ts'
import { getPurchase } from '../../src/ledger/purchases.ts'
import { TEST_DATABASES } from '../../src/store/testing/test-databases.ts'
import { micros } from '../../src/vocabulary/money.ts'
import { storeBefore } from './store-before.ts'

/** The migration that numbers receipts, on the schema before it. */

const PURCHASES = [
  { id: 'pur_a', state: 'credited', currency: 'usd', units: '10', creditedAtMs: 3_000 },
  { id: 'pur_b', state: 'expired', currency: null, units: null, creditedAtMs: null },
  { id: 'pur_c', state: 'credited', currency: 'usd', units: '10', creditedAtMs: 1_000 },
]

test.each(TEST_DATABASES)(
  'on $engine purchases that were credited before get numbers in their order, and the next purchase gets the next number',
  async ({ create }) => {
    const { old, upgraded } = await storeBefore(create, 35)
    await sql`insert into accounts (id, name, created_at_ms) values ('A', 'A', 0)`.execute(old.db)
    for (const { id, state, currency, units, creditedAtMs } of PURCHASES) {
      const values = sql.join([id, `play:${id}`, state, currency, units, creditedAtMs].map(sql.lit))
      await sql`
        insert into purchases (account_id, method, credit_micros, created_at_ms,
          id, source, state, paid_currency, paid_units, credited_at_ms)
        values ('A', 'card', 1000, 0, ${values})`.execute(old.db)
    }
    const store = await upgraded()
    const ledger = createLedger({ location: store.location })
    await ledger.postPurchase({
      ...{ id: 'pur_d', accountId: 'A', method: 'card', source: 'play:pur_d' },
      ...{ creditMicros: micros(1_000), priceUnits: null, seenReversals: 0, approved: false },
      fact: {
        ...{ kind: 'paid', paid: { currency: 'usd', units: 10n }, reversedUnits: 0n },
        ...{ paymentRef: null, dispute: null, judgment: { kind: 'credit' } },
      },
    })
    const numberOf = async (id: string) => (await getPurchase(store.db, id))?.receiptNumber
    const numbers = await Promise.all(['pur_c', 'pur_a', 'pur_d', 'pur_b'].map(numberOf))
    expect(numbers).toEqual([1, 2, 3, null])
    const buyers = ['pur_a', 'pur_d', 'pur_b'].map(
      async (id) => (await getPurchase(store.db, id))?.buyerJson,
    )
    const buyer = '{"name":"A","address":null,"tax_id":null,"email":null}'
    expect(await Promise.all(buyers)).toEqual([buyer, buyer, null])
    await ledger.close()
  },
)

test.each(TEST_DATABASES)(
  'on $engine receipts keep the buyer that their account has at the upgrade',
  async ({ create }) => {
    const { old, upgraded } = await storeBefore(create, 50)
    const billing = JSON.stringify({ name: 'Helix Lab GmbH', address: null, tax_id: 'DE1' })
    await sql`insert into accounts (id, name, email, billing_json, created_at_ms)
      values ('A', 'A', 'a@example.org', ${sql.lit(billing)}, 0)`.execute(old.db)
    await sql`
      insert into purchases (account_id, method, credit_micros, created_at_ms,
        id, source, state, paid_currency, paid_units, credited_at_ms)
      values ('A', 'card', 1000, 0, 'pur_a', 'play:pur_a', 'credited', 'usd', '10', 1000)`.execute(
      old.db,
    )
    const store = await upgraded()
    const { buyerJson } = (await getPurchase(store.db, 'pur_a')) ?? {}
    expect(JSON.parse(buyerJson ?? 'null')).toEqual({
      ...{ name: 'Helix Lab GmbH', address: null, tax_id: 'DE1', email: 'a@example.org' },
    })
  },
)

test.each(TEST_DATABASES)(
  'on $engine earlier invitations by operators keep their inviter, and links of other kinds have none',
  async ({ create }) => {
    const { old, upgraded } = await storeBefore(create, 35)
    await sql`insert into users (id, email, name, created_at_ms, updated_at_ms) values ('U', 'u@example.com', 'U', 0, 0)`.execute(
      old.db,
    )
    for (const [id, kind] of [
      ['L1', 'invitation'],
      ['L2', 'invitation'],
      ['L3', 'reset'],
    ]) {
      await sql`
        insert into links (id, kind, token_hash, expires_at_ms, created_at_ms)
        values (${id}, ${kind}, ${id}, 1, 0)`.execute(old.db)
      if (id === 'L2') continue
      await sql`
        insert into operator_actions (id, user_id, action, target_id, created_at_ms)
        values (${`act_${id}`}, 'U', 'invite', ${id}, 0)`.execute(old.db)
    }
    const store = await upgraded()
    const rows = await store.db.selectFrom('links').select(['id', 'inviter_id']).execute()
    expect(Object.fromEntries(rows.map((row) => [row.id, row.inviter_id]))).toEqual({
      L1: 'U',
      L2: null,
      L3: null,
    })
  },
)
