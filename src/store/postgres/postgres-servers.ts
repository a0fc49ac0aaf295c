import { Client, type ClientConfig, types } from 'pg'
import { messageOf } from '../../vocabulary/message-of.ts'
import { NotSent, type StoreFault, StoreUnavailable } from '../store-failure.ts'
import { postgresFailure } from './postgres-failure.ts'
import { type PostgresServer, readPostgresUrl } from './postgres-url.ts'

/** How long to wait for the server's farewell. */
const END_MS_MAX = 1_000

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

// A gateway that vanished frees its locks: the server notices it. The names are looked for, because older servers
// and other systems do not have them.
const SERVER_WATCHES_CLIENT = `select set_config(name, case name when 'tcp_user_timeout' then '10000' else '2000' end, false)
  from pg_settings where name in ('tcp_user_timeout', 'client_connection_check_interval')
    and version() !~* 'windows|mingw|msvc|visual c'`

// Limits that a role or a database has are meant for other sessions: they would end migrations and reads of a large store.
// Nor may a single statement fail because of others. Older servers do not have all of the names. A limit of a few
// milliseconds would end the search for them, so that one goes first.
const NO_INHERITED_LIMITS = `set statement_timeout = 0; select set_config(name, case name when 'default_transaction_isolation' then 'read committed' else '0' end, false)
  from pg_settings where name in ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_session_timeout',
    'idle_in_transaction_session_timeout', 'default_transaction_isolation')`

/** A connection, and the server that it is to. */
export interface ServerConnection {
  readonly client: Client
  readonly serverName: string
}

/** How a connection is set up. */
export interface ConnectInput {
  /** Settings of the driver. */
  readonly driver: Pick<ClientConfig, 'pipeline' | 'query_timeout'>
  /** Statements that set the session up, without values. */
  readonly settings: string
}

/** The servers of a PostgreSQL URL, of which one takes writes. */
export class PostgresServers {
  readonly #servers: readonly PostgresServer[]
  readonly #connectTimeoutMs: number
  readonly #connectTotalMs: number
  /** The place of the server that answered last. */
  #latest = 0

  constructor(url: string) {
    const { servers, connectTimeoutMs, connectTotalMs, isShuffled } = readPostgresUrl(url)
    this.#servers = isShuffled ? shuffled(servers) : servers
    this.#connectTimeoutMs = connectTimeoutMs
    this.#connectTotalMs = connectTotalMs
  }

  /**
   * Connects to the server that takes writes: each is asked in its turn, from the one that answered last. A standby says
   * that it is read-only, as does a server that was made so. Rejects with `NotSent` if none takes writes.
   */
  async connect(input: ConnectInput): Promise<ServerConnection> {
    const untilMs = performance.now() + this.#connectTotalMs
    const first = this.#latest
    const faults: string[] = []
    let cause: unknown
    for (let turn = 0; turn < this.#servers.length; turn++) {
      const place = (first + turn) % this.#servers.length
      const server = this.#servers[place]
      const leftMs = Math.min(this.#connectTimeoutMs, untilMs - performance.now())
      if (server === undefined || leftMs <= 0) break
      try {
        const client = await connectTo(server, { ...input, withinMs: leftMs })
        this.#latest = place
        return { client, serverName: server.name }
      } catch (error) {
        cause ??= error
        faults.push(faultOf(error, server))
      }
    }
    const message =
      this.#servers.length === 1
        ? faults.join()
        : `no server of DATABASE_URL takes writes: ${faults.join(', ')}`
    throw new NotSent(message, {
      cause,
      fault: this.#servers.length === 1 ? reasonOf(cause) : 'noWriter',
    })
  }
}

function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  return items
    .map((item) => ({ item, drawn: Math.random() }))
    .sort((a, b) => a.drawn - b.drawn)
    .map(({ item }) => item)
}

/** A server did not answer in time. */
class Silent extends Error {}

/** A server takes no writes. */
class ReadOnly extends Error {}

// Migrations of earlier versions fail at their syntax.
const VERSION_MIN = 12

/** A server is too old. */
class TooOld extends Error {}

/** By position: the error of the server or of the connection, and the server. */
function faultOf(error: unknown, { name }: PostgresServer): string {
  if (error instanceof ReadOnly) return `${name} is read-only`
  if (error instanceof Silent) return `${name} does not answer`
  if (error instanceof TooOld) return `${name} is ${error.message}`
  return `${name}: ${messageOf(error)}`
}

function reasonOf(error: unknown): StoreFault | null {
  if (error instanceof ReadOnly) return 'readOnly'
  return error instanceof Silent ? 'silent' : null
}

/** Connects to a server, and asks in the statement that sets the session up whether it is new enough and takes writes. */
async function connectTo(
  { url }: PostgresServer,
  { driver, settings, withinMs }: ConnectInput & { readonly withinMs: number },
): Promise<Client> {
  const client = new Client({
    ...driver,
    connectionString: url,
    application_name: 'tollgate',
    keepAlive: true,
    // Without it the kernel waits for two hours; with it, Node then asks ten times, a second apart.
    keepAliveInitialDelayMillis: 10_000,
    types: TYPES,
  })
  // Running statements are rejected on their own; an error between statements concerns none.
  client.on('error', () => {})
  let isSilent = false
  const timer = setTimeout(() => {
    isSilent = true
    dropConnection(client)
  }, withinMs)
  try {
    await client.connect()
    await setUp(client, settings)
    return client
  } catch (error) {
    dropConnection(client)
    throw isSilent ? new Silent() : error
  } finally {
    clearTimeout(timer)
  }
}

const VERSION = "current_setting('server_version_num')::integer / 10000"

/** Throws `ReadOnly` and `TooOld`. */
async function setUp(client: Client, settings: string): Promise<void> {
  // Several statements without values have several results; the types of `pg` know one.
  const results: unknown = await client.query(
    `select current_setting('transaction_read_only') as read_only, ${VERSION} as version; ${NO_INHERITED_LIMITS}; ${SERVER_WATCHES_CLIENT}; ${settings}`,
  )
  const [asked]: unknown[] = Array.isArray(results) ? results : []
  const rows = typeof asked === 'object' && asked !== null && 'rows' in asked ? asked.rows : null
  const [row]: unknown[] = Array.isArray(rows) ? rows : []
  const { read_only: readOnly, version } = Object(row)
  if (readOnly !== 'off') throw new ReadOnly()
  if (version < VERSION_MIN) {
    throw new TooOld(`PostgreSQL ${version}, and tollgate needs ${VERSION_MIN} or newer`)
  }
}

/** Ends a connection at once: nothing waits for a server that may not answer. */
export function dropConnection(client: Client): void {
  client.connection.stream.destroy()
}

/** Ends a connection that works. Resolves when it has ended, which takes a second at most. */
export async function endConnection(client: Client): Promise<void> {
  const timer = setTimeout(() => dropConnection(client), END_MS_MAX)
  await client.end().catch(() => {})
  clearTimeout(timer)
}

// A pooler mostly takes the session that was used last, unless other clients come between.
const LOOKS = 3

/**
 * Rejects with `StoreUnavailable` if connections that are open at once share a session of the server, as behind a
 * pooler that gives each transaction whichever session is free. Settings of a connection, such as that its commits are
 * on the server's disk, would be those of any session. Rejects with `NotSent` if the database does not answer.
 */
export async function refuseSharedSessions(url: string): Promise<void> {
  const servers = new PostgresServers(url)
  const opened: ServerConnection[] = []
  try {
    for (let count = 0; count < 2; count++) {
      opened.push(await servers.connect({ driver: {}, settings: 'select 1' }))
    }
    const [one, other] = opened
    if (one === undefined || other === undefined) return
    for (let look = 0; look < LOOKS; look++) {
      const serverPid = await serverPidOf(one.client)
      await other.client.query('begin')
      const isShared = (await serverPidOf(other.client)) === serverPid
      await other.client.query('rollback')
      if (isShared) throw new StoreUnavailable(`${one.serverName} ${SHARES}`)
    }
  } catch (error) {
    // A pooler that takes no transactions refuses `begin`.
    throw postgresFailure(error, opened[0]?.serverName ?? 'the database')
  } finally {
    await Promise.all(opened.map(({ client }) => endConnection(client)))
  }
}

const SHARES =
  'is a pooler that gives each transaction another session. Let it keep a session for each connection (pool_mode = session)'

async function serverPidOf(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}
