import { isLoopback } from '../../journey/gate/client-address.ts'
import { KNOWN_MS } from '../../people/known-browsers.ts'
import { OUTSIDE_MS } from '../../people/outside/outside-door.ts'
import { SESSION_MS } from '../../people/sessions.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import { Problem } from '../../vocabulary/problem.ts'

const SESSION_COOKIE = 'tollgate_session'
const TICKET_COOKIE = 'tollgate_sign_in'
const KNOWN_COOKIE = 'tollgate_known'

interface NewCookie {
  readonly cookie: string
  /** Null: it ends in the browser. */
  readonly value: string | null
  readonly maxAgeSeconds: number
}

/** The page's own address, which its calls must come from, and the cookie of its sessions. */
export class PageSite {
  readonly #publicUrl: URL | null

  /** `publicUrl`: of https, or of http on loopback; null: the page works only on loopback. */
  constructor(publicUrl: string | null) {
    this.#publicUrl = publicUrl === null ? null : new URL(publicUrl)
  }

  /** The origin of the page as a browser has it; null: no session can be kept, without TLS from another machine. */
  originOf({ headers }: Pick<Arrival, 'headers'>): string | null {
    if (this.#publicUrl !== null) return this.#publicUrl.origin
    const host = String(headers['host'] ?? '')
    const address = `http://${host}`
    return URL.canParse(address) && isLoopback(new URL(address).hostname)
      ? new URL(address).origin
      : null
  }

  /**
   * Throws Problem `foreign_origin` unless the page itself sends a call that changes something. A form of
   * another site can't send JSON, and a script of one can't send another `Origin` than its own.
   */
  requireOwn(arrival: Pick<Arrival, 'headers'>): void {
    const own = this.originOf(arrival)
    if (own === null) {
      throw new Problem('foreign_origin', {
        message:
          'Without TLS, the page works only on the machine of the gateway. Set TOLLGATE_PUBLIC_URL to its https address.',
      })
    }
    const { origin, 'content-type': contentType = '' } = arrival.headers
    const isJson = /^application\/json\s*(?:;|$)/i.test(String(contentType))
    if (origin === own && isJson) return
    const message = isJson
      ? `The page works only at ${own}: open it there, or set TOLLGATE_PUBLIC_URL to the address that browsers use.`
      : 'Send this call with the content-type application/json.'
    throw new Problem('foreign_origin', { message })
  }

  /** The token of the session that a browser has; null: none. */
  sessionTokenOf(arrival: Pick<Arrival, 'headers'>): string | null {
    return this.#cookieOf(arrival, { cookie: SESSION_COOKIE, shape: /^\w{16,128}$/ })
  }

  /** `Set-Cookie` that keeps a session in the browser; null ends it there. No script can read it. */
  sessionCookie(arrival: Pick<Arrival, 'headers'>, sessionToken: string | null): string {
    const maxAgeSeconds = SESSION_MS / 1_000
    return this.#cookie(arrival, { cookie: SESSION_COOKIE, value: sessionToken, maxAgeSeconds })
  }

  /** The ticket of a sign-in that this browser began at a provider; null: none. */
  ticketOf(arrival: Pick<Arrival, 'headers'>): string | null {
    return this.#cookieOf(arrival, { cookie: TICKET_COOKIE, shape: /^\w+\.[\w-]+\.[\w-]*$/ })
  }

  /** `Set-Cookie` that keeps the ticket of such a sign-in in the browser; null ends it there. */
  ticketCookie(arrival: Pick<Arrival, 'headers'>, ticket: string | null): string {
    const maxAgeSeconds = OUTSIDE_MS / 1_000
    return this.#cookie(arrival, { cookie: TICKET_COOKIE, value: ticket, maxAgeSeconds })
  }

  /** The mark of an earlier sign-in in this browser; null: none. */
  knownOf(arrival: Pick<Arrival, 'headers'>): string | null {
    return this.#cookieOf(arrival, { cookie: KNOWN_COOKIE, shape: /^user_\w+\.\w+\.[0-9a-f]{64}$/ })
  }

  /** `Set-Cookie` that marks a browser in which a user has signed in. It does not sign the user in. */
  knownCookie(arrival: Pick<Arrival, 'headers'>, known: string): string {
    const maxAgeSeconds = KNOWN_MS / 1_000
    return this.#cookie(arrival, { cookie: KNOWN_COOKIE, value: known, maxAgeSeconds })
  }

  #cookieOf(
    arrival: Pick<Arrival, 'headers'>,
    { cookie, shape }: { readonly cookie: string; readonly shape: RegExp },
  ): string | null {
    const name = this.#cookieName(arrival, cookie)
    for (const pair of String(arrival.headers['cookie'] ?? '').split(';')) {
      const [found, value = ''] = pair.trim().split('=')
      if (found === name && shape.test(value)) return value
    }
    return null
  }

  #cookie(arrival: Pick<Arrival, 'headers'>, { cookie, value, maxAgeSeconds }: NewCookie): string {
    const age = value === null ? 0 : maxAgeSeconds
    const attributes = `Path=/; Max-Age=${age}; HttpOnly; SameSite=Lax`
    const secure = this.#isSecure() ? '; Secure' : ''
    return `${this.#cookieName(arrival, cookie)}=${value ?? ''}; ${attributes}${secure}`
  }

  #isSecure(): boolean {
    return this.#publicUrl?.protocol === 'https:'
  }

  /** Browsers distinguish the cookies of one host's ports only by name. */
  #cookieName(arrival: Pick<Arrival, 'headers'>, cookie: string): string {
    if (this.#isSecure()) return `__Host-${cookie}`
    const { port } = new URL(this.originOf(arrival) ?? 'http://localhost')
    return port === '' ? cookie : `${cookie}_${port}`
  }
}
