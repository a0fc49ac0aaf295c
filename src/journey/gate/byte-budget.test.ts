import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Problem } from '../../vocabulary/problem.ts'
import {
  type ByteBudget,
  type ByteOwner,
  type ByteReservation,
  createByteBudget,
} from './byte-budget.ts'

const owner = (over: Partial<ByteOwner> = {}): ByteOwner => ({
  accountId: 'acct_1',
  hasBackedCredit: true,
  requestBytesMax: 1_000_000,
  ...over,
})

/** A reservation that begins with this many bytes. */
function reserved(budget: ByteBudget, bytes: number, over: Partial<ByteOwner> = {}) {
  const reservation = budget.reserve(owner(over))
  reservation.grow(bytes)
  return reservation
}

test('a full budget refuses with a retry time, and keeps its reserved bytes', () => {
  const budget = createByteBudget({ bytesMax: 1_000 })
  const body = reserved(budget, 0)
  body.grow(400)
  reserved(budget, 600)
  for (const take of [() => body.grow(1), () => reserved(budget, 1)]) {
    expect(take).toThrow(
      expect.objectContaining({ code: 'service_unavailable', retryAfterSeconds: 1 }),
    )
  }
  expect(budget.bytesReserved).toBe(1_000)
  body.release()
  expect(budget.bytesReserved).toBe(600)
})

test('the reserved bytes are the sum of all live reservations, and never above the budget', () => {
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
            const reservation = reserved(budget, bytes)
            reservations.push(reservation)
            living.set(reservation, bytes)
            total += bytes
          } else expect(() => reserved(budget, bytes)).toThrow(Problem)
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

describe('an account that takes a large part of a budget', () => {
  const MAX = 16_000
  const open = () => createByteBudget({ bytesMax: MAX })
  const refusal = expect.objectContaining({ code: 'service_unavailable', retryAfterSeconds: 1 })

  test('is not limited while less than half of it is taken', () => {
    const budget = open()
    const body = reserved(budget, MAX / 2 - 1, { requestBytesMax: 1 })
    expect(body.isCrowded).toBe(false)
    body.grow(MAX / 2)
    expect(body.isCrowded).toBe(true)
  })

  test.each([
    ['an eighth', true, MAX / 8],
    ['a sixteenth without paid credit', false, MAX / 16],
  ])('has at most %s above half, for all of its requests together', (_, hasBackedCredit, share) => {
    const budget = open()
    reserved(budget, MAX / 2, { accountId: 'acct_other' })
    const over = { hasBackedCredit, requestBytesMax: 1 }
    const first = reserved(budget, share - 100, over)
    const second = reserved(budget, 100, over)
    for (const take of [
      () => first.grow(1),
      () => second.grow(1),
      () => reserved(budget, 1, over),
    ]) {
      expect(take).toThrow(refusal)
    }
    expect(budget.bytesReserved).toBe(MAX / 2 + share)
    reserved(budget, 1, { ...over, accountId: 'acct_third' })
    first.release()
    second.grow(share - 100)
  })

  test('may always have one request of the largest size, if the budget has room', () => {
    const budget = open()
    reserved(budget, MAX / 2, { accountId: 'acct_other' })
    const over = { hasBackedCredit: false, requestBytesMax: 6_000 }
    const body = reserved(budget, 6_000, over)
    expect(() => body.grow(1)).toThrow(refusal)
  })

  test('is never refused zero bytes, even far above its share', () => {
    const budget = open()
    reserved(budget, MAX / 2, { requestBytesMax: 1 })
    expect(reserved(budget, 0, { requestBytesMax: 1 })).toBeDefined()
    expect(() => reserved(budget, 1, { requestBytesMax: 1 })).toThrow(refusal)
  })

  test('is forgotten after its last request, and released bytes no longer count', () => {
    const budget = open()
    reserved(budget, MAX / 2, { accountId: 'acct_other' })
    for (let round = 0; round < 100; round++) {
      const body = reserved(budget, MAX / 8, { requestBytesMax: 1 })
      body.release()
      body.release()
    }
    expect(() => reserved(budget, MAX / 8, { requestBytesMax: 1 })).not.toThrow()
  })
})
