import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { StoreUnavailable } from '../../store/store-failure.ts'
import { LEDGER_LIMITS_DEFAULT } from '../ledger.ts'
import { STORE_BENCHES } from '../testing/benches.ts'
import { runScript } from '../testing/script.ts'
import type { StoreBench } from '../testing/store-bench.ts'
import { ForgottenHolds } from './forgotten-holds.ts'

for (const { engine, open } of STORE_BENCHES) {
  describe(engine, () => {
    let bench: StoreBench
    let known: Set<string>
    let abandoned: number[]
    let failures: unknown[]

    beforeEach(async () => {
      bench = await open({ limits: { ...LEDGER_LIMITS_DEFAULT, openHoldsMax: 100 } })
      known = new Set()
      abandoned = []
      failures = []
      await runScript(bench, 'account A\nkey K A\ncredit A backed 1000 first')
    })

    afterEach(() => bench.auditAndClose())

    type Input = ConstructorParameters<typeof ForgottenHolds>[0]
    function forgottenHolds(input: Partial<Input> = {}): ForgottenHolds {
      return new ForgottenHolds({
        db: bench.db,
        ledger: bench.ledger,
        instanceId: 'I1',
        isKnown: (requestId) => known.has(requestId),
        onAbandoned: (count) => abandoned.push(count),
        onFailure: (cause) => failures.push(cause),
        ...input,
      })
    }

    async function states(...ids: readonly string[]) {
      const rows = await Promise.all(ids.map((id) => bench.request(id)))
      return rows.map((row) => row?.state)
    }

    test("an open hold that the process does not know becomes unresolved; its known holds and others' holds stay open", async () => {
      await runScript(bench, 'open R1 K 1 by I1\nopen R2 K 1 by I1\nopen R3 K 1 by I2')
      known.add('R2')
      const holds = forgottenHolds()
      expect(await holds.look()).toBe(1)
      expect(await states('R1', 'R2', 'R3')).toEqual(['unresolved', 'open', 'open'])
      expect(await bench.request('R1')).toMatchObject({ swept: true })
      expect(await bench.apiKey('K')).toMatchObject({ openHolds: 2, heldMicros: 3 })
      expect(await holds.look()).toBe(0)
      expect({ abandoned, failures }).toEqual({ abandoned: [1], failures: [] })
    })

    test('all are found when there are more holds than a page', async () => {
      const ids = Array.from({ length: 10 }, (_, place) => `R${place}`)
      await runScript(bench, ids.map((id) => `open ${id} K 1 by I1`).join('\n'))
      const forgotten = ['R0', 'R4', 'R5', 'R9']
      for (const id of ids) if (!forgotten.includes(id)) known.add(id)
      expect(await forgottenHolds({ pageHoldsMax: 3 }).look()).toBe(4)
      expect(await states(...ids)).toEqual(
        ids.map((id) => (forgotten.includes(id) ? 'unresolved' : 'open')),
      )
    })

    test('a hold that was settled after it was read stays as it was settled', async () => {
      await runScript(bench, 'open R1 K 5 by I1')
      const settling = forgottenHolds({
        ledger: {
          // Between the look's read and its action.
          async abandonHolds(requestIds) {
            await runScript(bench, 'settle R1 final 2')
            return bench.ledger.abandonHolds(requestIds)
          },
        },
      })
      expect(await settling.look()).toBe(0)
      expect(await states('R1')).toEqual(['final'])
      expect(abandoned).toEqual([])
    })

    test('holds that are opened and settled during the looks are left alone', async () => {
      const holds = forgottenHolds()
      let opening = true
      const looking = (async () => {
        let ended = 0
        while (opening) ended += await holds.look()
        return ended
      })()
      await Promise.all(
        Array.from({ length: 60 }, async (_, place) => {
          const id = `R${place}`
          for (let round = 0; round < 5; round++) {
            known.add(`${id}.${round}`)
            await runScript(bench, `open ${id}.${round} K 1 by I1\nsettle ${id}.${round} final 1`)
            known.delete(`${id}.${round}`)
          }
        }),
      )
      opening = false
      expect(await looking).toBe(0)
      expect(await bench.apiKey('K')).toMatchObject({ spendMicros: 300, openHolds: 0 })
      expect({ abandoned, failures }).toEqual({ abandoned: [], failures: [] })
    })

    test('if the store does not answer, the next look ends the holds', async () => {
      await runScript(bench, 'open R1 K 1 by I1')
      const away = new StoreUnavailable('away')
      const holds = forgottenHolds({ ledger: { abandonHolds: () => Promise.reject(away) } })
      expect(await holds.look()).toBe(0)
      expect(failures).toEqual([away])
      expect(await states('R1')).toEqual(['open'])
      expect(await forgottenHolds().look()).toBe(1)
    })

    test('it looks at once, and again and again until it is stopped', async () => {
      await runScript(bench, 'open R1 K 1 by I1')
      const holds = forgottenHolds({ intervalMs: 1 })
      holds.start()
      await expect.poll(() => states('R1')).toEqual(['unresolved'])
      await runScript(bench, 'open R2 K 1 by I1')
      await expect.poll(() => states('R2')).toEqual(['unresolved'])
      await holds.stop()
      await runScript(bench, 'open R3 K 1 by I1\nopen R4 K 1 by I2')
      // Its looks take as long as those that were stopped.
      const others = forgottenHolds({ instanceId: 'I2', intervalMs: 1, onAbandoned: () => {} })
      others.start()
      await expect.poll(() => states('R3', 'R4')).toEqual(['open', 'unresolved'])
      await others.stop()
      expect(await states('R3')).toEqual(['open'])
      expect({ abandoned, failures }).toEqual({ abandoned: [1, 1], failures: [] })
    })
  })
}
