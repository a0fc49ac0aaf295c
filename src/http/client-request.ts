import { IncomingMessage } from 'node:http'
import type { ThreadShare } from '../journey/gate/thread-share.ts'
import { GrowingBytes } from '../vocabulary/growing-bytes.ts'
import { Problem } from '../vocabulary/problem.ts'

// A smaller piece waits for the next ones, or for the end of the body.
const PIECE_BYTES_MIN = 16 * 1024

// Node's parser takes a microsecond or two for a piece of whatever size. Nobody who does not mean it sends
// so many so small.
const TINY_PIECE_BYTES_MAX = 64
const TINY_PIECES_A_TURN = 1_024
const TINY_PIECES = 'bodies in tiny pieces'

/**
 * A client's request as Node's parser makes it, with three differences. The tiny pieces of a body are put
 * together before anything keeps them: Node would keep an object of some 200 bytes for each, also
 * while the request waits for its turn. And a body that breaks off ends the request's reading, and not
 * its connection, which an answer still has to go out on. One whose body comes in tiny pieces is read in
 * turns with others of its kind, also where the body is only dropped: each read of 64 KB of such pieces
 * takes the thread for ten milliseconds.
 */
export class ClientRequest extends IncomingMessage {
  #piece: Buffer | null = null
  #pieces: GrowingBytes | null = null
  #threadShare: ThreadShare | null = null
  #tinyPieces = 0
  #waitsForTurn = false
  #isAskedForMore = false

  /** Has the body read in turns where it comes in tiny pieces. */
  shareThread(threadShare: ThreadShare): void {
    this.#threadShare = threadShare
  }

  /** Whether all of a body of this length is here, which Node says only a moment later. */
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

  /** Ends the reading of a body that can't become whole any more. */
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
      // Who is asked for no more has enough for now, and asks when it has not.
      const isFull = this.readableLength >= this.readableHighWaterMark
      if (this.#isAskedForMore || !isFull) this.socket.resume()
      this.#isAskedForMore = false
      // The socket is read between the one and the other at the latest.
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

/** Why a request's reading was ended before its body was whole; null: the client is gone. */
export function breakOfBody({ errored }: IncomingMessage): Problem | null {
  return errored instanceof Problem ? errored : null
}

/** Whether the client waits to be told to go on before it sends its body. */
export function asksToGoOn({ headers, httpVersion }: IncomingMessage): boolean {
  return (
    headers.expect !== undefined && httpVersion === '1.1' && /100-continue/i.test(headers.expect)
  )
}
