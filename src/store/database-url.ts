import { resolve } from 'node:path'
import { readPostgresUrl } from './postgres/postgres-url.ts'

/** The location of the store. */
export type DatabaseLocation =
  | {
      readonly kind: 'sqlite'
      readonly file: string
      /** The file that was opened: another one may be put at its path. Absent: none yet. */
      readonly identity?: string
    }
  /** The whole address, password included. */
  | { readonly kind: 'postgres'; readonly url: string }

const FILE_DEFAULT = './data/tollgate.db'

/**
 * Reads a database URL: `sqlite:/absolute/path`, `sqlite:./relative/path`, whose relative paths start
 * at the working directory, or `postgres://user:password@host:port/database`, whose hosts may be several; unset or empty:
 * `./data/tollgate.db`. Throws an Error that names the accepted forms.
 */
export function parseDatabaseUrl(url: string | undefined): DatabaseLocation {
  if (url === undefined || url === '') return { kind: 'sqlite', file: resolve(FILE_DEFAULT) }
  if (/^postgres(ql)?:/i.test(url)) return { kind: 'postgres', url: checkPostgresUrl(url) }
  const path = /^sqlite:(.+)$/.exec(url)?.[1]
  if (path === undefined || path.startsWith('//') || path.startsWith(':') || path.includes('?')) {
    throw new Error(
      'a database URL is sqlite:/path/to/file.db, sqlite:./path/to/file.db or postgres://user:password@host:port/database',
    )
  }
  return { kind: 'sqlite', file: resolve(path) }
}

/** A database URL for logs: without its password and parameters. */
export function showDatabaseUrl(url: string | undefined): string {
  const location = parseDatabaseUrl(url)
  if (location.kind === 'sqlite') return `sqlite:${location.file}`
  return readPostgresUrl(location.url).shown
}

/** Throws an Error that names the accepted forms. */
function checkPostgresUrl(url: string): string {
  readPostgresUrl(url)
  return url
}
