import { Problem } from '../../vocabulary/problem.ts'

/** The account that a request's bytes count toward. */
export interface ByteOwner {
  readonly accountId: string
  /** Whether paid credit was ever added to the account. */
  readonly hasBackedCredit: boolean
  /** The bytes that one request may take, even above the account's share. */
  readonly requestBytesMax: number
}

/** The memory for request bodies, their trees and buffered answers of all API keys together. */
export type ByteBudget = Pick<SharedBudget, 'reserve' | 'bytesReserved'>

/** The bytes of the budget that one request holds. */
export type ByteReservation = Pick<Reservation, 'grow' | 'isCrowded' | 'giveBack' | 'release'>

// Bodies come and go within seconds; when there will be room can't be known.
const RETRY_AFTER_SECONDS = 1

const BACKED_SHARE = 8
const UNBACKED_SHARE = 16

/**
 * A budget of `bytesMax` bytes (`TOLLGATE_BUFFER_BYTES_MAX`), which must be larger than the largest body of
 * any endpoint. While less than half of it is taken, an account may take the rest; above that, an account
 * gets an eighth, or a sixteenth without paid credit.
 */
export function createByteBudget({ bytesMax }: { readonly bytesMax: number }): ByteBudget {
  return new SharedBudget(bytesMax)
}

class SharedBudget {
  readonly #bytesMax: number
  #bytesTaken = 0
  /** Accounts with at least one byte. */
  readonly #bytesByAccount = new Map<string, number>()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Bytes taken at this moment, for metrics. */
  get bytesReserved(): number {
    return this.#bytesTaken
  }

  get isCrowded(): boolean {
    return this.#bytesTaken * 2 >= this.#bytesMax
  }

  /** Begins a request's reservation, of zero bytes. */
  reserve(owner: ByteOwner): ByteReservation {
    return new Reservation(this, owner)
  }

  take(bytes: number, owner: ByteOwner): void {
    // A request for zero bytes succeeds even if its account is above its share.
    if (bytes === 0) return
    const accountBytes = (this.#bytesByAccount.get(owner.accountId) ?? 0) + bytes
    const isOverShare = this.isCrowded && accountBytes > this.#shareOf(owner)
    if (this.#bytesTaken + bytes > this.#bytesMax || isOverShare) throw busy(isOverShare)
    this.#bytesTaken += bytes
    this.#bytesByAccount.set(owner.accountId, accountBytes)
  }

  giveBack(bytes: number, { accountId }: ByteOwner): void {
    this.#bytesTaken -= bytes
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
      ? 'The gateway is busy, and other large requests of this account use all the memory that one account can use. Try again when they end.'
      : 'The gateway is busy with other large requests. Try again in a few seconds.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
}

class Reservation {
  readonly #budget: SharedBudget
  readonly #owner: ByteOwner
  #bytes = 0
  #released = false

  constructor(budget: SharedBudget, owner: ByteOwner) {
    this.#budget = budget
    this.#owner = owner
  }

  /** Whether half of the budget is taken, so that accounts are limited to their shares. */
  get isCrowded(): boolean {
    return this.#budget.isCrowded
  }

  /**
   * Takes more bytes. Throws Problem `service_unavailable` if the budget or the account's share has fewer left; the
   * bytes taken before stay taken until the release. Does nothing after the release.
   */
  grow(moreBytes: number): void {
    // Bytes taken after the release would never be given back.
    if (this.#released) return
    this.#budget.take(moreBytes, this.#owner)
    this.#bytes += moreBytes
  }

  /** Gives all bytes back; more may be taken. */
  giveBack(): void {
    this.#budget.giveBack(this.#bytes, this.#owner)
    this.#bytes = 0
  }

  /** Gives all bytes back for good; later calls do nothing. */
  release(): void {
    this.#released = true
    this.giveBack()
  }
}
