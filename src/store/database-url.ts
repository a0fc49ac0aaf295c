import { resolve } from 'node:path'

/** Where the store is. */
export type DatabaseLocation = { readonly kind: 'sqlite'; readonly file: string }

const FILE_DEFAULT = './data/tollgate.db'

/**
 * Reads a database URL: `sqlite:/absolute/path`, `sqlite:./relative/path`; unset or empty:
 * `./data/tollgate.db`. Relative paths start at the working directory. Throws an Error that says what
 * is accepted.
 */
export function parseDatabaseUrl(url: string | undefined): DatabaseLocation {
  if (url === undefined || url === '') return { kind: 'sqlite', file: resolve(FILE_DEFAULT) }
  if (/^postgres(ql)?:/i.test(url)) {
    throw new Error('PostgreSQL is not available yet: use sqlite:/path/to/tollgate.db')
  }
  const path = /^sqlite:(.+)$/.exec(url)?.[1]
  if (path === undefined || path.startsWith('//') || path.startsWith(':') || path.includes('?')) {
    throw new Error('a database URL is sqlite:/path/to/file.db or sqlite:./path/to/file.db')
  }
  return { kind: 'sqlite', file: resolve(path) }
}
