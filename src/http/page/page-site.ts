import { isLoopback } from '../../journey/gate/client-address.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import { Problem } from '../../vocabulary/problem.ts'

const SESSION_COOKIE = 'tollgate_session'
const SESSION_SECONDS = 7 * 24 * 60 * 60

/** The page's own address, which its calls must come from, and the cookie of its sessions. */
export class PageSite {
  readonly #publicUrl: URL | null

  /** `publicUrl`: of https, or of http on loopback; null: the page is used on loopback alone. */
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
          'Without TLS the page works on this machine alone. Set TOLLGATE_PUBLIC_URL to its https address.',
      })
    }
    const { origin, 'content-type': contentType = '' } = arrival.headers
    const isJson = /^application\/json\s*(?:;|$)/i.test(String(contentType))
    if (origin === own && isJson) return
    const message = isJson
      ? `This call must come from the page at ${own}.`
      : 'Send this call with the content-type application/json.'
    throw new Problem('foreign_origin', { message })
  }

  /** The token of the session that a browser has; null: none. */
  sessionTokenOf(arrival: Pick<Arrival, 'headers'>): string | null {
    const name = this.#cookieName(arrival)
    const cookies = String(arrival.headers['cookie'] ?? '').split(';')
    for (const cookie of cookies) {
      const [found, value = ''] = cookie.trim().split('=')
      if (found === name && /^\w{16,128}$/.test(value)) return value
    }
    return null
  }

  /** `Set-Cookie` that keeps a session in the browser; null ends it there. No script can read it. */
  sessionCookie(arrival: Pick<Arrival, 'headers'>, sessionToken: string | null): string {
    const age = sessionToken === null ? 0 : SESSION_SECONDS
    const attributes = `Path=/; Max-Age=${age}; HttpOnly; SameSite=Lax`
    const secure = this.#isSecure() ? '; Secure' : ''
    return `${this.#cookieName(arrival)}=${sessionToken ?? ''}; ${attributes}${secure}`
  }

  #isSecure(): boolean {
    return this.#publicUrl?.protocol === 'https:'
  }

  /** Browsers tell cookies of one host's ports apart by their names alone. */
  #cookieName(arrival: Pick<Arrival, 'headers'>): string {
    if (this.#isSecure()) return `__Host-${SESSION_COOKIE}`
    const { port } = new URL(this.originOf(arrival) ?? 'http://localhost')
    return port === '' ? SESSION_COOKIE : `${SESSION_COOKIE}_${port}`
  }
}
