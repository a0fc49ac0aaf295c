import type { IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib'
import { clientLeft } from '../journey/client-answer.ts'
import type { Turn } from '../journey/gate/thread-share.ts'
import type { BodyAccount } from '../journey/journey-parts.ts'
import { GrowingBytes } from '../vocabulary/growing-bytes.ts'
import { Problem } from '../vocabulary/problem.ts'
import { breakOfBody, ClientRequest } from './connections.ts'

interface ReadBodyInput {
  /** The largest size of the body after inflating. */
  readonly bytesMax: number
  /** For the whole body to arrive. */
  readonly timeoutMs: number
  /** Default: the only limits are those of its endpoint. */
  readonly account?: BodyAccount
  /** Called once it is certain that the body will be read. Default: nothing. */
  readonly beforeReading?: () => void
}

/** The size of body that is read for any account that may call. */
const SMALL_BODY_BYTES_MAX = 64 * 1024

/**
 * Beyond this size, a body is inflated in turns, a piece at a time: thirty kilobytes can
 * expand to thirty megabytes, and many such bodies at once would take every core of the machine.
 */
const FREELY_INFLATED_BYTES_MAX = 256 * 1024

/**
 * Reads a request's body whole. Throws Problem: `request_too_large` as soon as this is certain,
 * `request_timeout` for a body that is late or slow, `bad_request` for a body that broke off or a coding
 * that is unknown or broken, the Problems of the account's limits, and one for a client that leaves. A refused body is
 * left unread: the code that answers drains it.
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
  // A client that has left already causes no event.
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
  /** Whether the account has been asked already. */
  readonly isLarge: boolean
}

class BodyReader {
  readonly #request: IncomingMessage
  readonly #input: BodyReaderInput
  readonly #body: BodyBytes
  readonly #whole = Promise.withResolvers<Buffer>()
  #length = 0
  #isAdmitted: boolean
  #admission: Promise<void> | undefined
  #isStopped = false
  /** Whether pieces of an inflated body are being taken. */
  #isReading = false
  /** Whether the gateway itself keeps the body from being read. */
  #isHeldUp = false
  #heldUpSinceMs = 0
  #heldUpMs = 0
  #deadline: NodeJS.Timeout | undefined
  #paceTimer: NodeJS.Timeout | undefined

  constructor(request: IncomingMessage, input: BodyReaderInput) {
    this.#request = request
    this.#input = input
    this.#body = new BodyBytes(input.wholeBytes > 0 ? input.wholeBytes : input.bytesMax)
    this.#isAdmitted = input.isLarge || input.account === undefined
  }

  read(): Promise<Buffer> {
    const { inflater } = this.#input
    if (!this.#hasCome()) this.#watchPace()
    this.#request.once('close', this.#onClose)
    if (inflater === null) {
      this.#request.on('data', this.#onData)
      this.#request.once('end', this.#onEnd)
    } else {
      inflater.on('readable', () => void this.#readInflated(inflater))
      inflater.once('end', this.#onEnd)
      inflater.once('error', (cause) => this.#refuse(badCoding(cause)))
      this.#request.pipe(inflater)
    }
    return this.#whole.promise
  }

  /** Takes inflated pieces, which makes the inflater produce more. */
  async #readInflated(inflater: Transform): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    let turn: Turn | undefined
    try {
      while (!this.#isStopped) {
        const isLarge = this.#length > FREELY_INFLATED_BYTES_MAX
        const takesTurn = isLarge && inflater.readableLength > 0
        turn = takesTurn ? await this.#holdUp(this.#input.account?.inflateTurn()) : undefined
        // Node reports no event when the client of a whole request leaves.
        if (this.#request.socket.destroyed) this.#refuse(endOfReading(this.#request))
        const piece: Buffer | null = this.#isStopped ? null : inflater.read()
        if (piece !== null) this.#onData(piece)
        turn?.end()
        await this.#admission
        if (piece === null) break
      }
    } finally {
      turn?.end()
      this.#isReading = false
    }
  }

  /** Whether the whole body is here: most bodies arrive together with their heads. */
  #hasCome(): boolean {
    const declaredBytes = Number(this.#request.headers['content-length'])
    return this.#request instanceof ClientRequest && this.#request.hasWhole(declaredBytes)
  }

  #watchPace(): void {
    const { timeoutMs, account } = this.#input
    const { socket } = this.#request
    const pace = new BodyPace(socket.bytesRead)
    const refuse = (): void => {
      // The time that the gateway itself took does not count against the sender.
      if (this.#request.complete) return
      const heldUpMs = this.#takeHeldUpMs()
      if (heldUpMs < 1) this.#refuse(new Problem('request_timeout'))
      else this.#deadline = setTimeout(refuse, heldUpMs)
    }
    this.#deadline = setTimeout(refuse, timeoutMs)
    this.#paceTimer = setInterval(() => {
      if (this.#request.complete || this.#isHeldUp) return
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
    if (!this.#isAdmitted && this.#length > SMALL_BODY_BYTES_MAX) this.#admission = this.#admit()
  }

  /** Continues to read once the account may send a body this large. */
  async #admit(): Promise<void> {
    this.#isAdmitted = true
    const isInflated = this.#input.inflater !== null
    if (!isInflated) this.#request.pause()
    try {
      await this.#holdUp(this.#input.account?.admitLargeBody())
      if (!isInflated && !this.#isStopped) this.#request.resume()
    } catch (thrown) {
      this.#refuse(thrown)
    }
  }

  /** Waits for the gateway itself, without counting the time against the sender's pace. */
  async #holdUp<Value>(wait: Promise<Value> | undefined): Promise<Value | undefined> {
    this.#heldUpSinceMs = performance.now()
    this.#isHeldUp = true
    try {
      return await wait
    } finally {
      this.#heldUpMs += performance.now() - this.#heldUpSinceMs
      this.#isHeldUp = false
    }
  }

  /** Returns how long the gateway has kept the body from being read since the last call. */
  #takeHeldUpMs(): number {
    const nowMs = performance.now()
    const heldUpMs = this.#heldUpMs + (this.#isHeldUp ? nowMs - this.#heldUpSinceMs : 0)
    this.#heldUpMs = 0
    this.#heldUpSinceMs = nowMs
    return heldUpMs
  }

  readonly #onEnd = (): void => {
    this.#stop()
    const resolve = (): void => this.#whole.resolve(this.#body.whole())
    // The body may end while the account is still asked; then a refusal comes first.
    if (this.#admission === undefined) resolve()
    else void this.#admission.then(resolve)
  }

  // Also called after a whole body, which may still be inflating.
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
    this.#request.removeListener('data', this.#onData)
    this.#request.removeListener('end', this.#onEnd)
    this.#request.removeListener('close', this.#onClose)
    const { inflater } = this.#input
    if (inflater === null) return
    inflater.removeListener('end', this.#onEnd)
    this.#request.unpipe(inflater)
    inflater.destroy()
  }
}

// Up to this size the pieces are joined at once, when all have come.
const COLLECTED_BYTES_MAX = 1024 * 1024
const ROOM_GROWTH = 8

/**
 * Puts the pieces of a body together. Joining 30 MB when the last piece has come would hold the thread
 * for tens of milliseconds, for each of the bodies that end together, so a large body is written into its
 * place as it comes. That place grows with what has come: room for all that a body declares would make
 * the engine collect garbage for the sake of bodies that never come.
 */
class BodyBytes {
  readonly #bytesMax: number
  readonly #small = new GrowingBytes()
  #large: Buffer | null = null
  #length = 0

  /** `bytesMax` is the length if it is known. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  add(chunk: Buffer): void {
    if (this.#length === 0 && chunk.length === this.#bytesMax) {
      this.#large = chunk
    } else if (this.#large === null && this.#length + chunk.length <= COLLECTED_BYTES_MAX) {
      this.#small.add(chunk)
    } else {
      chunk.copy(this.#roomFor(chunk.length), this.#length)
    }
    this.#length += chunk.length
  }

  // Never more than arrived: the memory beyond belongs to other data.
  whole(): Buffer {
    return this.#large?.subarray(0, this.#length) ?? this.#small.take()
  }

  #roomFor(moreBytes: number): Buffer {
    const bytes = this.#length + moreBytes
    if (this.#large !== null && bytes <= this.#large.length) return this.#large
    const before = this.#large ?? this.#small.take()
    this.#large = Buffer.allocUnsafeSlow(Math.min(this.#bytesMax, bytes * ROOM_GROWTH))
    before.copy(this.#large)
    return this.#large
  }
}

// Node's default pieces of 16 KB make inflating a large body several times as expensive.
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
        message: 'The supported content-encodings are gzip, br and zstd.',
      })
  }
}

/** Why the reading ended, of a request that was destroyed. */
function endOfReading(clientRequest: IncomingMessage): Problem {
  return breakOfBody(clientRequest) ?? clientLeft()
}

function badCoding(cause: Error): Problem {
  return new Problem('bad_request', {
    message: 'The body is not encoded as its content-encoding says.',
    cause,
  })
}

function tooSlow(): Problem {
  return new Problem('request_timeout', {
    message: 'The request body arrives too slowly. Send it again over a faster connection.',
  })
}

function tooLarge(bytesMax: number): Problem {
  const kibibytes = bytesMax / 1024
  // Only bodies with media are allowed to be so large.
  const [most, advice] =
    kibibytes < 1024
      ? [`${kibibytes} KB`, 'Send a smaller body.']
      : [`${kibibytes / 1024} MB`, 'Send a smaller body, or send media by URL.']
  return new Problem('request_too_large', {
    message: `The request body is over ${most}. ${advice}`,
  })
}

/** How often a body's pace is checked. */
const PACE_INTERVAL_MS = 1_000

interface PaceRule {
  readonly lastSeconds: number
  readonly bytesMin: number
}

const ALWAYS: PaceRule = { lastSeconds: 30, bytesMin: 30 * 8 * 1024 }
const WHILE_CROWDED: PaceRule = { lastSeconds: 5, bytesMin: 100 * 1024 }

/**
 * How fast a body arrives. Memory is reserved for a body while it is read, so a sender that withholds its
 * last bytes would keep that memory for nothing. Bytes are counted as they were sent, because a few
 * compressed bytes can expand to many.
 */
export class BodyPace {
  /** The bytes that had arrived at each check of the last 30 seconds, oldest first. */
  readonly #came: number[]

  constructor(bytesAtStart: number) {
    this.#came = [bytesAtStart]
  }

  /** Call it every second: whether the body is slower than allowed; the limit is higher while memory is short. */
  isTooSlow(bytesNow: number, { isCrowded }: { readonly isCrowded: boolean }): boolean {
    this.#came.push(bytesNow)
    if (this.#came.length > ALWAYS.lastSeconds + 1) this.#came.shift()
    return this.#isBelow(ALWAYS) || (isCrowded && this.#isBelow(WHILE_CROWDED))
  }

  #isBelow({ lastSeconds, bytesMin }: PaceRule): boolean {
    const before = this.#came.at(-1 - lastSeconds)
    const now = this.#came.at(-1)
    return before !== undefined && now !== undefined && now - before < bytesMin
  }
}
