import {
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type TransactionSettings,
} from 'kysely'
import { FairQueue, type QueuePlace } from '../vocabulary/fair-queue.ts'
import type { Tables } from './schema.ts'
import { ReadRefused } from './store-failure.ts'

/** The user for whom a page is read. */
export interface Reader {
  /** The user, account or token that takes turns with the others. */
  readonly owner: string
  /** Aborted when no client waits for the page: its read leaves the queue. */
  readonly signal?: AbortSignal
}

/** Reads for one reader, which take turns with those of the others, one statement or transaction at a time. */
export type PageReads = (reader: Reader) => Kysely<Tables>

// Each server bounds the reads of one user or key, by bounding its calls.
const WAITING_MAX = 4_096
const WAIT_TIMEOUT_MS = 60_000

/** Reads that take turns at a few connections. An owner has one connection at a time. */
export function openPageReads(
  dialect: Dialect,
  { connectionsMax }: { readonly connectionsMax: number },
): { readonly reads: PageReads; close(): Promise<void> } {
  const driver = dialect.createDriver()
  const queue = new FairQueue({
    placesMax: connectionsMax,
    placesOfOwnerMax: 1,
    lanes: [{ waitingMax: WAITING_MAX }],
    waitTimeoutMs: WAIT_TIMEOUT_MS,
    refusal: () => new ReadRefused('tooMany'),
  })
  return {
    reads: (reader) =>
      new Kysely<Tables>({
        dialect: {
          createAdapter: () => dialect.createAdapter(),
          createIntrospector: (db) => dialect.createIntrospector(db),
          createQueryCompiler: () => dialect.createQueryCompiler(),
          createDriver: () => new TurnTakingDriver(driver, { queue, reader }),
        },
      }),
    close: () => driver.destroy(),
  }
}

/** A driver that waits for its reader's turn before it takes a connection of another driver. */
class TurnTakingDriver implements Driver {
  readonly #driver: Driver
  readonly #queue: FairQueue
  readonly #reader: Reader
  readonly #places = new Map<DatabaseConnection, QueuePlace>()

  constructor(driver: Driver, turns: { readonly queue: FairQueue; readonly reader: Reader }) {
    this.#driver = driver
    this.#queue = turns.queue
    this.#reader = turns.reader
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const place = await this.#queue.take(this.#reader)
    try {
      const connection = await this.#driver.acquireConnection()
      this.#places.set(connection, place)
      return connection
    } catch (error) {
      place.leave()
      throw error
    }
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    const place = this.#places.get(connection)
    this.#places.delete(connection)
    await this.#driver.releaseConnection(connection)
    place?.leave()
  }

  beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    return this.#driver.beginTransaction(connection, settings)
  }

  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#driver.commitTransaction(connection)
  }

  rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#driver.rollbackTransaction(connection)
  }

  // The connections are the other driver's.
  async destroy(): Promise<void> {}
}
