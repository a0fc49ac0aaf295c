const BLOCK_BYTES = 1_048_576

/** The most bytes that UTF-8 takes for one of a string's code units. */
const BYTES_MAX = 3

/** A text outside of the heap. */
export interface PackedText {
  readonly block: Buffer
  readonly start: number
  readonly end: number
}

/**
 * Keeps texts outside of the heap, whose collector waits longer the more it has found in use. They stand one behind the other
 * in blocks of their own: in a buffer of Node's pool, each would keep what other buffers have left there.
 */
export class PackedTexts {
  #block = Buffer.alloc(0)
  #end = 0

  /** Its block is free once no text in it is referred to. */
  keep(text: string): PackedText {
    const bytesMax = text.length * BYTES_MAX
    if (this.#end + bytesMax > this.#block.length) {
      this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, bytesMax))
      this.#end = 0
    }
    const start = this.#end
    this.#end += this.#block.write(text, start)
    return { block: this.#block, start, end: this.#end }
  }
}

/** The text that was kept. */
export function readText({ block, start, end }: PackedText): string {
  return block.toString('utf8', start, end)
}
