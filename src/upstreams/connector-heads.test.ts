import { expect, test } from 'vitest'
import { InterimHeads } from './connector.ts'

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </HTTP/1.1 100>\r\n\r\n'
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\nHTTP/1.1 100 \r\n\r\n'

/** The bytes that are read from these, in chunks of a size. */
function read(heads: InterimHeads, text: string, chunkBytes: number): string {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    heads.rewrite(bytes.subarray(at, at + chunkBytes))
  }
  return bytes.toString()
}

test.each([1, 2, 3, 5, 7, 11, 12, 13, 40, 1_000])(
  'every 100 before an answer is read as 102, with no other change, in chunks of %i bytes',
  (chunkBytes) => {
    const asked = CONTINUE + HINTS + CONTINUE.replace('1.1', '1.0') + CONTINUE + ANSWER
    const got = asked.replaceAll(/(HTTP\/1\.\d) 100 Continue/g, '$1 102 Continue')
    expect(read(new InterimHeads(), asked, chunkBytes)).toBe(got)
  },
)

test('the next answer on a connection can have a 100 again after its request was written', () => {
  const heads = new InterimHeads()
  expect(read(heads, ANSWER, 9)).toBe(ANSWER)
  expect(read(heads, CONTINUE, 9)).toBe(CONTINUE)
  heads.expect()
  expect(read(heads, CONTINUE + ANSWER, 9)).toBe(CONTINUE.replace('100', '102') + ANSWER)
})

test.each(['HTTP/2 100', 'HTTQ/1.1 100', '100', 'HTTP/1.1 204 No Content\r\n\r\n'])(
  'text that is not an interim answer, such as %j, is unchanged',
  (text) => {
    const whole = text + CONTINUE
    expect(read(new InterimHeads(), whole, 3)).toBe(whole)
  },
)
