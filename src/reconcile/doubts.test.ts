import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { STORE_BENCHES } from '../ledger/testing/benches.ts'
import type { StoreBench } from '../ledger/testing/store-bench.ts'
import { AGREED_LOOKUPS_MIN, Doubts, type DoubtUnit, wholeOf } from './doubts.ts'

const UNIT: DoubtUnit = {
  upstream: 'openrouter',
  modelId: 'acme/one',
  endpoint: 'chat',
  stream: true,
}

describe.each(STORE_BENCHES)('doubts on $engine', ({ open }) => {
  let bench: StoreBench
  let failures: unknown[]

  beforeEach(async () => {
    bench = await open()
    failures = []
  })
  afterEach(async () => {
    expect(failures).toEqual([])
    await bench.close()
  })

  /** The doubts of one process. */
  async function startProcess(): Promise<Doubts> {
    const doubts = new Doubts({
      db: bench.db,
      clock: { nowMs: () => 1_000 },
      onChange: () => {},
      onFailure: (cause) => failures.push(cause),
    })
    await doubts.read()
    return doubts
  }

  async function agree(doubts: Doubts, times: number): Promise<void> {
    for (let time = 0; time < times; time++) await doubts.agreed(UNIT, AGREED_LOOKUPS_MIN)
  }

  test('one difference puts its whole unit in doubt, and no other, until a hundred look-ups in a row agree', async () => {
    const doubts = await startProcess()
    const stored = doubts.differed(UNIT)
    // In this process from that tick on.
    expect(doubts.covers(UNIT)).toBe(true)
    await stored
    for (const other of [{ modelId: 'acme/two' }, { endpoint: 'messages' }, { stream: false }]) {
      expect(doubts.covers({ ...UNIT, ...other })).toBe(false)
    }
    await agree(doubts, AGREED_LOOKUPS_MIN - 1)
    await doubts.differed(UNIT)
    await agree(doubts, AGREED_LOOKUPS_MIN - 1)
    expect(doubts.covers(UNIT)).toBe(true)
    await agree(doubts, 1)
    expect(doubts.covers(UNIT)).toBe(false)
  })

  test('a process that starts reads the doubts, and counts agreements from zero', async () => {
    const first = await startProcess()
    await first.differed(UNIT)
    await agree(first, AGREED_LOOKUPS_MIN - 1)
    const second = await startProcess()
    expect(second.units).toEqual([UNIT])
    await agree(second, 1)
    expect(second.covers(UNIT)).toBe(true)
    await agree(second, AGREED_LOOKUPS_MIN - 1)
    expect(second.covers(UNIT)).toBe(false)
    await first.read()
    expect(first.covers(UNIT)).toBe(false)
  })

  test("a doubt that another process found is not ended by this process's agreements", async () => {
    const [one, other] = [await startProcess(), await startProcess()]
    await one.differed(UNIT)
    await agree(one, AGREED_LOOKUPS_MIN - 1)
    await other.differed(UNIT)
    await agree(one, 1)
    expect(one.covers(UNIT)).toBe(true)
    expect((await startProcess()).covers(UNIT)).toBe(true)
    // A hundred in a row must agree after it.
    await agree(one, AGREED_LOOKUPS_MIN - 1)
    expect((await startProcess()).covers(UNIT)).toBe(true)
    await agree(one, 1)
    expect((await startProcess()).covers(UNIT)).toBe(false)
  })

  test('a doubt in a whole upstream covers all of its requests, and no other upstream', async () => {
    const doubts = await startProcess()
    await doubts.differed(wholeOf('openrouter'))
    expect(doubts.covers(UNIT)).toBe(true)
    expect(doubts.covers({ ...UNIT, upstream: 'local' })).toBe(false)
  })
})

test('a difference that could not be stored counts in this process, and is stored with the next read', async () => {
  const bench = await STORE_BENCHES[0]?.open()
  if (bench === undefined) throw new Error('no store')
  const failures: unknown[] = []
  const input = { clock: { nowMs: () => 1_000 }, onChange: () => {} }
  const onFailure = (cause: unknown) => void failures.push(cause)
  const doubts = new Doubts({ ...input, db: bench.db, onFailure })
  await bench.db.schema.alterTable('lookup_doubts').renameTo('away').execute()
  await doubts.differed(UNIT)
  await doubts.read()
  expect([failures.length, doubts.covers(UNIT)]).toEqual([2, true])
  await bench.db.schema.alterTable('away').renameTo('lookup_doubts').execute()
  await doubts.read()
  const later = new Doubts({ ...input, db: bench.db, onFailure })
  await later.read()
  expect([failures.length, later.covers(UNIT)]).toEqual([2, true])
  await bench.close()
})
