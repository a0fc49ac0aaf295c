import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { type Clock, HOUR_MS } from '../vocabulary/clock.ts'
import { readCursor } from './cursors.ts'

interface BlockRangeInput {
  /** The most blocks that are ever asked for at a time. */
  readonly blocksMax: number
  /** The cursor of the chain, whose range is kept beside it. */
  readonly source: string
  readonly db: Kysely<Tables>
  readonly clock: Clock
}

/** The question to the nodes. */
interface Asking<Answer> {
  /** How many blocks there are. */
  readonly blocks: number
  /** Asks for the first of these blocks. */
  ask(blocks: number): Promise<Answer>
  /** Whether too few nodes answered. */
  isRefused(answer: Answer): boolean
}

// A node that hangs at each question does not keep a look from its end.
const HALVE_FOR_MS = 20_000
const DOUBLE_AFTER_MS = HOUR_MS

/**
 * How many blocks the nodes of a chain search at a time. Nodes limit it, and rarely say that this is why they fail: a
 * refused number is halved until nodes answer, within the same look. The number is kept in the store, and for an hour no
 * larger one is tried.
 */
export class BlockRange {
  readonly #input: BlockRangeInput
  #blocks: number
  /** When a larger number was refused; null: none was. */
  #refusedAtMs: number | null = null
  #isRead = false

  constructor(input: BlockRangeInput) {
    this.#input = input
    this.#blocks = input.blocksMax
  }

  /** How many blocks nodes answer at a time, as far as is known. */
  get blocks(): number {
    return this.#blocks
  }

  /** Reads the number that this process or another has learned before. Rejects if the store fails. */
  async read(): Promise<void> {
    if (this.#isRead) return
    const row = await readCursor(this.#input.db, this.#source)
    this.#isRead = true
    if (row === null) return
    this.#blocks = Math.min(this.#input.blocksMax, Math.max(1, Number(row.position)))
    this.#refusedAtMs = row.lookedAtMs
  }

  /**
   * Asks for as many blocks as nodes answer. If they refuse a single one, the number of blocks is not the cause: the
   * answer is that refusal, and nothing is learned.
   */
  async fit<Answer>({ blocks, ask, isRefused }: Asking<Answer>): Promise<Answer> {
    const { clock } = this.#input
    const beganAtMs = clock.nowMs()
    const first = Math.min(blocks, this.#blocks)
    for (let asked = first; ; asked = Math.floor(asked / 2)) {
      const answer = await ask(asked)
      if (!isRefused(answer)) {
        if (asked < first) await this.#learn(asked)
        else if (asked === this.#blocks) await this.#double()
        return answer
      }
      if (asked === 1) return answer
      if (Math.abs(clock.nowMs() - beganAtMs) < HALVE_FOR_MS) continue
      // The next look continues from here.
      this.#blocks = Math.floor(asked / 2)
      return answer
    }
  }

  /** Nodes refused more, and answered so many. */
  async #learn(blocks: number): Promise<void> {
    this.#blocks = blocks
    this.#refusedAtMs = this.#input.clock.nowMs()
    await this.#write(this.#refusedAtMs)
  }

  async #double(): Promise<void> {
    const { blocksMax, clock } = this.#input
    if (this.#blocks >= blocksMax) return
    const refusedAtMs = this.#refusedAtMs
    if (refusedAtMs !== null && Math.abs(clock.nowMs() - refusedAtMs) < DOUBLE_AFTER_MS) return
    this.#blocks = Math.min(blocksMax, this.#blocks * 2)
    if (refusedAtMs !== null) await this.#write(refusedAtMs)
  }

  get #source(): string {
    return `${this.#input.source}:range`
  }

  async #write(refusedAtMs: number): Promise<void> {
    const row = { position: String(this.#blocks), block_hash: null, looked_at_ms: refusedAtMs }
    await this.#input.db
      .insertInto('sale_cursors')
      .values({ source: this.#source, ...row })
      .onConflict((conflict) => conflict.column('source').doUpdateSet(row))
      .execute()
  }
}
