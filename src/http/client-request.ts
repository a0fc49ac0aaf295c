import { IncomingMessage } from 'node:http'
import type { ThreadShare } from '../journey/gate/thread-share.ts'
import { GrowingBytes } from '../vocabulary/growing-bytes.ts'
import { Problem } from '../vocabulary/problem.ts'

// A smaller piece waits for the next ones, or for the end of the body.
const PIECE_BYTES_MIN = 16 * 1024

// Node's parser takes a microsecond or two for a piece of any size. No ordinary client sends this many pieces
// this small.
const TINY_PIECE_BYTES_MAX = 64
const TINY_PIECES_A_TURN = 1_024
const TINY_PIECES = 'bodies in tiny pieces'

/**
 * A client's request as Node's parser makes it, with three differences. The tiny pieces of a body are joined
 * before they are kept: Node would keep an object of some 200 bytes for each, also while the request waits
 * for its turn. A body that breaks off ends the reading of the request but not its connection, which the
 * response still needs. Bodies in tiny pieces are read in turns, also when they are only dropped: each read
 * of 64 KB of such pieces takes the thread for ten milliseconds.
 */
export class ClientRequest extends IncomingMessage {
  #piece: Buffer | null = null
  #pieces: GrowingBytes | null = null
  #threadShare: ThreadShare | null = null
  #tinyPieces = 0
  #waitsForTurn = false
  #isAskedForMore = false

  /** From here on the body is read in turns if it comes in tiny pieces. */
  shareThread(threadShare: ThreadShare): void {
    this.#threadShare = threadShare
  }

  /** Whether it names no host, as every request of HTTP/1.1 must. */
  get lacksHost(): boolean {
    return this.httpVersion === '1.1' && this.headers.host === undefined
  }

  /** Whether a body of this length has arrived whole. Node reports that only a moment later. */
  hasWhole(declaredBytes: number): boolean {
    return this.complete || this.#piece?.length === declaredBytes
  }

  override push(piece: Buffer | null): boolean {
    if (piece !== null && piece.length <= TINY_PIECE_BYTES_MAX) this.#countTinyPiece()
    if (piece !== null && piece.length < PIECE_BYTES_MIN) return this.#hold(piece)
    const held = this.#takeHeld()
    if (held !== null) super.push(held)
    return super.push(piece)
  }

  override _read(bytes: number): void {
    if (this.#waitsForTurn) this.#isAskedForMore = true
    else super._read(bytes)
  }

  /** Stops reading a body that can no longer become complete. */
  breakOff(problem: Problem): void {
    this.destroy(problem)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!(error instanceof Problem)) super._destroy(error, done)
    else done(this.listenerCount('error') === 0 ? null : error)
  }

  #countTinyPiece(): void {
    this.#tinyPieces++
    if (this.#tinyPieces < TINY_PIECES_A_TURN || this.#waitsForTurn) return
    if (this.#threadShare === null) return
    this.#tinyPieces = 0
    this.#waitsForTurn = true
    this.socket.pause()
    void this.#threadShare.turn(TINY_PIECES).then((turn) => {
      this.#waitsForTurn = false
      // A full buffer is not filled further: the reader asks for more when it needs it.
      const isFull = this.readableLength >= this.readableHighWaterMark
      if (this.#isAskedForMore || !isFull) this.socket.resume()
      this.#isAskedForMore = false
      // The socket is read between the two at the latest.
      setImmediate(() => setImmediate(() => turn.end()))
    })
  }

  #hold(piece: Buffer): boolean {
    if (this.#pieces === null && this.#piece === null) {
      this.#piece = piece
      return true
    }
    this.#pieces ??= new GrowingBytes()
    if (this.#piece !== null) this.#pieces.add(this.#piece)
    this.#piece = null
    this.#pieces.add(piece)
    return this.#pieces.length < PIECE_BYTES_MIN || super.push(this.#pieces.take())
  }

  #takeHeld(): Buffer | null {
    const held = this.#piece
    this.#piece = null
    if (held !== null) return held
    return this.#pieces === null || this.#pieces.length === 0 ? null : this.#pieces.take()
  }
}

/** Why the reading of a request ended before its body was whole; null: the client left. */
export function breakOfBody({ errored }: IncomingMessage): Problem | null {
  return errored instanceof Problem ? errored : null
}

/** Whether the client waits for `100 Continue` before it sends its body. */
export function asksToGoOn({ headers, httpVersion }: IncomingMessage): boolean {
  return (
    headers.expect !== undefined && httpVersion === '1.1' && /100-continue/i.test(headers.expect)
  )
}
