import { expect, test } from 'vitest'
import { firstIdOf } from '../../vocabulary/ids.ts'
import { STORE_BENCHES } from '../testing/benches.ts'
import { runScript } from '../testing/script.ts'
import { summarizeRequests } from './request-figures.ts'

const idAt = (seconds: number): string => firstIdOf({ prefix: 'req', timeMs: seconds * 1_000 })

test.each(STORE_BENCHES)(
  'on $engine requests are summed up by account, filter and step',
  async ({ open }) => {
    const bench = await open()
    await runScript(
      bench,
      `account A1
     account A2
     key K1 A1
     key K2 A2
     at 0
     credit A1 backed 1000 r1
     credit A2 backed 1000 r1
     at 100
     open ${idAt(100)} K1 10
     settle ${idAt(100)} final 5
     at 119
     open ${idAt(119)} K1 20
     settle ${idAt(119)} final 7
     open ${idAt(119)}x K2 20
     at 140
     open ${idAt(140)} K1 40
     settle ${idAt(140)} unresolved
     at 200
     open ${idAt(200)} K1 40`,
    )
    const range = { accountId: 'A1', sinceMs: 100_000, untilMs: 200_000, stepMs: 20_000 }
    const sums = (requests: number, chargeMicros: number) => ({ requests, failed: 0, chargeMicros })
    expect(await summarizeRequests(bench.store.pages({ owner: 'test' }), range)).toEqual({
      ...sums(3, 12),
      heldMicros: 40,
      steps: new Map([
        [0, sums(2, 12)],
        [2, sums(1, 0)],
      ]),
      errors: [],
    })
    expect(
      await summarizeRequests(bench.store.pages({ owner: 'test' }), { ...range, state: 'final' }),
    ).toMatchObject(sums(2, 12))
    expect(
      await summarizeRequests(bench.store.pages({ owner: 'test' }), { ...range, apiKeyId: 'K2' }),
    ).toEqual({ ...sums(0, 0), heldMicros: 0, steps: new Map(), errors: [] })
    await bench.close()
  },
)
