import { Problem } from '../vocabulary/problem.ts'

/** The memory that request bodies and buffered answers of all API keys may take together. */
export interface ByteBudget {
  /**
   * Takes bytes out of the budget until they are released; 0 for a body whose length will show.
   * Throws Problem `service_unavailable` where fewer are left.
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

class MemoryByteBudget implements ByteBudget {
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
    if (this.bytesReserved + bytes > this.#bytesMax) {
      throw new Problem('service_unavailable', {
        message: 'The gateway is busy with other large requests.',
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      })
    }
    this.bytesReserved += bytes
  }

  giveBack(bytes: number): void {
    this.bytesReserved -= bytes
  }
}

class Reservation implements ByteReservation {
  readonly #budget: MemoryByteBudget
  #bytes = 0
  #released = false

  constructor(budget: MemoryByteBudget) {
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
