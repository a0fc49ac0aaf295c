import { createReadStream } from 'node:fs'

/** A line is longer than any that was asked for. */
export class LineTooLong extends Error {
  override readonly name = 'LineTooLong'
}

export interface ReadLinesInput {
  readonly file: string
  /** Throws `LineTooLong` for a longer one, so that a file without line ends is not read into memory. */
  readonly lineBytesMax: number
}

const NEWLINE = 0x0a
const CHUNK_BYTES = 256 * 1024

/**
 * The lines of a file, several at a time, each with its end; the last may have none. Rejects with what
 * reading the file fails with.
 */
export async function* readLines({
  file,
  lineBytesMax,
}: ReadLinesInput): AsyncGenerator<readonly Buffer[]> {
  let begun: Buffer[] = []
  let begunBytes = 0
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES })) {
    const bytes: Buffer = chunk
    const lines: Buffer[] = []
    let start = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      const rest = bytes.subarray(start, end + 1)
      lines.push(begun.length === 0 ? rest : Buffer.concat([...begun, rest]))
      begun = []
      begunBytes = 0
      start = end + 1
    }
    if (start < bytes.length) {
      begun.push(bytes.subarray(start))
      begunBytes += bytes.length - start
    }
    if (begunBytes > lineBytesMax)
      throw new LineTooLong(`a line is longer than ${lineBytesMax} bytes`)
    yield lines
  }
  if (begun.length > 0) yield [Buffer.concat(begun)]
}
