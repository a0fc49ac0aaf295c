import { randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import { SESSIONS, type SessionRow, USERS, type UserRow } from '../store/people-tables.ts'
import type { Tables } from '../store/schema.ts'
import { type DbWithIds, hasRow } from '../store/store.ts'
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { readHasFactor, selectHasFactor } from './factors/own-factors.ts'
import { hashSecret } from './links.ts'

/** How long a session lasts after the sign-in, in use or not. */
export const SESSION_MS = 7 * DAY_MS

/** How long a session waits for the second factor of its user. */
const WAIT_MS = 10 * MINUTE_MS

/** How long a password counts as recent after it was asked for, and after each use. */
const RECENT_MS = 10 * MINUTE_MS

/** The longest time for which uses keep a password recent. */
const KEPT_MS = HOUR_MS

/** The last use of a session is written at most this often. */
const USE_MS = 5 * MINUTE_MS

/** The most sessions of a user, counted separately before and after a second factor: each sign-in makes a row. */
const SESSIONS_MAX = 100

const TOKEN_BYTES = 24
const AGENT_CHARS_MAX = 300

/** The browser that a person signs in from. */
export interface Visitor {
  /** The client address; an IPv6 address counts as its network. */
  readonly address: string
  /** The `user-agent` of the browser. */
  readonly agent: string
  /** The mark of an earlier sign-in in this browser; null: none. */
  readonly known: string | null
}

/** A session that has just been made: the only place that has its token. */
export interface NewSession {
  readonly sessionToken: string
}

/** A user who is signed in. */
export interface SignedIn {
  readonly user: UserRow
  readonly sessionId: string
  /** When the password was last asked for in this session. */
  readonly confirmedAtMs: number
  /** When the session last made a change that needs a recent password; null: not yet. */
  readonly guardedAtMs: number | null
  readonly hasFactor: boolean
}

/** A session with its user. */
interface Found extends Pick<SignedIn, 'user' | 'hasFactor'> {
  readonly found: SessionRow
}

/** The sessions of a store. */
export class Sessions {
  readonly #db: Kysely<Tables>
  readonly #clock: Clock
  readonly #ids: IdSource

  constructor({ db, clock, ids }: DbWithIds) {
    this.#db = db
    this.#clock = clock
    this.#ids = ids
  }

  /** Makes a session of a user. Checks no password. */
  async start(userId: string, { address, agent }: Omit<Visitor, 'known'>): Promise<NewSession> {
    const nowMs = this.#clock.nowMs()
    const sessionToken = makeSessionToken()
    const row: SessionRow = {
      ...SESSIONS.start,
      id: this.#ids.next('sess'),
      userId,
      tokenHash: hashSecret(sessionToken),
      address: address || null,
      agent: storableAgent(agent),
      expiresAtMs: nowMs + SESSION_MS,
      createdAtMs: nowMs,
    }
    await this.#db.insertInto('sessions').values(SESSIONS.record(row)).execute()
    await endOldest(this.#db, { userId, hasShownFactor: false })
    return { sessionToken }
  }

  /** The user of a session; null: it has ended, never existed, or waits for the second factor of its user. */
  async find(sessionToken: string): Promise<SignedIn | null> {
    const nowMs = this.#clock.nowMs()
    const read = await this.#read(sessionToken, nowMs)
    if (read === null || isWaiting(read)) return null
    const { found, user, hasFactor } = read
    await this.#noteUse(found, nowMs)
    const { id: sessionId, guardedAtMs } = found
    const confirmedAtMs = found.confirmedAtMs ?? found.createdAtMs
    return { user, sessionId, confirmedAtMs, guardedAtMs, hasFactor }
  }

  /** A session that waits for the second factor of its user; null: there is none, or it has waited for ten minutes. */
  async findWaiting(sessionToken: string): Promise<Pick<SignedIn, 'user' | 'sessionId'> | null> {
    const nowMs = this.#clock.nowMs()
    const read = await this.#read(sessionToken, nowMs)
    if (read === null || !isWaiting(read)) return null
    const { found, user } = read
    return nowMs - found.createdAtMs < WAIT_MS ? { user, sessionId: found.id } : null
  }

  async #read(sessionToken: string, nowMs: number): Promise<Found | null> {
    const row = await this.#db
      .selectFrom('sessions')
      .selectAll()
      .where('token_hash', '=', hashSecret(sessionToken))
      .where('expires_at_ms', '>', nowMs)
      .executeTakeFirst()
    if (row === undefined) return null
    const found = SESSIONS.read(row)
    const userRow = await this.#db
      .selectFrom('users')
      .selectAll()
      .select(selectHasFactor)
      .where('id', '=', found.userId)
      .executeTakeFirst()
    if (userRow === undefined) return null
    return { found, user: USERS.read(userRow), hasFactor: readHasFactor(userRow) }
  }

  /** The sessions of a user that have not ended, newest first, without ones that wait for a second factor. */
  async list({ user, hasFactor }: SignedIn): Promise<readonly SessionRow[]> {
    return SESSIONS.readAll(
      this.#db
        .selectFrom('sessions')
        .selectAll()
        .where('user_id', '=', user.id)
        .$if(hasFactor, (query) => query.where('factor_passed_at_ms', 'is not', null))
        .where('expires_at_ms', '>', this.#clock.nowMs())
        .orderBy('id', 'desc'),
    )
  }

  /** Ends one of a user's sessions. False if the user has no such session. */
  end(target: { readonly userId: string; readonly sessionId: string }): Promise<boolean> {
    const ended = this.#db
      .deleteFrom('sessions')
      .where('user_id', '=', target.userId)
      .where('id', '=', target.sessionId)
    return hasRow(ended.returning('id'))
  }

  /** Ends a user's sessions but one. Returns how many. */
  endOthers(kept: { readonly userId: string; readonly keptSessionId: string }): Promise<number> {
    return endOtherSessions(this.#db, kept)
  }

  /** Ends a session by its token. */
  async endByToken(sessionToken: string): Promise<void> {
    const ended = this.#db.deleteFrom('sessions')
    await ended.where('token_hash', '=', hashSecret(sessionToken)).execute()
  }

  /** Whether the password was asked for recently enough for what asks for it again. */
  isRecent({ confirmedAtMs, guardedAtMs }: SignedIn): boolean {
    const nowMs = this.#clock.nowMs()
    const keptAtMs = Math.max(confirmedAtMs, guardedAtMs ?? 0)
    return nowMs - keptAtMs < RECENT_MS && nowMs - confirmedAtMs < KEPT_MS
  }

  /** Notes that a session made a change that needs a recent password, which keeps the password recent. */
  async keepRecent(sessionId: string): Promise<void> {
    const noted = updateSession(this.#db, sessionId, { guarded_at_ms: this.#clock.nowMs() })
    // The change was made: at worst the page asks for the password once more.
    await noted.catch(() => undefined)
  }

  /** Removes sessions that have ended by themselves. */
  async removeEnded(): Promise<void> {
    const nowMs = this.#clock.nowMs()
    await this.#db.deleteFrom('sessions').where('expires_at_ms', '<=', nowMs).execute()
  }

  async #noteUse({ id, lastUsedAtMs, createdAtMs }: SessionRow, nowMs: number): Promise<void> {
    if (nowMs < (lastUsedAtMs ?? createdAtMs) + USE_MS) return
    const noted = updateSession(this.#db, id, { last_used_at_ms: nowMs })
    // The pages of a store that takes no writes at this moment are shown.
    await noted.catch(() => undefined)
  }
}

/** The part of a `user-agent` that is kept: at most 300 characters, and no control characters, some of which PostgreSQL refuses. */
export function storableAgent(agent: string): string {
  return agent.slice(0, AGENT_CHARS_MAX).replace(/[^\x20-\x7e]/g, '')
}

function isWaiting({ hasFactor, found: { factorPassedAtMs } }: Found): boolean {
  return hasFactor && factorPassedAtMs === null
}

function makeSessionToken(): string {
  return randomBytes(TOKEN_BYTES).toString('hex')
}

/**
 * Lets a session in that waits, under another token: who knows the one before may have put it into this browser, and
 * has not shown the second factor. Null: the session has ended, or was let in.
 */
export async function completeSignIn(
  db: Kysely<Tables>,
  { sessionId, nowMs }: { readonly sessionId: string; readonly nowMs: number },
): Promise<NewSession | null> {
  const sessionToken = makeSessionToken()
  const letIn = await db
    .updateTable('sessions')
    .set({ factor_passed_at_ms: nowMs, token_hash: hashSecret(sessionToken) })
    .where('id', '=', sessionId)
    .where('factor_passed_at_ms', 'is', null)
    .returning('user_id as userId')
    .executeTakeFirst()
  if (letIn === undefined) return null
  await endOldest(db, { userId: letIn.userId, hasShownFactor: true })
  return { sessionToken }
}

/** Ends the oldest sessions of a user who has too many. Those that wait for a second factor end no others. */
async function endOldest(
  db: Kysely<Tables>,
  { userId, hasShownFactor }: { readonly userId: string; readonly hasShownFactor: boolean },
): Promise<void> {
  const is = hasShownFactor ? 'is not' : 'is'
  const excess = await db
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', userId)
    .where('factor_passed_at_ms', is, null)
    .orderBy('id', 'desc')
    .limit(1)
    .offset(SESSIONS_MAX)
    .executeTakeFirst()
  if (excess === undefined) return
  await db
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where('factor_passed_at_ms', is, null)
    .where('id', '<=', excess.id)
    .execute()
}

/** Sets columns of a session. By position: the store, the session, and the columns. */
export async function updateSession(
  db: Kysely<Tables>,
  sessionId: string,
  columns: Partial<Tables['sessions']>,
): Promise<void> {
  await db.updateTable('sessions').set(columns).where('id', '=', sessionId).execute()
}

/** Whether a session was not ended. */
export function hasSession(db: Kysely<Tables>, sessionId: string): Promise<boolean> {
  return hasRow(db.selectFrom('sessions').select('id').where('id', '=', sessionId))
}

/** Ends the sessions of a user. Returns how many. */
export async function endOtherSessions(
  db: Kysely<Tables>,
  {
    userId,
    keptSessionId,
  }: {
    readonly userId: string
    /** Null: all are ended. */
    readonly keptSessionId: string | null
  },
): Promise<number> {
  const [ended] = await db
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .$if(keptSessionId !== null, (query) => query.where('id', '!=', keptSessionId))
    .execute()
  return Number(ended?.numDeletedRows ?? 0)
}
