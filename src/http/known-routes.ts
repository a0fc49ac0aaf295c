import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { oneOf } from '../operations/check-input.ts'
import { echoed, Problem } from '../vocabulary/problem.ts'
import { http } from './node-http.ts'

/** No route has this method and path; the client may learn which methods the path has. */
export class UnknownRoute extends Error {
  override readonly name = 'UnknownRoute'
}

/** Paths with more parts are not compared with routes. */
const PARTS_MAX = 8

/**
 * Paths that official clients call at their vendors, and those of a sale where there is none, with the reason why
 * they do not exist. The first that fits counts.
 */
const ABSENT_PATHS = [
  [
    /^\/v1\/images\/(?:generations|edits|variations)$/,
    'the gateway makes images at /v1/images, in another format: see /docs.',
  ],
  [
    /^\/v1\/(?:messages\/count_tokens|responses\/input_tokens)$/,
    'tokens are counted in answers only, in their `usage`.',
  ],
  [
    // An ID has a hyphen or an underscore in it.
    /^\/v1\/(?:responses\/[^/]*[-_]|chat\/completions\/(?!(?:v1\/)?chat\/completions$)[^/]|conversations\b)/,
    'the gateway stores no prompts and no answers.',
  ],
  [/^\/v1\/credit(?:\/quote)?\/?$/, 'this gateway does not sell credit.'],
] as const

interface Route {
  readonly method: string
  readonly url: string
  readonly path: RegExp
}

/** The paths of the server and their methods, so that a refusal can name the methods of its path. */
export class KnownRoutes {
  readonly #routes: Route[] = []

  /** Adds a route; parameters of the path begin with a colon, and a star is any rest of it that is not empty. */
  add({ method, url }: { readonly method: string; readonly url: string }): void {
    const parts = url.split('/').map(patternOf)
    this.#routes.push({ method, url, path: new RegExp(`^${parts.join('/')}$`) })
  }

  /** Adds the routes of an app, except those for all methods, and lets the app answer every method that Node reads. */
  follow(app: FastifyInstance): void {
    // Routes read bodies themselves, with any content-type, so the framework must not.
    const isBodyRead = { hasBody: false, overrideExisting: true }
    for (const method of http.METHODS)
      if (method !== 'CONNECT') app.addHttpMethod(method, isBodyRead)
    app.addHook('onRoute', ({ method, url }) => {
      // Routes for all methods only refuse, and not every path below the page's has a file.
      const isAnyRest = url.endsWith('*') && !url.startsWith('/v1/')
      if (typeof method === 'string' && !isAnyRest) this.add({ method, url })
    })
  }

  /** Whether a route has this method and path. */
  has({ method = '', url = '' }: IncomingMessage): boolean {
    return this.#methodsOf(pathOf(url)).includes(method)
  }

  /** Makes the 404 of an unknown method and path. The header `allow` of the response names the methods of the path. */
  refusal({ method = '', url = '' }: IncomingMessage, client: ServerResponse): Problem {
    const path = pathOf(url)
    const shown = echoed(path)
    const named = shown === null ? 'This path' : `${method} ${shown}`
    const methods = this.#methodsOf(path)
    // A route that has the method can find nothing at the path: then another method does not help.
    const has = methods.includes(method) ? [] : methods
    if (has.length > 0 && !client.headersSent) client.setHeader('allow', has.join(', '))
    const isDoubled = /^\/v1\/v1(?:\/|$)/.test(path)
    const why = isDoubled
      ? 'the path has one /v1 too many. Remove one from the base URL of the client.'
      : has.length > 0
        ? `the path takes ${oneOf(has)}.`
        : this.#adviceOn({ method, path })
    return new Problem('not_found', { message: `${named} does not exist: ${why}` })
  }

  #adviceOn({ method, path }: Pick<Route, 'method'> & { readonly path: string }): string {
    const isAdminPath = /^\/v1\/admin(?:\/|$)/.test(path)
    if (isAdminPath && !this.#routes.some(({ url }) => url.startsWith('/v1/admin/'))) {
      return 'the admin API is off. The setting ADMIN_API_TOKEN turns it on.'
    }
    const absent = ABSENT_PATHS.find(([pattern]) => pattern.test(path))
    if (absent !== undefined) return absent[1]
    // What follows the start of an admin's path names no endpoint of keys.
    const meant = isAdminPath ? null : this.#meantBy(path, (route) => route.method === method)
    if (meant === null) return '/docs lists the endpoints.'
    return `${meant}/` === path
      ? `the endpoint is ${meant}: leave out the slash at the end.`
      : `the endpoint is ${meant}. Correct the base URL of the client.`
  }

  /**
   * The endpoint below `/v1` that a path ends with, as with a base URL that lacks `/v1` or has more; null: none. By
   * position: the path, and which endpoints with parameters may be meant.
   */
  #meantBy(path: string, mayBeMeant: (route: Route) => boolean): string | null {
    const parts = path.split('/').filter((part) => part !== '')
    if (parts.length > PARTS_MAX) return null
    for (let from = 0; from < parts.length; from++) {
      const tail = `/${parts.slice(from).join('/')}`
      const written = /^\/v1(?:\/|$)/i.test(tail) ? tail : `/v1${tail}`
      const endpoint = written.toLowerCase()
      // Strangers do not learn which paths admins have.
      if (endpoint.startsWith('/v1/admin')) continue
      if (this.#routes.some(({ url }) => url === endpoint)) return endpoint
      const fits = (route: Route) => mayBeMeant(route) && route.path.test(written)
      if (this.#routes.some(fits)) return echoed(written)
    }
    return null
  }

  #methodsOf(path: string): readonly string[] {
    const here = this.#routes.filter((route) => route.path.test(path))
    return [...new Set(here.map(({ method }) => method))].sort()
  }
}

/** The path of a URL, without its query string. */
export function pathOf(url: string): string {
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}

function patternOf(part: string): string {
  if (part === '*') return '.+'
  return part.startsWith(':') ? '[^/]+' : RegExp.escape(part)
}
