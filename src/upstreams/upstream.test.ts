import { afterEach, describe, expect, test } from 'vitest'
import { wholeRequest } from '../../test/raw-server.ts'
import { closeOpened, Diary, PATIENT, serverThat, upstreamAt } from './testing/attempts.ts'

afterEach(closeOpened)

const KIB = 1024

describe('a body in parts', () => {
  test.each<[string, readonly number[]]>([
    ['that are small', [10, 1, 5]],
    ['some of which are empty', [0, 20, 0, 0, 7, 0]],
    ['that are one slice together', [64 * KIB - 1, 1]],
    ['that are a byte more than a slice', [64 * KIB, 1]],
    ['that do not end where slices do', [1, 64 * KIB - 1, 64 * KIB + 1, 3]],
    ['of which a large one is between empty ones', [0, 300 * KIB, 0]],
    ['that are large', [3, 5 * KIB * KIB, 40, 2 * KIB * KIB + 7, 1]],
  ])('%s arrives whole, in order, with one content-length', async (_, lengths) => {
    let seed = 0
    const parts = lengths.map((length) => Buffer.from(Array.from({ length }, () => seed++ % 251)))
    const whole = Buffer.concat(parts)
    const received = Promise.withResolvers<string>()
    const { baseUrl } = await serverThat(async (socket) => {
      received.resolve(await wholeRequest(socket))
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    })
    const diary = new Diary()
    const request = { path: '/chat/completions', headers: [], body: parts, deadlines: PATIENT }
    upstreamAt(baseUrl).forward(request, diary)
    await diary.ended
    expect(diary.lines).toEqual(['start 200', 'end'])
    const text = await received.promise
    const headEnd = text.indexOf('\r\n\r\n') + 4
    expect(text.slice(0, headEnd).match(/^(content-length|transfer-encoding):.*$/gim)).toEqual([
      `content-length: ${whole.length}`,
    ])
    expect(Buffer.from(text.slice(headEnd), 'latin1').equals(whole)).toBe(true)
  })
})
