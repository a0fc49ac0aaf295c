import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readImageHeader } from './image-header.ts'
import { gif, jpeg, png, webp } from './testing/image-bytes.ts'

const sizeOf = (bytes: Buffer) => readImageHeader(bytes.toString('base64'))
const size = { width: 1_024, height: 768 }

describe('the size of an image is read from its header', () => {
  test.each<[string, Buffer]>([
    ['a PNG', png(size)],
    ['a JPEG', jpeg(size)],
    ['a progressive JPEG', jpeg(size, { marker: 0xc2 })],
    ['a JPEG after half a megabyte of metadata', jpeg(size, { metadataBytes: 500_000 })],
    [
      'a JPEG with a smaller picture in its metadata',
      jpeg(size, { thumbnail: jpeg({ width: 9, height: 9 }) }),
    ],
    ['a lossy WebP', webp(size, 'VP8 ')],
    ['a lossless WebP', webp(size, 'VP8L')],
    ['an extended WebP', webp(size, 'VP8X')],
    ['a GIF', gif(size)],
    ['a GIF with a palette and a comment', gif(size, { paletteBits: 8, comment: 'a'.repeat(700) })],
  ])('%s', (_, bytes) => {
    expect(sizeOf(bytes)).toEqual(size)
    expect(readImageHeader(bytes.toString('base64url'))).toEqual(size)
  })

  test("at the size of a frame that is larger than the GIF's screen", () => {
    expect(
      sizeOf(gif({ width: 1, height: 1 }, { frame: { width: 3_000, height: 2_000 } })),
    ).toEqual({ width: 3_000, height: 2_000 })
  })

  test('with any data after it', () => {
    const base64 = `${png(size).toString('base64').replace(/=+$/, '').slice(0, 40)}${'A'.repeat(30_000_000)}`
    expect(readImageHeader(base64)).toEqual(size)
  })
})

describe('no size is read', () => {
  test.each<[string, string]>([
    ['of nothing', ''],
    ['of text', 'Tell me a story about a gateway'],
    ['of base64 that is text', Buffer.from('Tell me a story about a gateway').toString('base64')],
    ['of a PDF', Buffer.from('%PDF-1.7 and so on and on').toString('base64')],
    ['of a PNG that is cut off', png(size).subarray(0, 20).toString('base64')],
    ['of a PNG without width', png({ width: 0, height: 9 }).toString('base64')],
    ['of a JPEG whose lines are counted later', jpeg({ width: 9, height: 0 }).toString('base64')],
    ['of a JPEG without a frame', Buffer.from([0xff, 0xd8, 0xff, 0xda, 0, 2]).toString('base64')],
    ['of a JPEG of empty blocks', jpeg(size, { blocks: 5_000 }).toString('base64')],
    ['of a GIF without a frame', gif(size).subarray(0, 13).toString('base64')],
    ['of a WebP of another kind', webp(size, 'ICCP').toString('base64')],
    ['of an image with text behind it', `${png(size, 300_000).toString('base64')} and so on`],
    ['of an image with padding within', `${png(size, 34).toString('base64')}AAAA`],
    [
      'of base64 with white space',
      png(size)
        .toString('base64')
        .replace(/(.{10})/g, '$1\n'),
    ],
  ])('%s', (_, base64) => {
    expect(readImageHeader(base64)).toBeNull()
  })

  test('and nothing is thrown, for any bytes', () => {
    const start = fc.constantFrom(png(size), jpeg(size), webp(size, 'VP8X'), gif(size))
    fc.assert(
      fc.property(start, fc.nat(40), fc.uint8Array(), (image, kept, rest) => {
        const read = sizeOf(Buffer.concat([image.subarray(0, kept), rest]))
        expect(read === null || (read.width > 0 && read.height > 0)).toBe(true)
      }),
    )
    fc.assert(fc.property(fc.string(), (text) => void readImageHeader(text)))
  })
})
