import { Client, type ClientBase, type ClientConfig, DatabaseError, Pool, types } from 'pg'
import { StoreRefused, StoreUnavailable } from '../store-failure.ts'

/** How long to wait for a connection: to be made, or to come free. */
const CONNECT_TIMEOUT_MS = 5_000

/** Above the time-outs of statements in the pools, so that it applies only when the server can't be reached. */
const ANSWER_TIMEOUT_MS = 15_000

const STATEMENT_TIMEOUT_MS = 10_000

// Clients wait for the writer. Its statements look rows up by their keys; a commit that waits for a standby is ended by
// the wait for the answer alone.
const WRITER_ANSWER_TIMEOUT_MS_DEFAULT = 5_000
const WRITER_STATEMENT_TIMEOUT_MS = 4_000
// Above the second after which the server looks for a deadlock, which then ends one transaction alone.
const LOCK_TIMEOUT_MS_DEFAULT = 2_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000

// A client that freezes within a transaction blocks its rows for seconds at most.
const TIMEOUTS = `
  set statement_timeout = ${STATEMENT_TIMEOUT_MS};
  set lock_timeout = ${LOCK_TIMEOUT_MS_DEFAULT};
  set idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS}`

const BIGINT = 20

/** Reads 64-bit integers as numbers: the store keeps only safe integers in them. */
const TYPES: ClientConfig['types'] = {
  getTypeParser(oid, format) {
    if (oid === BIGINT && format !== 'binary') return safeInteger
    return types.getTypeParser(oid, format)
  },
}

function safeInteger(text: string): number {
  const integer = Number(text)
  if (!Number.isSafeInteger(integer)) throw new RangeError(`the store has ${text} in an integer`)
  return integer
}

function connectionTo(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: 'tollgate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: TYPES,
  }
}

export interface PostgresPoolInput {
  readonly url: string
  readonly connectionsMax: number
  /** Short statements have time-outs; long reads and migrations have none. */
  readonly use: 'shortStatements' | 'longReads' | 'migrations'
}

/** A pool of connections, made when they are needed. Failures of idle connections are ignored. */
export function openPostgresPool({ url, connectionsMax, use }: PostgresPoolInput): Pool {
  const short = use === 'shortStatements'
  const pool = new Pool({
    ...connectionTo(url),
    max: connectionsMax,
    idleTimeoutMillis: 30_000,
    ...(short ? { query_timeout: ANSWER_TIMEOUT_MS } : {}),
    onConnect: (client) => prepareSession(client, use),
  })
  // The pool has dropped the connection already; the next statement makes another.
  pool.on('error', () => {})
  return pool
}

async function prepareSession(client: ClientBase, use: PostgresPoolInput['use']): Promise<void> {
  if (use === 'longReads') await client.query('set default_transaction_read_only = on')
  else await prepareWrites(client, use === 'shortStatements' ? TIMEOUTS : '')
}

/**
 * Runs these settings on a new connection, and rejects where the server takes no writes: it is a standby, or was made
 * read-only. Otherwise each request would fail for as long as the connection lives.
 */
async function prepareWrites(client: ClientBase, settings: string): Promise<void> {
  // Several statements without values have several results; the types of `pg` know one.
  const results: unknown = await client.query(`${settings};show transaction_read_only`)
  const last: unknown = Array.isArray(results) ? results.at(-1) : results
  if (!JSON.stringify(last).includes('"transaction_read_only":"on"')) return
  throw new StoreUnavailable('the server of DATABASE_URL is read-only: it may be a standby')
}

export interface PostgresWriterInput {
  readonly url: string
  /** How long a statement waits for a row that another transaction has. Default 2,000. */
  readonly lockTimeoutMs?: number
  /** How long to wait for the server before the connection counts as lost. Default 5,000. */
  readonly answerTimeoutMs?: number
}

/**
 * A connection for statements that look rows up by their keys and change them. Statements are pipelined, and
 * every commit is on the server's disk. Rejects with the errors of the driver.
 */
export async function openPostgresWriter({
  url,
  lockTimeoutMs = LOCK_TIMEOUT_MS_DEFAULT,
  answerTimeoutMs = WRITER_ANSWER_TIMEOUT_MS_DEFAULT,
}: PostgresWriterInput): Promise<Client> {
  const client = new Client({
    ...connectionTo(url),
    pipeline: true,
    query_timeout: answerTimeoutMs,
  })
  // Statements under way are rejected by themselves; an error between statements concerns none.
  client.on('error', () => {})
  await client.connect()
  try {
    // Plans are made once, and for any values: on tables that were never analysed the planner would
    // otherwise believe them to be small, and read them whole for each batch.
    await prepareWrites(
      client,
      `${TIMEOUTS}; set lock_timeout = ${lockTimeoutMs};
       set statement_timeout = ${WRITER_STATEMENT_TIMEOUT_MS};
       set plan_cache_mode = force_generic_plan;
       set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off;
       set jit = off;
       select set_config('synchronous_commit', 'on', false)
         where current_setting('synchronous_commit') in ('off', 'local')`,
    )
  } catch (error) {
    dropConnection(client)
    throw error
  }
  return client
}

/** Ends a connection at once: nothing waits for a server that may not answer. */
export function dropConnection(client: Client): void {
  client.connection.stream.destroy()
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

// Classes of SQLSTATE that are the fault of one statement or its values: cardinality, data, constraints, syntax and
// rights, checks of views, limits of the program, PL/pgSQL. Any other error is about the server: also one that this
// program has never seen, such as those of a standby that was taken for the primary.
const REFUSED = /^(21|22|23|42|44|54|P0)/

// Serialization failure and deadlock: nothing was done, and a second try may succeed.
const RETRIED: ReadonlySet<string> = new Set(['40001', '40P01'])

const LOCK_TIMEOUT = '55P03'

const QUERY_CANCELLED = '57014'

/**
 * Turns an error of PostgreSQL or of the connection into the store's own. After `StoreUnavailable` nothing is known of
 * the connection: drop it.
 */
export function postgresFailure(error: unknown): StoreRefused | StoreUnavailable {
  if (error instanceof StoreUnavailable) return error
  const message = error instanceof Error ? error.message : String(error)
  // An error without a code of the server came from the socket or a time-out.
  return error instanceof DatabaseError && REFUSED.test(error.code ?? '')
    ? new StoreRefused(message, { cause: error })
    : new StoreUnavailable(message, { cause: error })
}

// Another transaction has given it to an account since this one looked: a second try sees that.
const EXTERNAL_ID_INDEX = 'accounts_external_id'

/** Whether the server ended a transaction in favour of another one, so that it must be run again. */
export function isGivenUp(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false
  return RETRIED.has(error.code ?? '') || error.constraint === EXTERNAL_ID_INDEX
}

/** Whether this transaction gave up waiting for a row that another one had locked. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === LOCK_TIMEOUT
}

/** Whether the server cancelled a statement, as after the time-out of statements. */
export function isCancelled(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === QUERY_CANCELLED
}
