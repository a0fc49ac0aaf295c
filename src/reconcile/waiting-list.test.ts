import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { UnsettledRequest } from '../ledger/activity/unsettled.ts'
import { WaitingList } from './schedule.ts'

function request(requestId: string): UnsettledRequest {
  return {
    requestId,
    state: 'provisional',
    generationId: 'gen-1',
    costReported: false,
    expectsCost: false,
    feeBasisPoints: 500,
    endedAtMs: 0,
  }
}

test('the request that is due first comes first, each once, after any adds and takes', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ add: fc.nat(30), dueAtMs: fc.nat(100) }),
      fc.record({ takeAtMs: fc.nat(100) }),
    ),
    { maxLength: 200 },
  )
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 20 }), (script, requestsMax) => {
      const list = new WaitingList({ requestsMax })
      const expected = new Map<string, number>()
      for (const step of script) {
        if ('add' in step) {
          const id = `R${step.add}`
          list.add(request(id), step.dueAtMs)
          if (expected.size < requestsMax && !expected.has(id)) expected.set(id, step.dueAtMs)
        } else {
          const dueAtMs = Math.min(...expected.values())
          const taken = list.takeDue(step.takeAtMs)
          if (dueAtMs > step.takeAtMs) expect(taken).toBeNull()
          else expect(expected.get(taken?.requestId ?? '')).toBe(dueAtMs)
          expected.delete(taken?.requestId ?? '')
        }
        expect(list.nextDueAtMs).toBe(expected.size === 0 ? null : Math.min(...expected.values()))
        for (let place = 0; place <= 30; place++) {
          expect(list.has(`R${place}`)).toBe(expected.has(`R${place}`))
        }
      }
    }),
  )
})

test('cleared requests are gone and free their places', () => {
  const list = new WaitingList({ requestsMax: 1 })
  list.add(request('R1'), 5)
  list.clear()
  expect([list.has('R1'), list.nextDueAtMs, list.takeDue(10)]).toEqual([false, null, null])
  list.add(request('R2'), 7)
  expect(list.takeDue(7)?.requestId).toBe('R2')
})
