import type { IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib'
import { clientLeft } from '../journey/relay/client-left.ts'
import { GrowingBytes } from '../vocabulary/growing-bytes.ts'
import { Problem } from '../vocabulary/problem.ts'
import { BodyPace, PACE_INTERVAL_MS } from './body-pace.ts'
import { breakOfBody, ClientRequest } from './client-request.ts'

export interface ReadBodyInput {
  /** Of the body as it is after inflating. */
  readonly bytesMax: number
  /** For the whole body to arrive. */
  readonly timeoutMs: number
  readonly account?: BodyAccount
  /** Called once it is certain that the body will be read. Default: nothing. */
  readonly beforeReading?: () => void
}

/** What a body that counts for an account may take. Default: all that its endpoint takes. */
export interface BodyAccount {
  /** Bytes of the process's budget, taken before their memory is. `grow` throws where none are left. */
  readonly memory: { grow(moreBytes: number): void; readonly isCrowded: boolean }
  /** Asked once, where a body is declared or found to be large; rejects with why it is not read. */
  readonly admitLargeBody: () => Promise<void>
}

/** What one reads of any account that may call at all. */
const SMALL_BODY_BYTES_MAX = 64 * 1024

/**
 * Reads a request's body whole. Throws Problem: `request_too_large` as soon as that is certain,
 * `request_timeout` for a body that is late or slow, `bad_request` for a body that broke off or a coding
 * that is not known or not kept, what the account's limits throw, and for a client that leaves. A
 * refused body is no longer listened to; the one who answers drains it.
 */
export async function readBody(
  clientRequest: IncomingMessage,
  input: ReadBodyInput,
): Promise<Buffer> {
  const { bytesMax, account, beforeReading } = input
  const declaredBytes = Number(clientRequest.headers['content-length'] ?? 0)
  if (declaredBytes > bytesMax) throw tooLarge(bytesMax)
  const inflater = inflaterFor(clientRequest.headers['content-encoding'])
  const isLarge = declaredBytes > SMALL_BODY_BYTES_MAX
  if (isLarge) await account?.admitLargeBody()
  // A client that left before would never be heard of again.
  if (clientRequest.destroyed) throw endOfReading(clientRequest)
  const wholeBytes = inflater === null ? declaredBytes : 0
  account?.memory.grow(wholeBytes)
  beforeReading?.()
  return new BodyReader(clientRequest, { ...input, inflater, wholeBytes, isLarge }).read()
}

interface BodyReaderInput extends ReadBodyInput {
  readonly inflater: Transform | null
  /** The length that the body will have, for which memory is reserved; 0: it is not known. */
  readonly wholeBytes: number
  /** Whether the account was asked for already. */
  readonly isLarge: boolean
}

class BodyReader {
  readonly #request: IncomingMessage
  readonly #input: BodyReaderInput
  readonly #body: BodyBytes
  readonly #whole = Promise.withResolvers<Buffer>()
  #length = 0
  #isAdmitted: boolean
  #isStopped = false
  #deadline: NodeJS.Timeout | undefined
  #paceTimer: NodeJS.Timeout | undefined

  constructor(request: IncomingMessage, input: BodyReaderInput) {
    this.#request = request
    this.#input = input
    this.#body = input.wholeBytes > 0 ? declared(input.wholeBytes) : collected()
    this.#isAdmitted = input.isLarge || input.account === undefined
  }

  read(): Promise<Buffer> {
    const { inflater } = this.#input
    if (!this.#hasCome()) this.#watchPace()
    const source = this.#source
    source.on('data', this.#onData)
    source.once('end', this.#onEnd)
    this.#request.once('close', this.#onClose)
    if (inflater !== null) {
      inflater.once('error', (cause) => this.#refuse(badCoding(cause)))
      this.#request.pipe(inflater)
    }
    return this.#whole.promise
  }

  get #source(): IncomingMessage | Transform {
    return this.#input.inflater ?? this.#request
  }

  /** Whether there is nothing to wait for: most bodies come with their heads. */
  #hasCome(): boolean {
    const declaredBytes = Number(this.#request.headers['content-length'])
    return this.#request instanceof ClientRequest && this.#request.hasWhole(declaredBytes)
  }

  #watchPace(): void {
    const { timeoutMs, account } = this.#input
    const { socket } = this.#request
    const pace = new BodyPace(socket.bytesRead)
    const refuse = (): void => this.#refuse(new Problem('request_timeout'))
    this.#deadline = setTimeout(refuse, timeoutMs)
    this.#paceTimer = setInterval(() => {
      const isCrowded = account?.memory.isCrowded ?? false
      if (pace.isTooSlow(socket.bytesRead, { isCrowded })) this.#refuse(tooSlow())
    }, PACE_INTERVAL_MS)
  }

  readonly #onData = (chunk: Buffer): void => {
    const { bytesMax, wholeBytes, account } = this.#input
    this.#length += chunk.length
    try {
      if (this.#length > bytesMax) throw tooLarge(bytesMax)
      if (wholeBytes === 0) account?.memory.grow(chunk.length)
      this.#body.add(chunk)
    } catch (thrown) {
      this.#refuse(thrown)
      return
    }
    if (!this.#isAdmitted && this.#length > SMALL_BODY_BYTES_MAX) void this.#admit()
  }

  /** Reads on once it is known that the account may have so much read. */
  async #admit(): Promise<void> {
    this.#isAdmitted = true
    this.#source.pause()
    try {
      await this.#input.account?.admitLargeBody()
      if (!this.#isStopped) this.#source.resume()
    } catch (thrown) {
      this.#refuse(thrown)
    }
  }

  readonly #onEnd = (): void => {
    this.#stop()
    this.#whole.resolve(this.#body.whole())
  }

  // Also heard after a whole body, which may still be inflating.
  readonly #onClose = (): void => {
    if (!this.#request.readableEnded) this.#refuse(endOfReading(this.#request))
  }

  #refuse(thrown: unknown): void {
    this.#stop()
    this.#whole.reject(thrown)
  }

  #stop(): void {
    this.#isStopped = true
    clearTimeout(this.#deadline)
    clearInterval(this.#paceTimer)
    const source = this.#source
    source.removeListener('data', this.#onData)
    source.removeListener('end', this.#onEnd)
    this.#request.removeListener('close', this.#onClose)
    const { inflater } = this.#input
    if (inflater === null) return
    this.#request.unpipe(inflater)
    inflater.destroy()
  }
}

/** Puts the pieces of a body together. */
interface BodyBytes {
  add(chunk: Buffer): void
  whole(): Buffer
}

function collected(): BodyBytes {
  const bytes = new GrowingBytes()
  return { add: (chunk) => bytes.add(chunk), whole: () => bytes.take() }
}

// A body whose length is known, which Node's parser holds it to, is copied into its place piece by piece.
// What never comes takes no memory.
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

// A zstd frame can ask for 128 MB of memory before its first byte; senders on the web keep to 8 MB.
const ZSTD_INFLATER = { ...INFLATER, params: { [constants.ZSTD_d_windowLogMax]: 23 } }

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
      return createZstdDecompress(ZSTD_INFLATER)
    default:
      throw new Problem('bad_request', {
        message: 'The content-encoding of a body may be gzip, br or zstd.',
      })
  }
}

/** Why the reading ended, of a request that was destroyed. */
function endOfReading(clientRequest: IncomingMessage): Problem {
  return breakOfBody(clientRequest) ?? clientLeft()
}

function badCoding(cause: Error): Problem {
  return new Problem('bad_request', {
    message: 'The body is not coded as its content-encoding says.',
    cause,
  })
}

function tooSlow(): Problem {
  return new Problem('request_timeout', { message: 'The request body arrives too slowly.' })
}

function tooLarge(bytesMax: number): Problem {
  const kibibytes = bytesMax / 1024
  const most = kibibytes < 1024 ? `${kibibytes} KB` : `${kibibytes / 1024} MB`
  return new Problem('request_too_large', { message: `The request body is over ${most}.` })
}
