import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Problem } from '../vocabulary/problem.ts'
import { type ByteReservation, createByteBudget, createSharedByteBudget } from './byte-budget.ts'

test('a budget that is used up refuses with a time to come back, and what was had stays had', () => {
  const budget = createByteBudget({ bytesMax: 1_000 })
  const body = budget.reserve(0)
  body.grow(400)
  budget.reserve(600)
  for (const take of [() => body.grow(1), () => budget.reserve(1)]) {
    expect(take).toThrow(
      expect.objectContaining({ code: 'service_unavailable', retryAfterSeconds: 1 }),
    )
  }
  expect(budget.bytesReserved).toBe(1_000)
  body.release()
  expect(budget.bytesReserved).toBe(600)
})

test('what is reserved is what living reservations have, never more than the budget, whatever comes', () => {
  const step = fc.record({
    kind: fc.constantFrom('reserve', 'grow', 'release'),
    pick: fc.nat(20),
    bytes: fc.nat(60),
  })
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const budget = createByteBudget({ bytesMax: 100 })
      const living = new Map<ByteReservation, number>()
      const reservations: ByteReservation[] = []
      let total = 0
      for (const { kind, pick, bytes } of steps) {
        const one = reservations[pick % (reservations.length || 1)]
        const hasRoom = total + bytes <= 100
        if (kind === 'reserve') {
          if (hasRoom) {
            const reservation = budget.reserve(bytes)
            reservations.push(reservation)
            living.set(reservation, bytes)
            total += bytes
          } else expect(() => budget.reserve(bytes)).toThrow(Problem)
        } else if (one !== undefined && kind === 'release') {
          one.release()
          total -= living.get(one) ?? 0
          living.delete(one)
        } else if (one !== undefined) {
          const had = living.get(one)
          if (had !== undefined && !hasRoom) expect(() => one.grow(bytes)).toThrow(Problem)
          else one.grow(bytes)
          if (had !== undefined && hasRoom) {
            living.set(one, had + bytes)
            total += bytes
          }
        }
        expect(budget.bytesReserved).toBe(total)
      }
    }),
  )
})

describe('a budget that several threads share', () => {
  const open = () => {
    const cells = new BigInt64Array(new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT))
    const of = (place: number) => createSharedByteBudget({ bytesMax: 1_000, cells, place })
    return { cells, one: of(0), two: of(1) }
  }

  test('is refused to one where another has it, and each shows its own', () => {
    const { one, two } = open()
    const body = one.reserve(600)
    two.reserve(400)
    expect([one.bytesReserved, two.bytesReserved]).toEqual([600, 400])
    for (const take of [() => two.reserve(1), () => body.grow(1)]) {
      expect(take).toThrow(
        expect.objectContaining({ code: 'service_unavailable', retryAfterSeconds: 1 }),
      )
    }
    expect([one.bytesReserved, two.bytesReserved]).toEqual([600, 400])
    body.release()
    body.release()
    expect(one.bytesReserved).toBe(0)
    two.reserve(600)
  })

  test('has again what a thread had that is gone, once its cell is emptied', () => {
    const { cells, one, two } = open()
    one.reserve(1_000)
    expect(() => two.reserve(1)).toThrow(Problem)
    Atomics.store(cells, 0, 0n)
    expect(two.reserve(1_000)).toBeDefined()
  })

  test('never refuses a body of which no byte has come, also while another asks for too much', () => {
    const { cells, one, two } = open()
    // What another has asked for is there for the moment in which it is being refused.
    Atomics.store(cells, 0, 5_000n)
    const body = two.reserve(0)
    expect(() => body.grow(1)).toThrow(Problem)
    Atomics.store(cells, 0, 0n)
    body.grow(1_000)
    expect([one.bytesReserved, two.bytesReserved]).toEqual([0, 1_000])
  })
})
