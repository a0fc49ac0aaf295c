import type { PixelSize } from '../vocabulary/call.ts'

// In a JPEG, the size comes after blocks of metadata; in a GIF, the first frame after blocks of its own.
const BLOCKS_MAX = 1_024

/**
 * The size in the header of a PNG, JPEG, WebP or GIF, recognized by its first bytes and not by the client's
 * declaration. Null for any other data, for a missing size, and for text that is not base64 to its end, in which
 * a prompt could hide. Only the header is decoded; the rest is checked.
 */
export function readImageHeader(base64: string): PixelSize | null {
  const bytes = new Base64Bytes(base64)
  const size = pngSize(bytes) ?? jpegSize(bytes) ?? webpSize(bytes) ?? gifSize(bytes)
  if (size === null || !(size.width > 0 && size.height > 0)) return null
  return isBase64(base64) ? size : null
}

// A multiple of four: each slice is base64 by itself.
const CHECKED_CHARS = 256 * 1024
const scratch = Buffer.alloc((CHECKED_CHARS / 4) * 3)

/** The engine's decoder skips invalid characters, which makes the result shorter. */
function isBase64(text: string): boolean {
  const length = withoutPadding(text)
  for (let start = 0; start < length; start += CHECKED_CHARS) {
    const slice = text.slice(start, Math.min(start + CHECKED_CHARS, length))
    if (scratch.write(slice, 'base64') !== Math.floor((slice.length * 3) / 4)) return false
  }
  return true
}

/** The number of characters before the padding. */
function withoutPadding(text: string): number {
  if (text.endsWith('==')) return text.length - 2
  return text.endsWith('=') ? text.length - 1 : text.length
}

// A multiple of four again, enough for a few steps of reading a header.
const WINDOW_CHARS = 64
const WINDOW_BYTES = (WINDOW_CHARS / 4) * 3

interface ByteSpan {
  readonly start: number
  readonly length: number
}

/** Bytes of base64 text by their offsets; -1 beyond the end and for invalid base64. */
class Base64Bytes {
  readonly #text: string
  readonly #window = Buffer.alloc(WINDOW_BYTES)
  #windowStart = 0
  #windowBytes = 0

  constructor(text: string) {
    this.#text = text
    this.#moveTo(0)
  }

  at(offset: number): number {
    const within = offset - this.#windowStart
    if (within >= 0 && within < this.#windowBytes) return this.#window[within] ?? -1
    this.#moveTo(offset)
    return offset - this.#windowStart < this.#windowBytes
      ? (this.#window[offset - this.#windowStart] ?? -1)
      : -1
  }

  #moveTo(offset: number): void {
    const group = Math.floor(offset / 3)
    const slice = this.#text.slice(group * 4, group * 4 + WINDOW_CHARS)
    this.#windowStart = group * 3
    this.#windowBytes = this.#window.write(slice, 'base64')
    if (this.#windowBytes < Math.floor((withoutPadding(slice) * 3) / 4)) this.#windowBytes = 0
  }

  /** Whether these characters are at this offset. */
  has(offset: number, ascii: string): boolean {
    for (let i = 0; i < ascii.length; i++) {
      if (this.at(offset + i) !== ascii.charCodeAt(i)) return false
    }
    return true
  }

  bigEndian({ start, length }: ByteSpan): number {
    let value = 0
    for (let i = 0; i < length; i++) value = value * 256 + this.#required(start + i)
    return value
  }

  littleEndian({ start, length }: ByteSpan): number {
    let value = 0
    for (let i = length - 1; i >= 0; i--) value = value * 256 + this.#required(start + i)
    return value
  }

  // NaN for a number that is cut off: it fails every comparison.
  #required(offset: number): number {
    const byte = this.at(offset)
    return byte === -1 ? Number.NaN : byte
  }
}

function pngSize(bytes: Base64Bytes): PixelSize | null {
  if (!bytes.has(0, '\x89PNG\r\n\x1a\n') || !bytes.has(12, 'IHDR')) return null
  return {
    width: bytes.bigEndian({ start: 16, length: 4 }),
    height: bytes.bigEndian({ start: 20, length: 4 }),
  }
}

function jpegSize(bytes: Base64Bytes): PixelSize | null {
  if (!bytes.has(0, '\xff\xd8\xff')) return null
  let at = 2
  for (let blocks = 0; blocks < BLOCKS_MAX; blocks++) {
    if (bytes.at(at) !== 0xff) return null
    const marker = bytes.at(at + 1)
    // Any number of fill bytes may precede a marker.
    if (marker === 0xff) at += 1
    else if (isFrameHeader(marker)) {
      return {
        width: bytes.bigEndian({ start: at + 7, length: 2 }),
        height: bytes.bigEndian({ start: at + 5, length: 2 }),
      }
    } else {
      const length = bytes.bigEndian({ start: at + 2, length: 2 })
      // No header follows the start of the picture.
      if (marker === 0xda || !(length >= 2)) return null
      at += 2 + length
    }
  }
  return null
}

// C0 to CF without the tables of Huffman and arithmetic codes and a reserved marker.
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}

function webpSize(bytes: Base64Bytes): PixelSize | null {
  if (!bytes.has(0, 'RIFF') || !bytes.has(8, 'WEBP')) return null
  if (bytes.has(12, 'VP8X')) {
    return {
      width: bytes.littleEndian({ start: 24, length: 3 }) + 1,
      height: bytes.littleEndian({ start: 27, length: 3 }) + 1,
    }
  }
  if (bytes.has(12, 'VP8L')) {
    // Two numbers of 14 bits, each one less than its value.
    const bits = bytes.littleEndian({ start: 21, length: 4 })
    return { width: (bits % 0x4000) + 1, height: (Math.floor(bits / 0x4000) % 0x4000) + 1 }
  }
  if (!bytes.has(12, 'VP8 ') || !bytes.has(23, '\x9d\x01\x2a')) return null
  return {
    width: bytes.littleEndian({ start: 26, length: 2 }) % 0x4000,
    height: bytes.littleEndian({ start: 28, length: 2 }) % 0x4000,
  }
}

/** The larger of screen and first frame: decoders widen a screen that is smaller than its frame. */
function gifSize(bytes: Base64Bytes): PixelSize | null {
  if (!bytes.has(0, 'GIF8')) return null
  let at = 13 + paletteBytes(bytes.at(10))
  for (let blocks = 0; blocks < BLOCKS_MAX; blocks++) {
    const kind = bytes.at(at)
    if (kind === 0x2c) {
      const short = (start: number): number => bytes.littleEndian({ start, length: 2 })
      return {
        width: Math.max(short(6), short(at + 1) + short(at + 5)),
        height: Math.max(short(8), short(at + 3) + short(at + 7)),
      }
    }
    if (kind !== 0x21) return null
    at += 2
    while (bytes.at(at) > 0 && blocks < BLOCKS_MAX) {
      at += 1 + bytes.at(at)
      blocks++
    }
    at += 1
  }
  return null
}

function paletteBytes(flags: number): number {
  return flags >= 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0
}
