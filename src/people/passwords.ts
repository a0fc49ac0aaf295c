import { randomBytes } from 'node:crypto'
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

/** Passwords, which are hashed by scrypt on Node's thread pool, and sessions. */
export interface Passwords {
  hash(password: string): Promise<string>
  /** A hash of null, which no password has, takes the same time. */
  isRight(input: {
    readonly passwordHash: string | null
    readonly password: string
  }): Promise<boolean>
  /** Makes a session of a user, with the client address and its `user-agent`. Checks no password. */
  startSession(start: {
    readonly userId: string
    readonly address: string
    readonly agent: string
    readonly nowMs: number
  }): Promise<{ readonly sessionToken: string }>
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
  })
  return {
    hash: hashPassword,
    async isRight({ passwordHash, password }) {
      if (passwordHash !== null) return verifyPassword({ hash: passwordHash, password })
      await hashPassword(password)
      return false
    },
    async startSession({ userId, address, agent, nowMs }) {
      const { internalAdapter } = await auth.$context
      const started = {
        ipAddress: address || null,
        userAgent: storableAgent(agent),
        createdAt: new Date(nowMs),
        updatedAt: new Date(nowMs),
        expiresAt: new Date(nowMs + sessionMs),
      }
      // `true`: the times too are those given here, not of the library's own clock.
      const made = await internalAdapter.createSession(userId, false, started, true)
      return { sessionToken: made.token }
    },
  }
}

const AGENT_CHARS_MAX = 300

/** What is kept of a `user-agent`: no control characters, of which PostgreSQL takes not all. */
function storableAgent(agent: string): string {
  return agent.slice(0, AGENT_CHARS_MAX).replace(/[^\x20-\x7e]/g, '')
}
