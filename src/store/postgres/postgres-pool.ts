import { NotSent } from '../store-failure.ts'
import {
  type ConnectInput,
  dropConnection,
  endConnection,
  type PostgresServers,
  type ServerConnection,
} from './postgres-servers.ts'

/** How long to wait for a connection of the pool to come free. */
const FREE_MS_MAX = 5_000

const IDLE_MS_MAX = 30_000

// The time for which a list may be read from a server that no longer takes writes.
const LIFETIME_MS_MAX = 300_000

interface PostgresPoolInput extends ConnectInput {
  readonly servers: PostgresServers
  readonly connectionsMax: number
}

/** A connection of a pool, with the moment from which it is not used again. */
interface Pooled extends ServerConnection {
  readonly endsAtMs: number
  idleTimer: NodeJS.Timeout | null
}

/** A caller that waits for a connection. */
interface Waiting extends PromiseWithResolvers<Pooled> {
  /** It was refused: a connection that comes now is for another. */
  isRefused: boolean
}

/** Connections to the server that takes writes, made when they are needed. Failures of idle ones are ignored. */
export class PostgresPool {
  readonly #input: PostgresPoolInput
  readonly #idle: Pooled[] = []
  readonly #waiting = new Set<Waiting>()
  #connections = 0
  #closed: PromiseWithResolvers<void> | null = null

  constructor(input: PostgresPoolInput) {
    this.#input = input
  }

  /** A connection that only the caller uses, until `release`. Rejects with `NotSent` if there is none. */
  async acquire(): Promise<Pooled> {
    if (this.#closed !== null) throw new NotSent('the store is closed')
    const idle = this.#idle.pop()
    if (idle !== undefined) {
      if (idle.idleTimer !== null) clearTimeout(idle.idleTimer)
      return idle
    }
    if (this.#connections >= this.#input.connectionsMax) return this.#wait()
    this.#connections++
    return this.#connect()
  }

  /** Takes a connection back. By position: the connection, and whether it may be used again. */
  release(pooled: Pooled, isUsable: boolean): void {
    if (!isUsable || performance.now() > pooled.endsAtMs || this.#closed !== null) {
      this.#end(pooled, isUsable ? 'politely' : 'atOnce')
      return
    }
    const next = this.#nextWaiting()
    if (next === null) this.#keep(pooled)
    else next.resolve(pooled)
  }

  /** Stops giving out connections; resolves when all have ended. */
  async close(): Promise<void> {
    this.#closed ??= Promise.withResolvers<void>()
    for (const pooled of this.#idle.splice(0)) this.#end(pooled, 'politely')
    if (this.#connections === 0) this.#closed.resolve()
    await this.#closed.promise
  }

  /** In a place that is counted already. */
  async #connect(): Promise<Pooled> {
    const { servers, driver, settings } = this.#input
    try {
      const connection = await servers.connect({ driver, settings })
      const pooled: Pooled = {
        ...connection,
        endsAtMs: performance.now() + LIFETIME_MS_MAX,
        idleTimer: null,
      }
      connection.client.once('end', () => this.#forget(pooled))
      return pooled
    } catch (error) {
      this.#freePlace()
      throw error
    }
  }

  async #wait(): Promise<Pooled> {
    const waiting: Waiting = { ...Promise.withResolvers<Pooled>(), isRefused: false }
    this.#waiting.add(waiting)
    const timer = setTimeout(() => {
      this.#waiting.delete(waiting)
      waiting.isRefused = true
      waiting.reject(new NotSent('all connections to the database are in use'))
    }, FREE_MS_MAX)
    try {
      return await waiting.promise
    } finally {
      clearTimeout(timer)
    }
  }

  #nextWaiting(): Waiting | null {
    const [next = null] = this.#waiting
    if (next !== null) this.#waiting.delete(next)
    return next
  }

  #keep(pooled: Pooled): void {
    pooled.idleTimer = setTimeout(() => {
      if (this.#takeIdle(pooled)) this.#end(pooled, 'politely')
    }, IDLE_MS_MAX)
    pooled.idleTimer.unref()
    this.#idle.push(pooled)
  }

  #takeIdle(pooled: Pooled): boolean {
    const place = this.#idle.indexOf(pooled)
    if (place >= 0) this.#idle.splice(place, 1)
    if (pooled.idleTimer !== null) clearTimeout(pooled.idleTimer)
    return place >= 0
  }

  /** A connection that was lost while it was idle. */
  #forget(pooled: Pooled): void {
    if (this.#takeIdle(pooled)) this.#freePlace()
  }

  #end({ client }: Pooled, how: 'politely' | 'atOnce'): void {
    const isOver =
      how === 'politely' ? endConnection(client) : Promise.resolve(dropConnection(client))
    void isOver.then(() => this.#freePlace())
  }

  /** One connection less: the next that waits may make another. */
  #freePlace(): void {
    const next = this.#closed === null ? this.#nextWaiting() : null
    if (next === null) {
      this.#connections--
      if (this.#connections === 0) this.#closed?.resolve()
      return
    }
    this.#connect().then((pooled) => {
      if (next.isRefused) this.release(pooled, true)
      else next.resolve(pooled)
    }, next.reject)
  }
}
