import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GrowingBytes } from './growing-bytes.ts'

test('pieces of any sizes come out joined, and later pieces start a new value', () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 20 }),
    fc.integer({ min: 3_000, max: 9_000 }).map((length) => new Uint8Array(length).fill(length)),
  )
  const bytes = new GrowingBytes()
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.option(piece), (pieces, last) => {
      for (const each of pieces) bytes.add(Buffer.from(each))
      const expected = Buffer.concat(pieces)
      expect(bytes.length).toBe(expected.length)
      const taken = bytes.take(last === null ? null : Buffer.from(last))
      expect(taken.equals(Buffer.concat(last === null ? pieces : [...pieces, last]))).toBe(true)
      expect(bytes.length).toBe(0)
    }),
  )
})

test('a piece is copied: later changes of its memory have no effect', () => {
  const bytes = new GrowingBytes()
  const piece = Buffer.from('first')
  bytes.add(piece)
  piece.fill('x')
  expect(bytes.take().toString()).toBe('first')
})

test('a million pieces of a byte take a few blocks, of at most a megabyte', () => {
  const bytes = new GrowingBytes()
  const piece = Buffer.from('x')
  const before = process.memoryUsage()
  for (let i = 0; i < 1_000_000; i++) bytes.add(piece)
  const after = process.memoryUsage()
  expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(3 * 1024 * 1024)
  expect(bytes.take().length).toBe(1_000_000)
})
