import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { TEST_DATABASES } from '../../src/store/testing/test-databases.ts'
import { storeBefore } from './store-before.ts'

/** The migration that tells open disputes from lost and won ones, on the schema before it. */

test.each(TEST_DATABASES)(
  'on $engine earlier disputes count as open until their payments are looked at, and other purchases have none',
  async ({ create }) => {
    const { old, upgraded } = await storeBefore(create, 48)
    await sql`insert into accounts (id, name, created_at_ms) values ('A', 'A', 0)`.execute(old.db)
    for (const [id, disputed] of [
      ['pur_a', 1],
      ['pur_b', 0],
    ] as const) {
      await sql`
        insert into purchases (account_id, method, credit_micros, created_at_ms, id, source, state, disputed)
        values ('A', 'card', 1000, 0, ${id}, ${`play:${id}`}, 'held', ${disputed})`.execute(old.db)
    }
    const store = await upgraded()
    const rows = await store.db.selectFrom('purchases').select(['id', 'dispute']).execute()
    expect(Object.fromEntries(rows.map(({ id, dispute }) => [id, dispute]))).toEqual({
      pur_a: 'open',
      pur_b: null,
    })
  },
)
