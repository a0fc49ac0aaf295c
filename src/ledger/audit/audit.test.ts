import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../testing/benches.ts'
import { runScript } from '../testing/script.ts'
import type { StoreBench } from '../testing/store-bench.ts'
import { auditStore } from './audit.ts'

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: StoreBench

  /** Turns off the checks of the tables: the audit is for rows that they would refuse. */
  async function allowImpossibleFigures(): Promise<void> {
    if (bench.store.location.kind === 'sqlite') await change('pragma ignore_check_constraints = on')
    else {
      await change('alter table accounts drop constraint accounts_held')
      await change('alter table api_keys drop constraint api_keys_held')
      await change('alter table credit_codes drop constraint credit_codes_redeemed')
      await change('alter table purchases drop constraint purchases_reversed')
      await change('alter table purchases drop constraint purchases_credited')
    }
  }

  /** Changes rows behind the ledger's back. */
  async function change(statement: string): Promise<void> {
    await sql.raw(statement).execute(bench.db)
  }

  beforeEach(async () => {
    bench = await open()
    await allowImpossibleFigures()
    await runScript(
      bench,
      `account A
     key K A
     credit A backed 1000 r1
     credit A free 10 r2 until 100
     open R1 K 50 free
     settle R1 provisional 40
     correct R1 final 45
     open R2 K 50 free
     settle R2 provisional 20 estimate
     open R3 K 50
     settle R3 unresolved
     open R4 K 50
     open R5 K 50
     settle R5 released
     open R6 K 50 fee 0
     settle R6 provisional 30
     correct R6 final 31
     open R7 K 50 fee 10000
     settle R7 final 50`,
    )
  })

  afterEach(async () => {
    await bench.close()
  })

  test('the audit of an exact ledger counts what it checked and finds nothing', async () => {
    expect(await auditStore(bench.store)).toEqual({
      ok: true,
      checked: { accounts: 1, apiKeys: 1, requests: 7, entries: 9, creditCodes: 0, purchases: 0 },
      newestRequest: { id: 'R7', openedAtMs: expect.any(Number) },
      differences: [],
      wentBack: [],
    })
  })

  test.each([
    ['accounts', 'backed_balance_micros'],
    ['accounts', 'backed_held_micros'],
    ['accounts', 'free_balance_micros'],
    ['accounts', 'free_held_micros'],
    ['accounts', 'free_expires_at_ms'],
    ['accounts', 'has_backed_credit'],
    ['accounts', 'entry_count'],
    ['api_keys', 'spend_micros'],
    ['api_keys', 'held_micros'],
    ['api_keys', 'open_holds'],
    ['requests', 'backed_charge_micros'],
    ['requests', 'free_charge_micros'],
    ['requests', 'written_off_micros'],
    ['requests', 'backed_held_micros'],
    ['requests', 'free_held_micros'],
    ['holds', 'backed_granted_micros'],
    ['holds', 'free_granted_micros'],
    ['entries', 'amount_micros'],
  ])('a difference of one in %s.%s is found', async (table, column) => {
    await change(`update ${table} set ${column} = ${column} + 1`)
    const audit = await auditStore(bench.store)
    expect(audit.ok).toBe(false)
    expect(audit.differences.length).toBeGreaterThan(0)
  })

  test.each([
    [
      'a charge that is not its cost with the fee',
      "update requests set cost_usd = '0.1' where id = 'R1'",
    ],
    [
      'a state that does not go with its hold',
      "update requests set state = 'open' where id = 'R5'",
    ],
    ['a fee that was changed since', "update requests set fee_basis_points = 501 where id = 'R7'"],
    [
      'a charge at the usual fee of a hold at another',
      "update requests set fee_basis_points = 500 where id = 'R6'",
    ],
    ['an entry that is gone', 'delete from entries where number = 3'],
    ['the latest entry that is gone', 'delete from entries where number = 9'],
    ['a request of another key', "update requests set api_key_id = 'K2' where id = 'R1'"],
    [
      'an unresolved request whose cost stands',
      "update requests set cost_stands = 1 where id = 'R3'",
    ],
    [
      'an estimate that stands as a reported cost',
      "update requests set cost_stands = 1, cost_usd = null where id = 'R1'",
    ],
    ['an open request that is gone', "delete from holds where id = 'R4'"],
  ])('%s is found', async (_what, statement) => {
    await bench.createApiKey('K2', 'A')
    await change(statement)
    expect((await auditStore(bench.store)).ok).toBe(false)
  })

  test('a charge without its cost is found, unless a release that stores no cost wrote it', async () => {
    const lost = ['R1', 'R2', 'R6', 'R7'].flatMap((id) =>
      ['cost_micros', 'cost_rest_pico'].map((column) => ({ what: `requests.${column}`, id })),
    )
    await change('update requests set cost_micros = null, cost_rest_pico = null')
    const { differences } = await auditStore(bench.store)
    expect(differences.map(({ what, id }) => ({ what, id }))).toEqual(lost)
    // The newest schema of 0.2.0, which may have been frozen with a call under way while the store was migrated.
    await change(`insert into instances (id, started_at_ms, heartbeat_at_ms, program_schema)
      select distinct instance_id, 0, 0, 26 from requests`)
    expect(await auditStore(bench.store)).toMatchObject({ ok: true, differences: [] })
    await change("update requests set cost_micros = 1, cost_rest_pico = 0 where id = 'R1'")
    expect((await auditStore(bench.store)).ok).toBe(false)
  })

  test('a settled request that is missing and was not pruned is found', async () => {
    await change("delete from requests where state in ('final', 'released')")
    expect((await auditStore(bench.store)).differences).toEqual([
      { what: 'pruned_requests.backed_charge_micros', id: 'K', stored: 0, recomputed: 116 },
      { what: 'pruned_requests.free_charge_micros', id: 'K', stored: 0, recomputed: 10 },
    ])
  })

  test.each([
    ['a code that lost its account', 'set redeemed_by = null, redeemed_at_ms = null'],
    ['a code of another amount than it gave', 'set amount_micros = 101'],
    ['a code of another account than it gave to', "set redeemed_by = 'A2'"],
    ['the credit of a code that is not there', "set id = 'code_other'"],
  ])('%s is found', async (_what, statement) => {
    await runScript(bench, 'account A2\ncode C 100\nredeem C A')
    expect(await auditStore(bench.store)).toMatchObject({ ok: true, checked: { creditCodes: 1 } })
    await change(`update credit_codes ${statement}`)
    expect((await auditStore(bench.store)).ok).toBe(false)
  })

  test.each([
    ['a purchase that lost its credit', "set state = 'held' where id = 'pur_P'"],
    ['a purchase of another credit than it gave', 'set credit_micros = 101'],
    ['a purchase of another account than it gave to', "set account_id = 'A2'"],
    ['a reversal that the purchase does not know', 'set reversed_micros = 0, reversals = 0'],
    ['a difference of one in what went back', 'set reversed_micros = reversed_micros + 1'],
    ['a reversal that was not posted', 'set reversals = reversals + 1'],
    ['the credit of a purchase that is not there', "set id = 'pur_other' where id = 'pur_P'"],
    ['a purchase that was credited without an entry', "set state = 'credited' where id = 'pur_P2'"],
  ])('%s is found', async (_what, statement) => {
    await runScript(
      bench,
      `account A2
       look L1 P A 100 paid 10
       land L1
       look L2 P A 100 paid 10 back 4
       land L2
       look L3 P2 A 100 open
       land L3`,
    )
    expect(await auditStore(bench.store)).toMatchObject({ ok: true, checked: { purchases: 2 } })
    await change(`update purchases ${statement}`)
    expect((await auditStore(bench.store)).ok).toBe(false)
  })

  test('the audit names the stored value and the right one', async () => {
    await change('update api_keys set open_holds = 7')
    expect((await auditStore(bench.store)).differences).toEqual([
      { what: 'api_keys.open_holds', id: 'K', stored: 7, recomputed: 1 },
    ])
  })
})
