import { expect, test } from 'vitest'
import { readTags } from './call.ts'

const read = (sent: string | readonly string[] | undefined) => readTags({ 'x-service-tags': sent })
const many = (count: number) => Array.from({ length: count }, (_, place) => `t${place}`).join(',')

test.each<[string | readonly string[] | undefined, readonly string[] | null]>([
  [undefined, null],
  ['', null],
  [' \t', null],
  [', ,\t,', null],
  ['a', ['a']],
  [' a ,\tb\t', ['a', 'b']],
  ['b, a, b,a', ['b', 'a']],
  ['a, ,b,', ['a', 'b']],
  ['A,a', ['A', 'a']],
  ['two words, "quoted", back\\slash, [x]', ['two words', '"quoted"', 'back\\slash', '[x]']],
  ['__proto__, constructor', ['__proto__', 'constructor']],
  ['x'.repeat(64), ['x'.repeat(64)]],
  [many(8), many(8).split(',')],
  [`${many(8)}, t0, t7`, many(8).split(',')],
  [
    ['a, b', 'b, c'],
    ['a', 'b', 'c'],
  ],
])('%j has the tags %j', (sent, tags) => {
  expect(read(sent)).toEqual(tags)
})

test.each<[string, RegExp]>([
  [many(9), /has 9 different tags; a request has at most 8\.$/],
  ['x'.repeat(65), /has a tag of 65 characters; a tag has at most 64\.$/],
  ['caf\u00e9', /printable ASCII/],
  ['\u00a0a', /printable ASCII/],
  ['\u540d', /printable ASCII/],
  ['a\tb', /printable ASCII/],
  ['a\u007f', /printable ASCII/],
  ['a\u0000', /printable ASCII/],
])('%j is refused with its reason, and is not repeated', (sent, reason) => {
  const problem = { code: 'invalid_parameter', httpStatus: 400, param: 'x-service-tags' }
  expect(() => read(sent)).toThrow(
    expect.objectContaining({ ...problem, message: expect.stringMatching(reason) }),
  )
  expect(() => read(sent)).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining(sent) }),
  )
})

test('a header of 16 KB of spaces is read at once', () => {
  const spaces = ' '.repeat(16_000)
  expect(read(`${spaces}a${spaces},${spaces}b`)).toEqual(['a', 'b'])
})
