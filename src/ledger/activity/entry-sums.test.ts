import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../vocabulary/clock.ts'
import { STORE_BENCHES } from '../testing/benches.ts'
import type { StoreBench } from '../testing/store-bench.ts'
import { auditEntrySums, ENTRIES_A_SUM, placeBefore, sumEntries } from './entry-sums.ts'

const ENTRIES = 2 * ENTRIES_A_SUM + 500

let bench: StoreBench

/** The amount of an entry, and when it was posted: at times several in a moment. */
const amountOf = (number: number): number => (number === 1 ? 50_000_000 : -((number * 7_919) % 997))
const timeOf = (number: number): number => Math.floor(number / 3) * HOUR_MS

/** The place behind the newest entry from before a moment, entry by entry. */
function placeByHand(toMs: number) {
  let [before, balanceMicros] = [1, 0]
  for (let number = 1; number <= ENTRIES && timeOf(number) < toMs; number++) {
    before = number + 1
    balanceMicros += amountOf(number)
  }
  return { before, balanceMicros }
}

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
    const { db } = bench
    for (const id of ['A', 'B']) await bench.createAccount(id)
    const numbers = Array.from({ length: ENTRIES }, (_, place) => place + 1)
    for (let at = 0; at < ENTRIES; at += 500) {
      const rows = numbers.slice(at, at + 500).map(
        (number) => sql`('A', ${sql.lit(number)}, 'charge', 'backed',
          ${sql.lit(amountOf(number))}, ${sql.lit(timeOf(number))})`,
      )
      await sql`insert into entries (account_id, number, kind, purse, amount_micros, created_at_ms)
        values ${sql.join(rows)}`.execute(db)
    }
    const balance = numbers.reduce((sum, number) => sum + amountOf(number), 0)
    await sql`update accounts set entry_count = ${ENTRIES}, backed_balance_micros = ${balance}
      where id = 'A'`.execute(db)
  })
  afterEach(() => bench.close())

  const sumAll = () => sumEntries(bench.store, async () => {})

  async function differences(): Promise<readonly string[]> {
    const what: string[] = []
    await auditEntrySums(bench.store.reports, {
      found: (found) => what.push(...found.map(({ id }) => id)),
      read: () => {},
    })
    return what
  }

  test('the place of a moment has its balance, whether all, some or no entries are added up', async () => {
    const moments = [
      0,
      1,
      HOUR_MS,
      ...[700, 1_333, 1_334, 1_400, 1_500, 9_999].map((h) => h * HOUR_MS),
    ]
    const expectPlaces = async () => {
      for (const toMs of moments) {
        const place = await placeBefore(bench.store.reports, { accountId: 'A', toMs })
        expect(place, String(toMs)).toEqual(placeByHand(toMs))
      }
    }
    await expectPlaces()
    await sumAll()
    await sumAll()
    expect(await numbersOf()).toEqual([ENTRIES_A_SUM, 2 * ENTRIES_A_SUM])
    expect(await differences()).toEqual([])
    await expectPlaces()
    await bench.db
      .deleteFrom('entry_sums')
      .where('number', '=', 2 * ENTRIES_A_SUM)
      .execute()
    await expectPlaces()
    for (const accountId of ['B', 'none']) {
      const place = await placeBefore(bench.store.reports, { accountId, toMs: HOUR_MS })
      expect(place).toEqual({ before: 1, balanceMicros: 0 })
    }
  })

  async function numbersOf(): Promise<readonly number[]> {
    const sums = bench.db.selectFrom('entry_sums').select('number').orderBy('number')
    return (await sums.execute()).map(({ number }) => number)
  }

  test('entries are ordered by their numbers, even if their times went back by seconds', async () => {
    const later = (number: number, byMs: number) =>
      sql`update entries set created_at_ms = created_at_ms + ${byMs} where number = ${number}`.execute(
        bench.db,
      )
    // The one before the last of an hour came from a gateway whose clock is ahead.
    await later(1_000, HOUR_MS + 30_000)
    const toMs = timeOf(1_000) + HOUR_MS
    const place = await placeBefore(bench.store.reports, { accountId: 'A', toMs })
    expect(place).toEqual(placeByHand(toMs))
  })

  test('the audit names a sum that is not that of its entries', async () => {
    await sumAll()
    await sql`update entries set amount_micros = amount_micros - 1 where number = ${ENTRIES_A_SUM + 1}`.execute(
      bench.db,
    )
    expect(await differences()).toEqual([`A ${2 * ENTRIES_A_SUM}`])
  })

  test('one statement checks all accounts if no sum is missing', async () => {
    const statements = async (): Promise<number> => {
      let count = 0
      await sumEntries(bench.store, async () => void count++)
      return count
    }
    expect(await statements()).toBe(3)
    expect(await statements()).toBe(1)
  })

  test('when stopped, adding up ends with its current statement', async () => {
    const stopped = async () => {
      throw new Error('stopped')
    }
    await expect(sumEntries(bench.store, stopped)).rejects.toThrow('stopped')
    expect(await numbersOf()).toEqual([])
  })

  test('no sum is written for missing entries', async () => {
    const { db, reports } = bench.store
    await sql`update accounts set entry_count = ${ENTRIES - 600} where id = 'A'`.execute(db)
    await sumEntries({ db, reports }, async () => {})
    expect(await numbersOf()).toEqual([ENTRIES_A_SUM])
  })
})
