const BLOCK_BYTES_MIN = 4 * 1024
const BLOCK_BYTES_MAX = 1024 * 1024

/**
 * Bytes that arrive in pieces, copied into growing blocks. Keeping the pieces would cost an object of a few hundred
 * bytes each, and keep the whole read that a small piece was cut from.
 */
export class GrowingBytes {
  readonly #full: Buffer[] = []
  #block: Buffer | null = null
  /** How much of the block is written. */
  #filled = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  add(piece: Buffer): void {
    const room = this.#block === null ? 0 : this.#block.length - this.#filled
    if (piece.length > room) {
      this.#append(piece.subarray(0, room))
      this.#startBlock(piece.length - room)
      this.#append(piece.subarray(room))
    } else {
      this.#append(piece)
    }
  }

  /** Takes all bytes so far, with one last piece that is copied only once, and starts again. */
  take(last: Buffer | null = null): Buffer {
    const pieces = [...this.#full]
    if (this.#block !== null) pieces.push(this.#block.subarray(0, this.#filled))
    if (last !== null) pieces.push(last)
    this.clear()
    const [only] = pieces
    return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces)
  }

  /** Drops all bytes so far. */
  clear(): void {
    this.#full.length = 0
    this.#block = null
    this.#filled = 0
    this.#length = 0
  }

  #startBlock(bytesMin: number): void {
    if (this.#block !== null) this.#full.push(this.#block)
    // The first is as large as its piece, because most bodies and answers come in one.
    const wanted = this.#length === 0 ? 0 : Math.max(BLOCK_BYTES_MIN, this.#length)
    this.#block = Buffer.allocUnsafe(Math.max(bytesMin, Math.min(wanted, BLOCK_BYTES_MAX)))
    this.#filled = 0
  }

  #append(piece: Buffer): void {
    if (this.#block === null || piece.length === 0) return
    piece.copy(this.#block, this.#filled)
    this.#filled += piece.length
    this.#length += piece.length
  }
}
