import { type StartTimer, startUnrefTimer } from './clock.ts'

/** The rules of one lane. Entries of an earlier lane go before all of a later one. */
interface LaneRules {
  /** The most entries that wait. */
  readonly waitingMax: number
  /** The most entries of one owner that wait. Default: as many as of all. */
  readonly waitingOfOwnerMax?: number
  /** The entry of an owner that goes first. Default: the oldest. */
  readonly first?: 'oldest' | 'newest'
  /** The entry that leaves a full lane. Default: the new one. */
  readonly whenFull?: 'oldestOfLargestLeaves'
}

export interface FairQueueInput {
  /** The most places that are taken at once. */
  readonly placesMax: number
  /** The most places of one owner. Default: all. */
  readonly placesOfOwnerMax?: number
  readonly lanes: readonly [LaneRules, ...LaneRules[]]
  /** The longest wait for a place. Default: no limit. */
  readonly waitTimeoutMs?: number
  /** Makes the error that an entry without a place is refused with. */
  readonly refusal: () => Error
  /** Default: a timer that does not keep the process alive. */
  readonly startTimer?: StartTimer
}

/** An entry into a queue. */
export interface QueueEntry {
  /** The key, account, user or network that takes turns with the others. */
  readonly owner: string
  /** The position of its lane. Default: 0. */
  readonly lane?: number
  /** Takes the entry out of the queue; the promise then rejects with its reason. */
  readonly signal?: AbortSignal
}

/** A place that was taken. */
export interface QueuePlace {
  /** Gives the place to the next entry. Later calls do nothing. */
  leave(): void
}

interface Waiting {
  readonly admit: () => void
  /** Leaves the queue and rejects. */
  readonly refuse: (reason: unknown) => void
}

/**
 * Bounds how much happens at once. A place is free at once, or when another one is left: then owners take turns, so
 * that an owner with many entries delays only itself. Waiting entries are bounded in number and in time.
 */
export class FairQueue {
  readonly #input: FairQueueInput
  readonly #startTimer: StartTimer
  readonly #lanes: readonly Lane[]
  #taken = 0
  readonly #takenOf = new Map<string, number>()

  constructor(input: FairQueueInput) {
    this.#input = input
    this.#startTimer = input.startTimer ?? startUnrefTimer
    this.#lanes = input.lanes.map((rules) => new Lane(rules))
  }

  /** The number of places that are taken. */
  get taken(): number {
    return this.#taken
  }

  /** The number of entries that wait. */
  get waiting(): number {
    return this.#lanes.reduce((sum, { waitingCount }) => sum + waitingCount, 0)
  }

  /** Does the work once there is a place, and leaves it. Rejects as `take` does, and as the work does. */
  async run<T>(entry: QueueEntry, work: () => Promise<T>): Promise<T> {
    const place = await this.take(entry)
    try {
      return await work()
    } finally {
      place.leave()
    }
  }

  /** A place: at once if one is free. Throws `refusal` if too many wait, and rejects with it if a wait ends. */
  take(entry: QueueEntry): QueuePlace | Promise<QueuePlace> {
    if (this.#taken < this.#input.placesMax && this.#mayTake(entry.owner)) {
      return this.#place(entry.owner)
    }
    const lane = this.#lanes[entry.lane ?? 0]
    if (lane === undefined) throw new RangeError(`the queue has no lane ${entry.lane}`)
    if (!lane.makeRoom(entry.owner, this.#input.refusal)) throw this.#input.refusal()
    return this.#wait(lane, entry)
  }

  #wait(lane: Lane, { owner, signal }: QueueEntry): Promise<QueuePlace> {
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        stopTimer()
        signal?.removeEventListener('abort', onAbort)
        lane.remove(owner, waiting)
      }
      const waiting: Waiting = {
        admit: () => {
          stopWaiting()
          resolve(this.#place(owner))
        },
        refuse: (reason) => {
          stopWaiting()
          reject(reason)
        },
      }
      const onAbort = (): void => waiting.refuse(signal?.reason)
      const { waitTimeoutMs: delayMs, refusal } = this.#input
      const onTimeUp = (): void => waiting.refuse(refusal())
      const stopTimer =
        delayMs === undefined ? () => {} : this.#startTimer({ delayMs, run: onTimeUp })
      lane.add(owner, waiting)
      if (signal?.aborted === true) onAbort()
      else signal?.addEventListener('abort', onAbort)
    })
  }

  #mayTake(owner: string): boolean {
    const { placesOfOwnerMax } = this.#input
    return placesOfOwnerMax === undefined || (this.#takenOf.get(owner) ?? 0) < placesOfOwnerMax
  }

  #place(owner: string): QueuePlace {
    this.#count(owner, 1)
    let isTaken = true
    return {
      leave: () => {
        if (!isTaken) return
        isTaken = false
        this.#count(owner, -1)
        this.#admitNext()
      },
    }
  }

  #count(owner: string, more: 1 | -1): void {
    this.#taken += more
    const ofOwner = (this.#takenOf.get(owner) ?? 0) + more
    if (ofOwner === 0) this.#takenOf.delete(owner)
    else this.#takenOf.set(owner, ofOwner)
  }

  #admitNext(): void {
    for (const lane of this.#lanes) {
      const next = lane.next((owner) => this.#mayTake(owner))
      if (next === null) continue
      next.admit()
      return
    }
  }
}

/** The entries that wait in one lane. */
class Lane {
  readonly #rules: LaneRules
  /** By owner, in the order in which they came. The first owner has the next turn, and goes to the end then. */
  readonly #waiting = new Map<string, Waiting[]>()
  waitingCount = 0

  constructor(rules: LaneRules) {
    this.#rules = rules
  }

  /** Makes room for an entry; whether there is any. An entry that gives way is refused. */
  makeRoom(owner: string, refusal: FairQueueInput['refusal']): boolean {
    const { waitingMax, waitingOfOwnerMax = waitingMax, whenFull } = this.#rules
    if (this.waitingCount < waitingMax || whenFull !== 'oldestOfLargestLeaves') {
      const ofOwner = this.#waiting.get(owner)?.length ?? 0
      return ofOwner < waitingOfOwnerMax && this.waitingCount < waitingMax
    }
    let largest: Waiting[] = []
    for (const ofOwner of this.#waiting.values()) {
      if (ofOwner.length > largest.length) largest = ofOwner
    }
    largest[0]?.refuse(refusal())
    return true
  }

  add(owner: string, waiting: Waiting): void {
    const ofOwner = this.#waiting.get(owner)
    if (ofOwner === undefined) this.#waiting.set(owner, [waiting])
    else ofOwner.push(waiting)
    this.waitingCount++
  }

  remove(owner: string, waiting: Waiting): void {
    const ofOwner = this.#waiting.get(owner) ?? []
    const at = ofOwner.indexOf(waiting)
    if (at === -1) return
    ofOwner.splice(at, 1)
    this.waitingCount--
    if (ofOwner.length === 0) this.#waiting.delete(owner)
  }

  /** The entry whose turn it is, of the owners that may take a place. The owner's other entries go behind all others. */
  next(mayTake: (owner: string) => boolean): Waiting | null {
    for (const [owner, ofOwner] of this.#waiting) {
      if (!mayTake(owner)) continue
      this.#waiting.delete(owner)
      this.#waiting.set(owner, ofOwner)
      return (this.#rules.first === 'newest' ? ofOwner.at(-1) : ofOwner[0]) ?? null
    }
    return null
  }
}
