import type { Client } from 'pg'
import { PostgresPool } from './postgres-pool.ts'
import { PostgresServers, type ServerConnection } from './postgres-servers.ts'

/** Above the time-outs of statements in the pools, so that it applies only when the server can't be reached. */
const ANSWER_TIMEOUT_MS = 15_000

const STATEMENT_TIMEOUT_MS = 10_000

// Clients wait for the writer. Its statements look rows up by their keys; a commit that waits for a standby is ended
// only by the wait for the answer.
const WRITER_STATEMENT_TIMEOUT_MS = 4_000
const POOL_LOCK_TIMEOUT_MS = 2_000
// Above the second after which the server looks for a deadlock, which then ends only one transaction.
const WRITER_LOCK_TIMEOUT_MS_DEFAULT = 1_200
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000

/** The use of a pool's connections. */
type PoolUse = 'shortStatements' | 'longReads' | 'migrations'

// A client that freezes within a transaction blocks its rows for seconds at most.
const POOL_SETTINGS: Readonly<Record<PoolUse, string>> = {
  shortStatements: `
    set statement_timeout = ${STATEMENT_TIMEOUT_MS};
    set lock_timeout = ${POOL_LOCK_TIMEOUT_MS};
    set idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS}`,
  longReads: 'set default_transaction_read_only = on',
  migrations: '',
}

/** How a pool is opened. */
export interface OpenPoolInput {
  readonly servers: PostgresServers
  readonly connectionsMax: number
  /** Short statements have time-outs; long reads have `statementTimeoutMs`; migrations have none. */
  readonly use: PoolUse
  /** Ends a statement of a long read, which then throws `ReadRefused`. Default: none is ended. */
  readonly statementTimeoutMs?: number
}

/** A pool of connections, made when they are needed. */
export function openPostgresPool({
  servers,
  connectionsMax,
  use,
  statementTimeoutMs,
}: OpenPoolInput): PostgresPool {
  const driver = use === 'shortStatements' ? { query_timeout: ANSWER_TIMEOUT_MS } : {}
  const bound =
    statementTimeoutMs === undefined ? '' : `; set statement_timeout = ${statementTimeoutMs}`
  const settings = `${POOL_SETTINGS[use]}${bound}`
  return new PostgresPool({ servers, connectionsMax, driver, settings })
}

export interface PostgresWriterInput {
  readonly url: string
  /** How long a statement waits for a row that another transaction has. Default 1,200. */
  readonly lockTimeoutMs?: number
}

/** Opens connections for statements that look rows up by their keys and change them. */
export class PostgresWriters {
  readonly #servers: PostgresServers
  readonly #lockTimeoutMs: number

  constructor({ url, lockTimeoutMs = WRITER_LOCK_TIMEOUT_MS_DEFAULT }: PostgresWriterInput) {
    this.#servers = new PostgresServers(url)
    this.#lockTimeoutMs = lockTimeoutMs
  }

  /** Statements are pipelined, and every commit is on the server's disk. Rejects with `NotSent`. */
  open(): Promise<ServerConnection> {
    return this.#servers.connect({
      driver: { pipeline: true },
      // Plans are made once, and for any values: on tables that were never analysed the planner would
      // otherwise believe them to be small, and read them whole for each batch.
      settings: `
        set lock_timeout = ${this.#lockTimeoutMs};
        set statement_timeout = ${WRITER_STATEMENT_TIMEOUT_MS};
        set idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS};
        set plan_cache_mode = force_generic_plan;
        set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off;
        set jit = off;
        select set_config('synchronous_commit', 'on', false)
          where current_setting('synchronous_commit') in ('off', 'local')`,
    })
  }
}

/**
 * Sends the statements that `send` queries as one packet. A write to the socket costs more than the rest of a
 * short statement.
 */
export function sendTogether<Sent>(client: Client, send: () => Sent): Sent {
  const { stream } = client.connection
  stream.cork()
  try {
    return send()
  } finally {
    stream.uncork()
  }
}
