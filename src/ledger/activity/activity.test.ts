import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PROGRAM_SCHEMA } from '../../store/migrations/migrations.ts'
import { firstIdOf } from '../../vocabulary/ids.ts'
import {
  abandonEarlierInstances,
  heartbeat,
  registerInstance,
  stopInstance,
} from '../instances/open-instance.ts'
import { STORE_BENCHES } from '../testing/benches.ts'
import { holdInput, runScript } from '../testing/script.ts'
import type { StoreBench } from '../testing/store-bench.ts'
import { getRequest, listRequests, type RequestFilter } from './activity.ts'
import { getBalance, hasPostedCredit } from './balance.ts'
import { listBought, listStatement } from './entries.ts'

let bench: StoreBench

/** The id of a request made at so many seconds. */
const idAt = (seconds: number): string => firstIdOf({ prefix: 'req', timeMs: seconds * 1_000 })

const HOUR = 3_600
const [R1, R2, R3, R4] = [
  idAt(10 * HOUR),
  idAt(20 * HOUR),
  idAt(30 * HOUR),
  idAt(40 * HOUR),
] as const

describe.each(STORE_BENCHES)('on $engine', ({ open }) => {
  beforeEach(async () => {
    bench = await open()
    await runScript(
      bench,
      `account A1
     account A2
     key K1 A1
     key K2 A1
     key K3 A2
     at 0
     credit A1 backed 1000 r1
     credit A2 backed 1000 r1
     at ${10 * HOUR}
     open ${R1} K1 10
     settle ${R1} final 5
     at ${20 * HOUR}
     open ${R2} K2 20
     settle ${R2} unresolved
     at ${30 * HOUR}
     open ${R3} K3 30
     at ${40 * HOUR}
     open ${R4} K1 40
     settle ${R4} unresolved`,
    )
  })

  afterEach(() => bench.close())

  describe('requests are listed', () => {
    async function listed(filter: RequestFilter): Promise<readonly string[]> {
      const { requests } = await listRequests(bench.store.reports, { ...filter, limit: 10 })
      return requests.map(({ id }) => id)
    }

    test.each<[string, RequestFilter, readonly string[]]>([
      ['all', {}, [R4, R3, R2, R1]],
      ['of an account', { accountId: 'A1' }, [R4, R2, R1]],
      ['of a key', { apiKeyId: 'K1' }, [R4, R1]],
      ['of a key that is not the account’s', { accountId: 'A2', apiKeyId: 'K1' }, []],
      ['in a state', { state: 'unresolved' }, [R4, R2]],
      ['in a state that is settled', { state: 'final' }, [R1]],
      ['of a model', { modelId: 'author/name' }, [R4, R3, R2, R1]],
      ['of another model', { modelId: 'author/other' }, []],
      ['since a moment', { sinceMs: 20 * HOUR * 1_000 }, [R4, R3, R2]],
      ['until a moment', { untilMs: 20 * HOUR * 1_000 }, [R1]],
      ['in between', { sinceMs: 1, untilMs: 30 * HOUR * 1_000, accountId: 'A1' }, [R2, R1]],
    ])('%s, newest first', async (_which, filter, ids) => {
      expect(await listed(filter)).toEqual(ids)
    })

    test('by their tags, each as a whole, case and all', async () => {
      const tagged: readonly (readonly string[])[] = [
        ['x'],
        ['a"x', 'X', 'xx'],
        ['[', '%', '\\', ']"x'],
        ['a b', 'x'],
        ['\\"x', 'a"'],
      ]
      for (const [place, tags] of tagged.entries()) {
        const id = idAt(50 * HOUR + place)
        const hold = holdInput(id, { accountId: 'A2', apiKeyId: 'K3', tags })
        const verdict = await bench.ledger.openHold(hold)
        expect(verdict.kind).toBe('opened')
      }
      const tags = [...new Set(tagged.flat()), '', '"', ']', 'x"', '_', 'a']
      for (const tag of tags) {
        const ids = tagged.flatMap((each, place) =>
          each.includes(tag) ? [idAt(50 * HOUR + place)] : [],
        )
        expect([tag, await listed({ tag })]).toEqual([tag, ids.toReversed()])
      }
      expect(await listed({ tag: ['X', '%'] })).toEqual([idAt(50 * HOUR + 2), idAt(50 * HOUR + 1)])
    })

    test('by pages without gaps or repeats', async () => {
      const pages: (readonly string[])[] = []
      let cursor: string | null = null
      do {
        const page = await listRequests(bench.store.reports, { cursor, limit: 2 })
        pages.push(page.requests.map(({ id }) => id))
        cursor = page.nextCursor
      } while (cursor !== null)
      expect(pages).toEqual([
        [R4, R3],
        [R2, R1],
      ])
    })

    test('or one by one', async () => {
      expect(await getRequest(bench.store.reports, R2)).toMatchObject({
        id: R2,
        accountId: 'A1',
        apiKeyId: 'K2',
        endpoint: 'chat',
        modelId: 'author/name',
        stream: false,
        state: 'unresolved',
        backedGrantedMicros: 20,
        backedHeldMicros: 20,
        httpStatus: 200,
        openedAtMs: 20 * HOUR * 1_000,
        endedAtMs: 20 * HOUR * 1_000,
        settledAtMs: null,
      })
      expect(await getRequest(bench.store.reports, 'req_none')).toBeNull()
    })
  })

  test('a statement begins with the newest entry', async () => {
    const { lines } = await listStatement(bench.store.reports, { accountId: 'A1', limit: 1 })
    expect(lines.map(({ entry }) => entry)).toEqual([
      {
        accountId: 'A1',
        number: 2,
        kind: 'charge',
        purse: 'backed',
        amountMicros: -5,
        reference: null,
        requestId: R1,
        apiKeyId: 'K1',
        expiresAtMs: null,
        createdAtMs: 10 * HOUR * 1_000,
      },
    ])
  })

  test('a statement has the balance of paid and free credit after each entry, with pages of any size', async () => {
    await runScript(
      bench,
      `credit A1 backed -10 r3
     credit A1 free 40 r4 until ${50 * HOUR}
     credit A1 backed 20 r5`,
    )
    const entries = (await bench.entries('A1')).toReversed()
    const sums = entries.map((_, place) =>
      entries.slice(place).reduce((sum, { amountMicros }) => sum + amountMicros, 0),
    )
    const read = (page: object) =>
      listStatement(bench.store.reports, { accountId: 'A1', limit: 9, ...page })
    for (const limit of [1, 2, 9]) {
      let page = await read({ limit })
      const lines = [...page.lines]
      while (page.next !== null) {
        page = await read({ limit, place: page.next })
        lines.push(...page.lines)
      }
      expect(lines.map(({ entry }) => entry)).toEqual(entries)
      expect(lines.map(({ balanceMicros }) => balanceMicros)).toEqual(sums)
    }
    expect(await read({ accountId: 'none' })).toEqual({ lines: [], next: null })
  })

  test('a statement of a range has its entries with their balances, with pages of any size', async () => {
    for (const [place, hour] of [11, 14, 14, 18].entries()) {
      await runScript(bench, `at ${hour * HOUR}\ncredit A1 backed 10 s${place}`)
    }
    const all = await listStatement(bench.store.reports, { accountId: 'A1', limit: 99 })
    const timeOf = (hour: number) => hour * HOUR * 1_000
    for (const [from, to] of [
      [11, 18],
      [14, 15],
      [12, 99],
      [0, 14],
      [15, 16],
    ] as const) {
      const span = { fromMs: timeOf(from), toMs: timeOf(to) }
      const within = all.lines.filter(
        ({ entry: { createdAtMs } }) => createdAtMs >= span.fromMs && createdAtMs < span.toMs,
      )
      for (const limit of [1, 2, 9]) {
        const read = { accountId: 'A1', limit, ...span }
        let page = await listStatement(bench.store.reports, read)
        const lines = [...page.lines]
        while (page.next !== null) {
          page = await listStatement(bench.store.reports, { ...read, place: page.next })
          lines.push(...page.lines)
        }
        expect(lines).toEqual(within)
      }
    }
  })

  test('the list of purchases has only top-ups and activations, newest first, by pages', async () => {
    await runScript(
      bench,
      `code C 50
     redeem C A1
     credit A1 backed -10 r3
     credit A1 free 10 r4 until ${50 * HOUR}
     credit A1 backed 20 r5`,
    )
    const first = await listBought(bench.store.reports, { accountId: 'A1', limit: 2 })
    expect(first.entries.map(({ kind, reference }) => `${kind} ${reference}`)).toEqual([
      'top_up r5',
      'activation code_C',
    ])
    const page = { accountId: 'A1', before: first.nextBefore, limit: 2 }
    expect(await listBought(bench.store.reports, page)).toMatchObject({
      entries: [{ kind: 'top_up', reference: 'r1' }],
      nextBefore: null,
    })
  })

  describe('a balance', () => {
    test('has the held credit, and how much of it is unresolved since when', async () => {
      expect(await getBalance(bench.db, { accountId: 'A1', nowMs: 0 })).toEqual({
        backed: { balanceMicros: 995, heldMicros: 60, availableMicros: 935 },
        free: { balanceMicros: 0, heldMicros: 0, availableMicros: 0, expiresAtMs: null },
        hasBackedCredit: true,
        running: { requests: 0, heldMicros: 0, oldest: [] },
        estimated: { requests: 0, heldMicros: 0, oldest: [] },
        unresolved: {
          requests: 2,
          heldMicros: 60,
          oldest: [expect.objectContaining({ endedAtMs: 20 * HOUR * 1_000 })],
        },
      })
      expect(await getBalance(bench.db, { accountId: 'A9', nowMs: 0 })).toBeNull()
    })

    test('has the sum of all holds: of running, estimated and unresolved requests of the account', async () => {
      await runScript(
        bench,
        `at ${50 * HOUR}
       open ${idAt(50 * HOUR)} K1 70
       open ${idAt(51 * HOUR)} K1 80
       settle ${idAt(51 * HOUR)} provisional 21 estimate
       open ${idAt(52 * HOUR)} K2 90
       settle ${idAt(52 * HOUR)} provisional 30
       open ${idAt(53 * HOUR)} K3 5
       settle ${idAt(53 * HOUR)} provisional 1 estimate`,
      )
      expect(await getBalance(bench.db, { accountId: 'A1', nowMs: 0 })).toMatchObject({
        backed: { heldMicros: 70 + 59 + 60 },
        running: { requests: 1, heldMicros: 70 },
        estimated: { requests: 1, heldMicros: 59 },
        unresolved: { requests: 2, heldMicros: 60 },
      })
    })

    test('shows expired free credit as gone, except for the held part', async () => {
      await runScript(bench, `at 0\ncredit A2 free 50 r2 until 60\nopen req_free K3 20 free`)
      const freeAt = async (nowMs: number) =>
        (await getBalance(bench.db, { accountId: 'A2', nowMs }))?.free
      const held = { heldMicros: 20, expiresAtMs: 60_000 }
      expect(await freeAt(59_999)).toEqual({ ...held, balanceMicros: 50, availableMicros: 30 })
      expect(await freeAt(60_000)).toEqual({ ...held, balanceMicros: 20, availableMicros: 0 })
    })

    test('is posted while the account has paid or free credit, even if all of it is held', async () => {
      const { db } = bench
      const postedAt = (accountId: string, nowMs = 0) => hasPostedCredit(db, { accountId, nowMs })
      expect(await postedAt('A1')).toBe(true)
      await runScript(bench, `at ${50 * HOUR}\nopen req_rest K1 935`)
      expect(await postedAt('A1')).toBe(true)
      await runScript(bench, 'credit A1 backed -995 r9')
      expect(await postedAt('A1')).toBe(false)
      await runScript(bench, 'credit A1 backed -5 r10')
      expect(await postedAt('A1')).toBe(false)
      expect(await postedAt('A9')).toBe(false)
    })

    test('is posted on free credit until it expires, even if some is held', async () => {
      const until = 60 * HOUR
      await runScript(
        bench,
        `at ${50 * HOUR}\ncredit A2 backed -1000 r9\ncredit A2 free 50 r2 until ${until}\nopen req_free K3 20 free`,
      )
      const postedAt = (nowMs: number) => hasPostedCredit(bench.db, { accountId: 'A2', nowMs })
      expect(await postedAt(until * 1_000 - 1)).toBe(true)
      expect(await postedAt(until * 1_000)).toBe(false)
    })

    test('below zero has nothing available', async () => {
      await runScript(bench, 'credit A1 backed -2000 r9')
      expect(await getBalance(bench.db, { accountId: 'A1', nowMs: 0 })).toMatchObject({
        backed: { balanceMicros: -1_005, availableMicros: 0 },
      })
    })
  })

  test('an instance is recorded from its start to its stop', async () => {
    const { db } = bench
    await registerInstance(db, { id: 'inst_1', nowMs: 5 })
    await heartbeat(db, { id: 'inst_1', nowMs: 6 })
    const read = () => db.selectFrom('instances').selectAll().execute()
    const row = { id: 'inst_1', started_at_ms: 5, program_schema: PROGRAM_SCHEMA }
    expect(await read()).toEqual([{ ...row, heartbeat_at_ms: 6, stopped_at_ms: null }])
    await stopInstance(db, { id: 'inst_1', nowMs: 7 })
    expect(await read()).toEqual([{ ...row, heartbeat_at_ms: 7, stopped_at_ms: 7 }])
  })

  test('abandoning ends the holds of every other instance and none of its own', async () => {
    await runScript(
      bench,
      `open req_a K1 1 by I1
     open req_b K1 1 by I2
     open req_c K1 1 by I3`,
    )
    const input = { db: bench.db, ledger: bench.ledger, instanceId: 'I2' }
    expect(await abandonEarlierInstances(input)).toBe(3)
    expect(await abandonEarlierInstances(input)).toBe(0)
    const states = await Promise.all(['req_a', 'req_b', 'req_c', R3].map((id) => bench.request(id)))
    expect(states.map((row) => row?.state)).toEqual([
      'unresolved',
      'open',
      'unresolved',
      'unresolved',
    ])
  })
})
