import { Problem } from '../vocabulary/problem.ts'

/** The memory that request bodies and buffered answers of all API keys may take together. */
export interface ByteBudget {
  /**
   * Takes bytes out of the budget until they are released; 0, which is never refused, for a body whose
   * length will show. Throws Problem `service_unavailable` where fewer are left.
   */
  reserve(bytes: number): ByteReservation
  /** Bytes taken at this moment, for metrics. */
  readonly bytesReserved: number
}

/** Bytes of the budget that one request has. */
export interface ByteReservation {
  /**
   * Takes more. Throws Problem `service_unavailable` where fewer are left, and keeps what it had, to
   * be released as ever. After the release it takes none.
   */
  grow(moreBytes: number): void
  /** Gives all of it back. Once; later calls do nothing. */
  release(): void
}

// Bodies come and go within seconds, and nobody can know whose goes first.
const RETRY_AFTER_SECONDS = 1

/**
 * A budget of `bytesMax` bytes (`TOLLGATE_BUFFER_BYTES_MAX`). It must be larger than the largest
 * body that an endpoint takes, or such a body never fits.
 */
export function createByteBudget(input: { readonly bytesMax: number }): ByteBudget {
  return new MemoryByteBudget(input.bytesMax)
}

export interface SharedByteBudgetInput {
  readonly bytesMax: number
  /** One cell for each thread, in memory that all of them share; at first all zero. */
  readonly cells: BigInt64Array
  /** Which cell is this thread's. */
  readonly place: number
}

/**
 * A budget that several threads have together. What a thread has taken is in a cell of its own, which
 * whoever sees the thread end sets to zero. Two that take the last of it at once may both be refused,
 * and never both be given it.
 */
export function createSharedByteBudget(input: SharedByteBudgetInput): ByteBudget {
  return new SharedByteBudget(input)
}

/** What reservations take from. */
interface ByteStock {
  /** Throws Problem `service_unavailable` where fewer are left. */
  take(bytes: number): void
  giveBack(bytes: number): void
}

class SharedByteBudget implements ByteBudget, ByteStock {
  readonly #bytesMax: bigint
  readonly #cells: BigInt64Array
  readonly #place: number

  constructor({ bytesMax, cells, place }: SharedByteBudgetInput) {
    this.#bytesMax = BigInt(bytesMax)
    this.#cells = cells
    this.#place = place
  }

  /** Of this thread alone. */
  get bytesReserved(): number {
    return Number(Atomics.load(this.#cells, this.#place))
  }

  reserve(bytes: number): ByteReservation {
    const reservation = new Reservation(this)
    reservation.grow(bytes)
    return reservation
  }

  take(bytes: number): void {
    // Who takes nothing is never one too many, though another's attempt may show for a moment.
    if (bytes === 0) return
    Atomics.add(this.#cells, this.#place, BigInt(bytes))
    let taken = 0n
    for (let place = 0; place < this.#cells.length; place++) {
      taken += Atomics.load(this.#cells, place)
    }
    if (taken <= this.#bytesMax) return
    this.giveBack(bytes)
    throw busy()
  }

  giveBack(bytes: number): void {
    Atomics.sub(this.#cells, this.#place, BigInt(bytes))
  }
}

class MemoryByteBudget implements ByteBudget, ByteStock {
  readonly #bytesMax: number
  bytesReserved = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  reserve(bytes: number): ByteReservation {
    const reservation = new Reservation(this)
    reservation.grow(bytes)
    return reservation
  }

  take(bytes: number): void {
    if (this.bytesReserved + bytes > this.#bytesMax) throw busy()
    this.bytesReserved += bytes
  }

  giveBack(bytes: number): void {
    this.bytesReserved -= bytes
  }
}

function busy(): Problem {
  return new Problem('service_unavailable', {
    message: 'The gateway is busy with other large requests.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
}

class Reservation implements ByteReservation {
  readonly #budget: ByteStock
  #bytes = 0
  #released = false

  constructor(budget: ByteStock) {
    this.#budget = budget
  }

  grow(moreBytes: number): void {
    // Bytes taken after the release would never be given back.
    if (this.#released) return
    this.#budget.take(moreBytes)
    this.#bytes += moreBytes
  }

  release(): void {
    if (this.#released) return
    this.#released = true
    this.#budget.giveBack(this.#bytes)
  }
}
