import type { PixelSize } from '../../vocabulary/call.ts'

/** The beginning of a PNG of this size, then zeros. */
export function png({ width, height }: PixelSize, bytesMin = 0): Buffer {
  const bytes = Buffer.alloc(Math.max(33, bytesMin))
  bytes.write('\x89PNG\r\n\x1a\n', 'latin1')
  bytes.writeUInt32BE(13, 8)
  bytes.write('IHDR', 12, 'latin1')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

/** Blocks of a JPEG before the header of its frame. */
interface JpegParts {
  /** The kind of frame; default baseline. */
  readonly marker?: number
  readonly metadataBytes?: number
  /** An image within the metadata. */
  readonly thumbnail?: Buffer
  /** The number of empty blocks at the start. */
  readonly blocks?: number
}

/** A JPEG up to the header of its frame. */
export function jpeg({ width, height }: PixelSize, parts: JpegParts = {}): Buffer {
  const { marker = 0xc0, metadataBytes = 0, thumbnail = Buffer.alloc(0), blocks = 0 } = parts
  const segments: Buffer[] = [Buffer.from([0xff, 0xd8])]
  const segment = (kind: number, content: Buffer): void => {
    const head = Buffer.from([0xff, kind, 0, 0])
    head.writeUInt16BE(content.length + 2, 2)
    segments.push(head, content)
  }
  for (let i = 0; i < blocks; i++) segment(0xe1, Buffer.alloc(0))
  segment(0xe1, thumbnail)
  for (let left = metadataBytes; left > 0; left -= 60_000)
    segment(0xe2, Buffer.alloc(Math.min(left, 60_000)))
  // A fill byte before the marker, as the standard allows.
  segments.push(Buffer.from([0xff]))
  const frame = Buffer.alloc(15)
  frame.writeUInt8(8, 0)
  frame.writeUInt16BE(height, 1)
  frame.writeUInt16BE(width, 3)
  segment(marker, frame)
  return Buffer.concat(segments)
}

/** A WebP's first chunk. By position: the size, and the chunk's kind. */
export function webp({ width, height }: PixelSize, kind: string): Buffer {
  const bytes = Buffer.alloc(40)
  bytes.write('RIFF', 0, 'latin1')
  bytes.write('WEBP', 8, 'latin1')
  bytes.write(kind, 12, 'latin1')
  if (kind === 'VP8X') {
    bytes.writeUIntLE(width - 1, 24, 3)
    bytes.writeUIntLE(height - 1, 27, 3)
  } else if (kind === 'VP8L') {
    bytes.writeUInt8(0x2f, 20)
    bytes.writeUInt32LE(width - 1 + (height - 1) * 0x4000, 21)
  } else {
    bytes.write('\x9d\x01\x2a', 23, 'latin1')
    bytes.writeUInt16LE(width, 26)
    bytes.writeUInt16LE(height, 28)
  }
  return bytes
}

/** Blocks of a GIF besides its screen. */
interface GifParts {
  readonly paletteBits?: number
  readonly comment?: string
  /** Default: as large as the screen. */
  readonly frame?: PixelSize
}

/** A GIF up to the header of its first frame. */
export function gif(screen: PixelSize, parts: GifParts = {}): Buffer {
  const { paletteBits = 0, comment = '', frame = screen } = parts
  const head = Buffer.alloc(13)
  head.write('GIF89a', 'latin1')
  head.writeUInt16LE(screen.width, 6)
  head.writeUInt16LE(screen.height, 8)
  head.writeUInt8(paletteBits === 0 ? 0 : 0x80 + paletteBits - 1, 10)
  const chunks: Buffer[] = [head, Buffer.alloc(paletteBits === 0 ? 0 : 3 * 2 ** paletteBits)]
  if (comment !== '') {
    chunks.push(Buffer.from([0x21, 0xfe]))
    for (let at = 0; at < comment.length; at += 255) {
      const text = comment.slice(at, at + 255)
      chunks.push(Buffer.from([text.length]), Buffer.from(text, 'latin1'))
    }
    chunks.push(Buffer.from([0]))
  }
  const descriptor = Buffer.alloc(10)
  descriptor.writeUInt8(0x2c, 0)
  descriptor.writeUInt16LE(frame.width, 5)
  descriptor.writeUInt16LE(frame.height, 7)
  return Buffer.concat([...chunks, descriptor])
}
