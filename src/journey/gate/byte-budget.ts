import { Problem } from '../../vocabulary/problem.ts'

/** The memory that request bodies, their trees and buffered answers of all API keys may take together. */
export interface ByteBudget {
  /** Begins a request's reservation, of nothing yet. */
  reserve(owner: ByteOwner): ByteReservation
  /** Bytes taken at this moment, for metrics. */
  readonly bytesReserved: number
}

/** The account that a request's bytes count for. */
export interface ByteOwner {
  readonly accountId: string
  /** Whether backed credit was ever added to the account. */
  readonly hasBackedCredit: boolean
  /** What one request may take, however small the account's share of the budget is. */
  readonly requestBytesMax: number
}

/** Bytes of the budget that one request has. */
export interface ByteReservation {
  /**
   * Takes more. Throws Problem `service_unavailable` where the budget, or the account's share of it, has
   * fewer left, and keeps what it had, to be released as ever. After the release it takes none.
   */
  grow(moreBytes: number): void
  /** Whether half of the budget is taken, so that accounts are held to their shares. */
  readonly isCrowded: boolean
  /** Gives all of it back. Once; later calls do nothing. */
  release(): void
}

// Bodies come and go within seconds, and nobody can know whose goes first.
const RETRY_AFTER_SECONDS = 1

const BACKED_SHARE = 8
const UNBACKED_SHARE = 16

/**
 * A budget of `bytesMax` bytes (`TOLLGATE_BUFFER_BYTES_MAX`). It must be larger than the largest
 * body that an endpoint takes, or such a body never fits. While less than half of it is taken, an
 * account may take what is there; above that, an eighth of it, or a sixteenth without backed credit.
 */
export function createByteBudget(input: { readonly bytesMax: number }): ByteBudget {
  return new SharedOutBudget(input.bytesMax, new OwnTally())
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
 * and never both be given it. What an account has in other threads does not count in its share.
 */
export function createSharedByteBudget(input: SharedByteBudgetInput): ByteBudget {
  return new SharedOutBudget(input.bytesMax, new CellTally(input))
}

/** Counts the bytes that are taken. */
interface Tally {
  /** Of this thread. */
  readonly own: number
  /** Of all threads. */
  readonly total: number
  add(bytes: number): void
}

class OwnTally implements Tally {
  own = 0

  get total(): number {
    return this.own
  }

  add(bytes: number): void {
    this.own += bytes
  }
}

class CellTally implements Tally {
  readonly #cells: BigInt64Array
  readonly #place: number

  constructor({ cells, place }: SharedByteBudgetInput) {
    this.#cells = cells
    this.#place = place
  }

  get own(): number {
    return Number(Atomics.load(this.#cells, this.#place))
  }

  get total(): number {
    let taken = 0n
    for (let place = 0; place < this.#cells.length; place++) {
      taken += Atomics.load(this.#cells, place)
    }
    return Number(taken)
  }

  add(bytes: number): void {
    Atomics.add(this.#cells, this.#place, BigInt(bytes))
  }
}

class SharedOutBudget implements ByteBudget {
  readonly #bytesMax: number
  readonly #tally: Tally
  /** What the requests of each account have; an account that has nothing is not in it. */
  readonly #bytesByAccount = new Map<string, number>()

  constructor(bytesMax: number, tally: Tally) {
    this.#bytesMax = bytesMax
    this.#tally = tally
  }

  get bytesReserved(): number {
    return this.#tally.own
  }

  get isCrowded(): boolean {
    return this.#tally.total * 2 >= this.#bytesMax
  }

  reserve(owner: ByteOwner): ByteReservation {
    return new Reservation(this, owner)
  }

  take(bytes: number, owner: ByteOwner): void {
    // A request that takes nothing is never refused, also while another thread's attempt to take too
    // much is briefly counted.
    if (bytes === 0) return
    this.#tally.add(bytes)
    const taken = this.#tally.total
    const isCrowded = (taken - bytes) * 2 >= this.#bytesMax
    const accountBytes = (this.#bytesByAccount.get(owner.accountId) ?? 0) + bytes
    const isOverShare = isCrowded && accountBytes > this.#shareOf(owner)
    if (taken > this.#bytesMax || isOverShare) {
      this.#tally.add(-bytes)
      throw busy(isOverShare)
    }
    this.#bytesByAccount.set(owner.accountId, accountBytes)
  }

  giveBack(bytes: number, { accountId }: ByteOwner): void {
    this.#tally.add(-bytes)
    const accountBytes = (this.#bytesByAccount.get(accountId) ?? 0) - bytes
    if (accountBytes > 0) this.#bytesByAccount.set(accountId, accountBytes)
    else this.#bytesByAccount.delete(accountId)
  }

  #shareOf({ hasBackedCredit, requestBytesMax }: ByteOwner): number {
    const share = this.#bytesMax / (hasBackedCredit ? BACKED_SHARE : UNBACKED_SHARE)
    return Math.max(share, requestBytesMax)
  }
}

function busy(isOverShare: boolean): Problem {
  return new Problem('service_unavailable', {
    message: isOverShare
      ? 'The gateway is busy, and other large requests of this account take all the memory that one account may have.'
      : 'The gateway is busy with other large requests.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
}

class Reservation implements ByteReservation {
  readonly #budget: SharedOutBudget
  readonly #owner: ByteOwner
  #bytes = 0
  #released = false

  constructor(budget: SharedOutBudget, owner: ByteOwner) {
    this.#budget = budget
    this.#owner = owner
  }

  get isCrowded(): boolean {
    return this.#budget.isCrowded
  }

  grow(moreBytes: number): void {
    // Bytes taken after the release would never be given back.
    if (this.#released) return
    this.#budget.take(moreBytes, this.#owner)
    this.#bytes += moreBytes
  }

  release(): void {
    if (this.#released) return
    this.#released = true
    this.#budget.giveBack(this.#bytes, this.#owner)
  }
}
