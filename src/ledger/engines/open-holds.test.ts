import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../testing/benches.ts'
import { runScript } from '../testing/script.ts'
import type { StoreBench } from '../testing/store-bench.ts'

const SETUP = 'account A\nkey K A\ncredit A backed 1000 first'

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  let bench: StoreBench

  beforeEach(async () => {
    bench = await open()
    await runScript(bench, SETUP)
  })

  afterEach(() => bench.auditAndClose())

  /** The IDs in each of the two tables. */
  async function places(): Promise<Record<'holds' | 'requests', string[]>> {
    const { db } = bench
    const holds = await db.selectFrom('holds').select('id').orderBy('id').execute()
    const requests = await db.selectFrom('requests').select('id').orderBy('id').execute()
    return { holds: holds.map(({ id }) => id), requests: requests.map(({ id }) => id) }
  }

  test('an open hold is in one table and an ended one in the other, in any order', async () => {
    await runScript(bench, 'open R1 K 10\nopen R2 K 10\nnote R2 gen\nopen R3 K 10')
    expect(await places()).toEqual({ holds: ['R1', 'R2', 'R3'], requests: [] })
    expect(await bench.request('R2')).toMatchObject({ state: 'open', generationId: 'gen' })
    await bench.audit()
    await runScript(bench, 'settle R1 final 7\nsettle R2 released\nforget R3')
    expect(await places()).toEqual({ holds: [], requests: ['R1', 'R2', 'R3'] })
    expect(await bench.request('R2')).toMatchObject({ state: 'released', generationId: 'gen' })
    await bench.audit()
    expect(await runScript(bench, 'settle R3 final 5 →')).toMatch(/→ final 5/)
  })

  test('a request that has ended is not opened again, and its client may try another time', async () => {
    await runScript(bench, 'open R1 K 10\nforget R1')
    expect(await runScript(bench, 'open R1 K 10 →')).toMatch(/rejects: StoreUnavailable/)
    expect(await places()).toEqual({ holds: [], requests: ['R1'] })
  })

  test("holds that an earlier release opened end in that release's table", async () => {
    await runScript(bench, 'open R1 K 10\nopen R2 K 10\nopen R3 K 10 by J\nopen R4 K 10')
    await sql`insert into requests (id, account_id, api_key_id, instance_id, endpoint, upstream, model_id, stream,
        backed_granted_micros, free_granted_micros, backed_held_micros, price_snapshot_id, opened_at_ms, state)
      select id, account_id, api_key_id, instance_id, endpoint, upstream, model_id, stream,
        backed_granted_micros, free_granted_micros, backed_granted_micros, price_snapshot_id, opened_at_ms, 'open'
      from holds where id <> 'R4'`.execute(bench.db)
    await sql`delete from holds where id <> 'R4'`.execute(bench.db)
    await bench.audit()
    const again = await runScript(
      bench,
      `open R1 K 10                          →
note R1 gen
settle R1 final 7                      →
abandon J                              →
settle R2 provisional 5                →
settle R4 final 3                      →`,
    )
    expect(again).toMatch(/opened/)
    expect(again).toMatch(/→ final 7/)
    expect(again).toMatch(/→ final 3/)
    expect(await bench.request('R3')).toMatchObject({ state: 'unresolved' })
    expect(await places()).toEqual({ holds: [], requests: ['R1', 'R2', 'R3', 'R4'] })
  })
})
