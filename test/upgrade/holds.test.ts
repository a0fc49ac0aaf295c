import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { getRequest } from '../../src/ledger/activity/activity.ts'
import { auditStore } from '../../src/ledger/audit/audit.ts'
import { createLedger } from '../../src/ledger/engines/create-ledger.ts'
import { costOfCharge, FACTS } from '../../src/ledger/testing/script.ts'
import { AUDIT_CHECKS } from '../../src/operations/gateway/upkeep.ts'
import { TEST_DATABASES } from '../../src/store/testing/test-databases.ts'
import { micros } from '../../src/vocabulary/money.ts'
import { storeBefore } from './store-before.ts'

/** The migration that moves open holds to a separate table, on the schema before it. */

test.each(TEST_DATABASES)(
  'on $engine a request that was open before the migration stays open, and is charged once when it ends',
  async ({ create }) => {
    const { old, upgraded } = await storeBefore(create, 36)
    for (const statement of [
      `insert into accounts (id, name, created_at_ms, backed_balance_micros, backed_held_micros, has_backed_credit,
        entry_count, last_credit_number, last_credit_balance_micros, open_holds)
        values ('A', 'A', 0, 100, 30, 1, 1, 1, 100, 1)`,
      `insert into api_keys (id, account_id, name, key_hash, display_prefix, created_at_ms, held_micros, open_holds)
        values ('K', 'A', 'K', 'hash', 'sk', 0, 30, 1)`,
      `insert into entries (account_id, number, kind, purse, amount_micros, reference, created_at_ms)
        values ('A', 1, 'top_up', 'backed', 100, 'first', 0)`,
      `insert into requests (id, account_id, api_key_id, instance_id, endpoint, model_id, stream, state,
        price_snapshot_id, opened_at_ms, backed_granted_micros, backed_held_micros)
        values ('R', 'A', 'K', 'I', 'chat', 'm', 0, 'open', 'P', 0, 30, 30)`,
    ]) {
      await sql.raw(statement).execute(old.db)
    }
    const store = await upgraded()
    const exact = async () => (await auditStore(store, { checks: AUDIT_CHECKS })).differences
    expect(await exact()).toEqual([])
    expect(await getRequest(store.db, 'R')).toMatchObject({ state: 'open', backedHeldMicros: 30 })
    const ledger = createLedger({ location: store.location })
    const chargeMicros = micros(21)
    const costUsd = costOfCharge(chargeMicros)
    const resolution = { kind: 'final', chargeMicros, costUsd } as const
    for (const settledNow of [true, false]) {
      expect(await ledger.settle({ requestId: 'R', resolution, facts: FACTS })).toMatchObject({
        state: 'final',
        chargedMicros: 21,
        settledNow,
      })
    }
    expect(await exact()).toEqual([])
    await ledger.close()
  },
)
