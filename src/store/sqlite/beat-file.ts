import { type BigIntStats, readFileSync, statSync, writeFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { behindLinks, openSqliteConnection } from './sqlite-connection.ts'

/** A heartbeat that was committed. */
interface StoredBeat {
  readonly instanceId: string
  /** The time in its row. */
  readonly beatAtMs: number
}

/** A store lacks commits that a server had made: its write-ahead log was removed or cut while no server ran. */
export class LogMissing extends Error {
  override readonly name = 'LogMissing'
}

/**
 * The newest heartbeat of a SQLite store, in `<store>.beat` next to it. Without its write-ahead log, a store is exact and
 * older: only something outside of it can tell. The file has the store's inode too: a backup that was put in the
 * store's place, or written over it, may lack the heartbeat.
 */
export class BeatFile {
  readonly #store: string
  readonly #path: string

  constructor(storeFile: string) {
    this.#store = behindLinks(storeFile)
    this.#path = `${this.#store}.beat`
  }

  /** Notes a heartbeat once it is committed. A note that can't be written is left out. */
  write({ instanceId, beatAtMs }: StoredBeat): void {
    try {
      writeFileSync(
        this.#path,
        JSON.stringify({ instanceId, beatAtMs, inode: this.#found()?.ino.toString() }),
      )
    } catch {
      // An earlier note says less, and nothing wrong.
    }
  }

  /** Throws `LogMissing` if the store lacks the noted heartbeat. Changes nothing, so that the log can be put back. */
  check(): void {
    const noted = this.#read()
    const found = this.#found()
    if (noted === null || found === null || noted.inode !== found.ino.toString()) return
    // No program can set this time back, and a server that was killed since the heartbeat left the file as it was.
    if (Number(found.ctimeMs) > noted.beatAtMs) return
    const storedMs = this.#beatInStore(noted.instanceId)
    if (storedMs === 'unreadable' || storedMs >= noted.beatAtMs) return
    throw new LogMissing(
      `the store ${this.#store} lacks what its last server wrote until ${new Date(noted.beatAtMs).toISOString()}: ` +
        `its log, ${this.#store}-wal, was removed or cut. If you have the log, put it back before anything else opens the ` +
        `store. If not, delete ${this.#path} and start again: what was written meanwhile is lost, also requests and their charges`,
    )
  }

  #found(): BigIntStats | null {
    return statSync(this.#store, { bigint: true, throwIfNoEntry: false }) ?? null
  }

  #read(): (StoredBeat & { readonly inode: unknown }) | null {
    try {
      const noted: unknown = JSON.parse(readFileSync(this.#path, 'utf8'))
      const { instanceId, beatAtMs, inode } = Object(noted)
      if (typeof instanceId !== 'string' || typeof beatAtMs !== 'number') return null
      return { instanceId, beatAtMs, inode }
    } catch {
      return null
    }
  }

  /** The instance's newest heartbeat in the store; minus infinity: it has none. Other failures are the opener's to report. */
  #beatInStore(instanceId: string): number | 'unreadable' {
    let connection: DatabaseSync | null = null
    try {
      connection = openSqliteConnection({ file: this.#store, readOnly: true })
      const isMade = connection
        .prepare(`select 1 from sqlite_master where name = 'instances'`)
        .get()
      if (isMade === undefined) return Number.NEGATIVE_INFINITY
      const row = connection
        .prepare('select heartbeat_at_ms from instances where id = ?')
        .get(instanceId)
      return row === undefined ? Number.NEGATIVE_INFINITY : Number(row['heartbeat_at_ms'])
    } catch {
      return 'unreadable'
    } finally {
      connection?.close()
    }
  }
}
