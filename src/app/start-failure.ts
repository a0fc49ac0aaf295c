import { parseDatabaseUrl, showDatabaseUrl } from '../store/database-url.ts'
import { sqlStateOf } from '../store/postgres/postgres-failure.ts'
import { StoreUnavailable, storeFaultOf } from '../store/store-failure.ts'
import { type Config, storeUrlOf } from './config.ts'

/** A command could not begin for a reason outside the program; the message says what to do. */
class StartFailure extends Error {
  override readonly name = 'StartFailure'
}

/** The fields that a system call or SQLite adds to an error. */
interface SystemError extends Error {
  readonly code?: unknown
  readonly syscall?: unknown
  readonly address?: unknown
  readonly hostname?: unknown
  readonly port?: unknown
  readonly path?: unknown
}

/** The failure in words for the person who started the program; null if that person can't mend it. */
export function startFailureOf(error: unknown, config: Config): StartFailure | null {
  if (!(error instanceof Error)) return null
  const words = listenFailure(error, config) ?? storeFailure(error, config)
  return words === null ? null : new StartFailure(words, { cause: error })
}

function listenFailure(error: SystemError, config: Config): string | null {
  const { syscall, code, address, hostname, port } = error
  if (syscall === 'getaddrinfo') {
    const host = String(hostname)
    if (host !== config.HOST && host !== config.METRICS_HOST) return null
    return noSuchAddress(hostSetting(host, config), host)
  }
  if (syscall !== 'listen') return null
  const setting = port === config.METRICS_PORT ? 'METRICS_PORT' : 'PORT'
  switch (code) {
    case 'EADDRINUSE':
      return (
        `port ${String(port)} of ${String(address)} is taken, perhaps by another tollgate: ` +
        `stop the program that listens there, or set ${setting} to another port`
      )
    case 'EACCES':
      return (
        `this user can't listen on port ${String(port)}: set ${setting} to one above 1023, ` +
        'and put a proxy in front as in docs/deploy.md'
      )
    case 'ENOTSUP':
      return 'this operating system does not let several processes listen on one port: leave TOLLGATE_REUSE_PORT out'
    case 'EADDRNOTAVAIL':
    case 'EINVAL':
      return noSuchAddress(hostSetting(String(address), config), String(address))
    default:
      return null
  }
}

/** By position: the setting's name, and its value. */
function noSuchAddress(setting: string, host: string): string {
  return (
    `${setting} is ${host}, which is not an address of this machine: leave it out for 127.0.0.1, ` +
    'or set it to 0.0.0.0 to listen on every network'
  )
}

function hostSetting(host: string, { HOST, METRICS_HOST }: Config): string {
  return host === METRICS_HOST && host !== HOST ? 'METRICS_HOST' : 'HOST'
}

// Error codes of a folder or a file that can't be made or opened.
const FILE_CODES = ['EACCES', 'EEXIST', 'EISDIR', 'ENOTDIR', 'EPERM', 'EROFS', 'ENOSPC']

// Insufficient privilege, and no schema to create in. Since PostgreSQL 15, only the owner of a database may create tables
// in it by default.
const RIGHTS_STATES: ReadonlySet<string | null> = new Set(['42501', '3F000'])

function storeFailure(error: SystemError, config: Config): string | null {
  const { code, message } = error
  const url = storeUrlOf(config)
  const location = parseDatabaseUrl(url)
  const { path: file, message: fileMessage } = fileFailureOf(error)
  const isStoreFile = file !== null && location.kind === 'sqlite' && location.file.startsWith(file)
  if (file !== null && !isStoreFile) {
    return `${file} cannot be written: ${fileMessage}. Check that this user can write there.`
  }
  const lacksRight = RIGHTS_STATES.has(sqlStateOf(error))
  const isOther = !(error instanceof StoreUnavailable) && code !== 'ERR_SQLITE_ERROR'
  if (isOther && !isStoreFile && !lacksRight) return null
  const advice =
    location.kind === 'sqlite'
      ? sqliteAdvice(message)
      : lacksRight
        ? 'Its user must own the database and the tables in it; docs/scale.md has the commands that create both.'
        : postgresAdvice(message)
  const words = `the store ${showDatabaseUrl(url)} cannot be used: ${message}.`
  // The message of a store that was replaced says what to do.
  return storeFaultOf(error) === 'moved' ? words : `${words} ${advice}`
}

/** The file or folder that could not be made, by the error itself or what caused it; null: none. */
function fileFailureOf(error: SystemError): { path: string | null; message: string } {
  for (const each of [error, error.cause]) {
    if (!(each instanceof Error)) continue
    const { code, path, message }: SystemError = each
    if (FILE_CODES.includes(String(code)) && typeof path === 'string') return { path, message }
  }
  return { path: null, message: '' }
}

function postgresAdvice(message: string): string {
  if (/is a pooler|pooling mode/.test(message))
    return 'docs/scale.md has the settings of PgBouncer.'
  if (/database ".*" does not exist/.test(message)) {
    return 'Create it with the commands in docs/scale.md, or correct its name in DATABASE_URL.'
  }
  if (/password|pg_hba\.conf|role ".*" does not exist/.test(message)) {
    return 'Correct the user and the password in DATABASE_URL, or let this user in with the pg_hba.conf of the server.'
  }
  if (/too many (clients|connections)|connection slots are reserved/.test(message)) {
    return 'Raise its max_connections, or stop other programs that use it: a gateway needs up to sixteen (docs/scale.md).'
  }
  if (message.includes('does not support SSL')) {
    return 'Leave sslmode out of DATABASE_URL, or set up TLS at the server.'
  }
  if (message.includes('altnames')) {
    return 'Name the server in DATABASE_URL as its certificate does.'
  }
  if (message.includes('certificate has expired')) return 'Renew the certificate of the server.'
  if (/self-signed certificate|unable to (get|verify) .*certificate/.test(message)) {
    return 'Name the file of the authority that signed the certificate of the server: sslrootcert=/path/ca.pem in DATABASE_URL (docs/scale.md).'
  }
  return message.includes('is read-only')
    ? 'It may be a standby: promote it, or name the primary server in DATABASE_URL (docs/scale.md).'
    : 'Check that the database is running and that DATABASE_URL is right, then try again.'
}

function sqliteAdvice(message: string): string {
  if (message.includes('not a database')) {
    return 'This file is not a store: move it away, or set DATABASE_URL to another one.'
  }
  if (message.includes('malformed')) {
    return 'Its file is damaged, or the -wal file next to it belongs to another store: stop the server and restore a backup (docs/deploy.md).'
  }
  if (message.includes('locked')) return 'Another process is using it: try again.'
  if (message.includes('full') || message.includes('ENOSPC')) return 'Make room on its disk.'
  // SQLite also reports this if the disk has no room for the files beside the store.
  if (message.includes('disk I/O error')) {
    return 'Check that its disk has room and works, and that this user can write to its folder and files.'
  }
  return 'Check that this user can write to its folder and files, or set DATABASE_URL to another place.'
}
