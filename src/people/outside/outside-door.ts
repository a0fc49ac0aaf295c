import type { DbWithClock } from '../../store/store.ts'
import { MINUTE_MS } from '../../vocabulary/clock.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { hashSecret, makeLinkText } from '../links.ts'
import type { OutsideClient, SignInSecrets } from './outside-client.ts'
import type { OutsideIdentity } from './outside-identity.ts'

/** How long a sign-in at a provider may take. */
export const OUTSIDE_MS = 10 * MINUTE_MS

/** A provider that people may choose. */
export interface OutsideProvider {
  /** The provider's id in the address that it leads back to. */
  readonly id: string
  /** The text of its button. */
  readonly name: string
  /** Loads the client that calls the provider. */
  readonly open: () => Promise<OutsideClient>
}

interface OutsideDoorInput extends DbWithClock {
  readonly providers: readonly OutsideProvider[]
  /** Reports why a sign-in was not taken; its text never has a secret. */
  readonly onFault: (fault: OutsideFault) => void
}

interface OutsideFault {
  /** The provider's ID. */
  readonly provider: string
  readonly reason: string
}

/** A sign-in that a browser begins. */
interface Begun {
  readonly providerId: string
  /** The page's own address, as the browser has it. */
  readonly origin: string
  /** An invitation that the person opened; null: none. */
  readonly linkText: string | null
}

/** A browser that a provider sent back. */
interface Returned extends Omit<Begun, 'linkText'> {
  /** The query that the provider added to the address. */
  readonly query: string
  /** The browser's ticket from the beginning of the sign-in; null: none. */
  readonly ticket: string | null
}

/** A person who came back, with the invitation that the sign-in began with. */
interface Proof {
  readonly identity: OutsideIdentity
  readonly linkText: string | null
}

/**
 * Sign-in at providers outside of the gateway. The browser keeps a ticket, from which state, nonce and code
 * verifier are made: nothing of a sign-in is stored until a provider has answered, and no other browser can end it.
 */
export class OutsideDoor {
  readonly #input: OutsideDoorInput
  readonly #clients = new Map<string, Promise<OutsideClient>>()

  constructor(input: OutsideDoorInput) {
    this.#input = input
  }

  /** The providers, in the order of their buttons. */
  get providers(): readonly { readonly id: string; readonly name: string }[] {
    return this.#input.providers.map(({ id, name }) => ({ id, name }))
  }

  /**
   * Begins a sign-in: returns where to send the browser, and the ticket that it keeps for {@link OUTSIDE_MS}.
   * Throws Problem `sign_in_unavailable`, and `not_found` where there is no such provider.
   */
  async begin({ providerId, origin, linkText }: Begun) {
    const provider = this.#provider(providerId)
    const endsAtMs = this.#input.clock.nowMs() + OUTSIDE_MS
    const ticket = [endsAtMs.toString(36), makeLinkText(), linkText ?? ''].join('.')
    const redirectUri = redirectUriOf({ providerId, origin })
    try {
      const client = await this.#client(provider)
      const url = await client.signInUrl({ ...secretsOf({ providerId, ticket }), redirectUri })
      return { url: url.href, ticket }
    } catch (error) {
      this.#input.onFault({ provider: providerId, reason: reasonOf(error) })
      throw away(provider, error)
    }
  }

  /**
   * Ends a sign-in, and lets `enter` in the person who came back. Throws Problem `sign_in_refused`, also for a
   * sign-in that was ended before, took too long, or began in another browser; `sign_in_unavailable`; `not_found`
   * as `begin` does; and as `enter` does.
   */
  async finish<T>(returned: Returned, enter: (proof: Proof) => Promise<T>): Promise<T> {
    const proof = await this.#prove(returned)
    try {
      return await enter(proof)
    } catch (error) {
      const { providerId: provider } = returned
      if (error instanceof Problem) this.#input.onFault({ provider, reason: reasonOf(error) })
      throw error
    }
  }

  async #prove({ providerId, origin, query, ticket }: Returned): Promise<Proof> {
    const provider = this.#provider(providerId)
    const refuse = (reason: string) => this.#refusal({ provider: providerId, reason })
    if (ticket === null) throw refuse('the browser sent no cookie of a sign-in')
    const [endsAt = '', , linkText = ''] = ticket.split('.')
    const endsAtMs = Number.parseInt(endsAt, 36)
    const secrets = secretsOf({ providerId, ticket })
    const isOwn = new URLSearchParams(query).get('state') === secrets.state
    if (!isOwn) throw refuse('the answer belongs to another sign-in')
    const isInTime = this.#input.clock.nowMs() < endsAtMs
    if (!isInTime) throw refuse('the sign-in took more than ten minutes')
    await this.#use({ providerId, ticket })
    const redirectUri = redirectUriOf({ providerId, origin })
    try {
      const client = await this.#client(provider)
      const identity = await client.identityOf({ ...secrets, redirectUri, query })
      return { identity, linkText: linkText === '' ? null : linkText }
    } catch (error) {
      this.#input.onFault({ provider: providerId, reason: reasonOf(error) })
      throw isRefusal(error) ? new Problem('sign_in_refused') : away(provider, error)
    }
  }

  #refusal(fault: OutsideFault): Problem {
    this.#input.onFault(fault)
    return new Problem('sign_in_refused')
  }

  #provider(providerId: string): OutsideProvider {
    const provider = this.#input.providers.find(({ id }) => id === providerId)
    if (provider !== undefined) return provider
    throw new Problem('not_found', { message: 'This gateway has no sign-in at this provider.' })
  }

  /** One that failed to load is loaded again. */
  #client({ id, open }: OutsideProvider): Promise<OutsideClient> {
    const known = this.#clients.get(id)
    if (known !== undefined) return known
    const opening = open()
    this.#clients.set(id, opening)
    opening.catch(() => this.#clients.delete(id))
    return opening
  }

  /** Throws Problem `sign_in_refused` if the ticket was used, through any process. */
  async #use({ providerId, ticket }: { readonly providerId: string; readonly ticket: string }) {
    const { db, clock } = this.#input
    const nowMs = clock.nowMs()
    await db.deleteFrom('verifications').where('expires_at_ms', '<=', nowMs).execute()
    const used = await db
      .insertInto('verifications')
      .values({
        id: hashSecret(ticket),
        identifier: providerId,
        expires_at_ms: nowMs + OUTSIDE_MS,
        created_at_ms: nowMs,
      })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .executeTakeFirst()
    if (used === undefined) {
      throw this.#refusal({ provider: providerId, reason: 'the sign-in was ended before' })
    }
  }
}

/** Each value is random, and reveals nothing about the others. */
function secretsOf({
  providerId,
  ticket,
}: Readonly<Record<'providerId' | 'ticket', string>>): SignInSecrets {
  const secretFor = (use: string): string => hashSecret(`${use} ${providerId} ${ticket}`)
  return {
    state: secretFor('state'),
    nonce: secretFor('nonce'),
    codeVerifier: secretFor('code verifier'),
  }
}

/** The return address of a provider. Each has its own, so that the answer of one is never taken for another's. */
export function redirectUriOf({
  providerId,
  origin,
}: Pick<Begun, 'providerId' | 'origin'>): string {
  return `${origin}/app/sign-in-return/${providerId}`
}

// Error codes of the library: the provider did not answer, or answered with a fault.
const AWAY = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
])

/** Whether a provider answered, and its answer was refused. */
function isRefusal(error: unknown): boolean {
  const { code, status } = Object(error)
  if (!(error instanceof Error) || error instanceof TypeError) return false
  return typeof code === 'string' && !AWAY.has(code) && !(Number(status) >= 500)
}

function away({ name }: OutsideProvider, cause: unknown): Problem {
  const message = `${name} does not answer. Try again in a minute, or sign in another way.`
  return new Problem('sign_in_unavailable', { message, cause })
}

/** The check that failed, for the log. The text that the browser or the provider sent is reduced to a short error name. */
export function reasonOf(thrown: unknown): string {
  const { message, code, error, cause } = Object(thrown)
  const { code: causeCode, message: causeMessage } = Object(cause)
  const words = [message, code, error, causeCode ?? causeMessage]
  const texts = words.filter((word): word is string => typeof word === 'string')
  return texts.map((text) => text.slice(0, 200)).join('; ')
}
