import { randomBytes } from 'node:crypto'
import { APIError } from 'better-auth/api'
import { hashPassword, verifyPassword } from 'better-auth/crypto'
import { betterAuth } from 'better-auth/minimal'
import type { Kysely } from 'kysely'
import type { Tables } from '../store/schema.ts'
import type { IdPrefix, IdSource } from '../vocabulary/ids.ts'
import { authAdapter, TABLE_NAMES } from './auth-adapter.ts'

/** What the sign-in library is opened with. */
export interface PasswordsInput {
  readonly db: Kysely<Tables>
  readonly ids: IdSource
  readonly sessionMs: number
  /** Reports a fault of the library. Its text never has what a person typed. */
  readonly onFault: (message: string) => void
}

interface PasswordSignIn {
  readonly email: string
  readonly password: string
  /** The client address, and its `user-agent`, as the list of sessions shows them. */
  readonly address: string
  readonly agent: string
}

/** Sign-in by password. */
export interface Passwords {
  /** Makes a session. Null: no such user, or another password; both take the same time. */
  signIn(input: PasswordSignIn): Promise<{ readonly sessionToken: string } | null>
  /** Runs scrypt on Node's thread pool, as the next does. */
  hash(password: string): Promise<string>
  isRight(input: { readonly passwordHash: string; readonly password: string }): Promise<boolean>
}

const ID_PREFIXES: ReadonlyMap<string, IdPrefix> = new Map([
  ['user', 'user'],
  ['session', 'sess'],
])

/** Opens better-auth. The import of this file takes 0.4 s and 23 MB: it is loaded at the first sign-in. */
export function openPasswords({ db, ids, sessionMs, onFault }: PasswordsInput): Passwords {
  const auth = betterAuth({
    database: authAdapter(db),
    // Neither makes a link here, nor a cookie: the page's own code does.
    baseURL: 'http://localhost',
    secret: randomBytes(32).toString('hex'),
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    logger: {
      level: 'error',
      log: (_level, message) => onFault(message),
    },
    emailAndPassword: { enabled: true, disableSignUp: true },
    user: TABLE_NAMES.user,
    account: TABLE_NAMES.account,
    verification: TABLE_NAMES.verification,
    session: {
      ...TABLE_NAMES.session,
      expiresIn: sessionMs / 1000,
      cookieCache: { enabled: false },
    },
    advanced: {
      ipAddress: { disableIpTracking: true },
      database: {
        generateId: ({ model }) => ids.next(ID_PREFIXES.get(model) ?? 'sign'),
      },
    },
    databaseHooks: {
      session: {
        create: {
          before: async (made, call) => ({
            data: { ...made, ipAddress: call?.headers?.get(ADDRESS_HEADER) || null },
          }),
        },
      },
    },
  })
  return {
    async signIn({ email, password, address, agent }) {
      try {
        const { token: sessionToken } = await auth.api.signInEmail({
          body: { email, password },
          headers: new Headers({ [ADDRESS_HEADER]: address, 'user-agent': storableAgent(agent) }),
        })
        return { sessionToken }
      } catch (error) {
        if (error instanceof APIError && error.statusCode < 500) return null
        throw error
      }
    },
    hash: hashPassword,
    isRight: ({ passwordHash, password }) => verifyPassword({ hash: passwordHash, password }),
  }
}

const ADDRESS_HEADER = 'x-tollgate-address'

const AGENT_CHARS_MAX = 300

/** What is kept of a `user-agent`: no control characters, of which PostgreSQL takes not all. */
function storableAgent(agent: string): string {
  return agent.slice(0, AGENT_CHARS_MAX).replace(/[^\x20-\x7e]/g, '')
}
