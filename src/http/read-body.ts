import type { IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib'
import { clientLeft } from '../relay/client-left.ts'
import { Problem } from '../vocabulary/problem.ts'

export interface ReadBodyInput {
  /** Of the body as it is after inflating. */
  readonly bytesMax: number
  /** For the whole body to arrive. */
  readonly timeoutMs: number
  /** Takes bytes of the process's budget; throws Problem where none are left. */
  readonly reserveBytes: (count: number) => void
  /** Called once it is certain that the body will be read. Default: nothing. */
  readonly beforeReading?: () => void
}

/**
 * Reads a request's body whole. Throws Problem: `request_too_large` as soon as that is certain,
 * `request_timeout`, `bad_request` for a coding that is not known or not kept, and what `reserveBytes`
 * throws, and for a client that leaves. A refused body is no longer listened to; whoever answers drains it.
 */
export function readBody(clientRequest: IncomingMessage, input: ReadBodyInput): Promise<Buffer> {
  const { bytesMax, timeoutMs, reserveBytes, beforeReading } = input
  const declaredBytes = Number(clientRequest.headers['content-length'] ?? 0)
  if (declaredBytes > bytesMax) return Promise.reject(tooLarge(bytesMax))
  // A client that left before would never be heard of again.
  if (clientRequest.destroyed) return Promise.reject(clientLeft())
  return new Promise((resolve, reject) => {
    const inflater = inflaterFor(clientRequest.headers['content-encoding'])
    const source = inflater ?? clientRequest
    beforeReading?.()
    const body = inflater === null && declaredBytes > 0 ? declared(declaredBytes) : collected()
    let length = 0
    const stop = (): void => {
      clearTimeout(timer)
      source.removeListener('data', onData)
      source.removeListener('end', onEnd)
      clientRequest.removeListener('close', onClose)
      if (inflater !== null) {
        clientRequest.unpipe(inflater)
        inflater.destroy()
      }
    }
    const refuse = (thrown: unknown): void => {
      stop()
      reject(thrown)
    }
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      try {
        if (length > bytesMax) throw tooLarge(bytesMax)
        reserveBytes(chunk.length)
        body.add(chunk)
      } catch (thrown) {
        refuse(thrown)
      }
    }
    const onEnd = (): void => {
      stop()
      resolve(body.whole())
    }
    // Also heard after a whole body, which may still be inflating.
    const onClose = (): void => {
      if (!clientRequest.readableEnded) refuse(clientLeft())
    }
    const timer = setTimeout(() => refuse(new Problem('request_timeout')), timeoutMs)
    source.on('data', onData)
    source.once('end', onEnd)
    clientRequest.once('close', onClose)
    if (inflater !== null) {
      inflater.once('error', (cause) => refuse(badCoding(cause)))
      clientRequest.pipe(inflater)
    }
  })
}

/** Puts the pieces of a body together. */
interface BodyBytes {
  add(chunk: Buffer): void
  whole(): Buffer
}

function collected(): BodyBytes {
  const chunks: Buffer[] = []
  return {
    add: (chunk) => void chunks.push(chunk),
    whole() {
      const [first] = chunks
      return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
    },
  }
}

// A body whose length is told, which Node's parser holds it to, is copied into its place piece by piece:
// pieces that were kept for it would take its memory once more. What never comes takes none.
function declared(bytes: number): BodyBytes {
  let room: Buffer | null = null
  let length = 0
  return {
    add(chunk) {
      if (room === null && chunk.length === bytes) {
        room = chunk
        length = bytes
      } else {
        room ??= Buffer.allocUnsafeSlow(bytes)
        length += chunk.copy(room, length)
      }
    },
    // Never more than came: what is beyond it is memory of something else.
    whole: () => room?.subarray(0, length) ?? Buffer.alloc(0),
  }
}

// Node's default pieces of 16 KB make inflating a large body several times as dear.
const INFLATER = { chunkSize: 64 * 1024 }

function inflaterFor(coding: string | undefined): Transform | null {
  switch (coding?.trim().toLowerCase()) {
    case undefined:
    case '':
    case 'identity':
      return null
    case 'gzip':
    case 'x-gzip':
      return createGunzip(INFLATER)
    case 'br':
      return createBrotliDecompress(INFLATER)
    case 'zstd':
      return createZstdDecompress(INFLATER)
    default:
      throw new Problem('bad_request', {
        message: 'The content-encoding of a body may be gzip, br or zstd.',
      })
  }
}

function badCoding(cause: Error): Problem {
  return new Problem('bad_request', {
    message: 'The body is not coded as its content-encoding says.',
    cause,
  })
}

function tooLarge(bytesMax: number): Problem {
  const kibibytes = bytesMax / 1024
  const most = kibibytes < 1024 ? `${kibibytes} KB` : `${kibibytes / 1024} MB`
  return new Problem('request_too_large', { message: `The request body is over ${most}.` })
}
