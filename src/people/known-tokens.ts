import { ADMIN_TOKENS, type AdminTokenRow } from '../store/people-tables.ts'
import { readSetting } from '../store/settings.ts'
import type { DbWithClock } from '../store/store.ts'
import { HOUR_MS, startUnrefTimer } from '../vocabulary/clock.ts'
import { adminTokenHash } from './admin-tokens.ts'

/** How old the tokens in memory may be. They are read again each second. */
const KNOWN_MS = 3_000

/** How often tokens that are not known have them read again. */
const UNKNOWN_MS = 100

/** `last_used_at_ms` is written at most this often. */
const USE_MS = HOUR_MS

/** How long rows are believed whose version is the same: a database that went back may reach the same number again. */
const ROWS_MS = 60_000

interface KnownTokensInput extends DbWithClock {
  /** Whether a token was revoked, also if the database has lost that. */
  readonly hasRevoked: (adminTokenId: string) => boolean
  /**
   * Called when known tokens are gone before they expired, and before they are refused. Resolves when their revocations
   * are remembered.
   */
  readonly onGone: () => Promise<void>
  /** Called when the last use of a token could not be written. */
  readonly onFailure: (cause: unknown) => void
}

/**
 * The valid admin tokens, in memory. Another process may just have created an unknown token, so it waits for a reading
 * that begins after it arrived; there are at most ten such readings in a second, however many tokens clients send. A token
 * that another process has revoked is refused after the next `readChanges`, and one that this process has revoked after
 * `reread`. A token whose revocation the database has lost since it was first refused is not found.
 */
export class KnownTokens {
  readonly #input: KnownTokensInput
  #byHash = new Map<string, AdminTokenRow>()
  #version: string | null = null
  #readAtMs: number | null = null
  #rowsReadAtMs = Number.NEGATIVE_INFINITY
  #timesForgotten = 0
  #reading: Promise<void> | null = null
  /** The next reading for tokens that are not known, which has not begun. */
  #nextReading: Promise<void> | null = null
  #readForUnknownAtMs = Number.NEGATIVE_INFINITY

  constructor(input: KnownTokensInput) {
    this.#input = input
  }

  /** The token with a text; null: it is unknown, expired or revoked. Rejects if the store can't be read. */
  async find(text: string): Promise<AdminTokenRow | null> {
    const tokenHash = adminTokenHash(text)
    if (tokenHash === null) return null
    const nowMs = this.#input.clock.nowMs()
    if (!this.#isFresh(nowMs)) await this.readChanges()
    if (!this.#byHash.has(tokenHash)) await this.#readForUnknown()
    const found = this.#byHash.get(tokenHash)
    if (found === undefined || this.#input.hasRevoked(found.id)) return null
    if (found.expiresAtMs !== null && found.expiresAtMs <= nowMs) return null
    this.#noteUse(found, nowMs)
    return found
  }

  /** Forgets the tokens, and reads them again. Rejects if the store can't be read: the next `find` tries again then. */
  reread(): Promise<void> {
    this.#readAtMs = null
    this.#version = null
    this.#timesForgotten++
    this.#reading = null
    return this.readChanges()
  }

  /** Reads the tokens again if anything has changed. To be called every second. Rejects as the store does. */
  readChanges(): Promise<void> {
    if (this.#reading !== null) return this.#reading
    const reading = this.#read()
      .catch((cause: unknown) => {
        // The store may have gone back meanwhile, and then to the same version.
        this.#version = null
        throw cause
      })
      .finally(() => {
        if (this.#reading === reading) this.#reading = null
      })
    this.#reading = reading
    return reading
  }

  /** Resolves after a reading that began later than now. */
  #readForUnknown(): Promise<void> {
    this.#nextReading ??= this.#restForUnknown().then(async () => {
      // Callers that come from here on wait for the reading after this one.
      this.#nextReading = null
      this.#readForUnknownAtMs = this.#input.clock.nowMs()
      await this.#reading
      await this.readChanges()
    })
    return this.#nextReading
  }

  #restForUnknown(): Promise<void> {
    const sinceMs = this.#input.clock.nowMs() - this.#readForUnknownAtMs
    if (sinceMs < 0 || sinceMs >= UNKNOWN_MS) return Promise.resolve()
    return new Promise((run) => startUnrefTimer({ delayMs: UNKNOWN_MS - sinceMs, run }))
  }

  #isFresh(nowMs: number): boolean {
    const readAtMs = this.#readAtMs
    return readAtMs !== null && readAtMs <= nowMs && nowMs < readAtMs + KNOWN_MS
  }

  async #read(): Promise<void> {
    const { db, clock } = this.#input
    const nowMs = clock.nowMs()
    const timesForgotten = this.#timesForgotten
    // Before the tokens: a change in between is read next time.
    const version = await readSetting(db, 'callers_version')
    const isRecent = nowMs >= this.#rowsReadAtMs && nowMs < this.#rowsReadAtMs + ROWS_MS
    const isKnown = this.#version !== null && version === this.#version && isRecent
    const tokens = isKnown ? null : await this.#readTokens(nowMs)
    const byHash = new Map(tokens?.map((token) => [token.tokenHash, token]))
    // A database that goes back after the first refusal must not let them in again.
    if (tokens !== null && this.#hasLost(byHash, nowMs)) await this.#input.onGone()
    // These rows may be older than a change of this process.
    if (timesForgotten !== this.#timesForgotten) return
    this.#version = version
    this.#readAtMs = nowMs
    if (tokens === null) return
    this.#rowsReadAtMs = nowMs
    this.#byHash = byHash
  }

  /** Whether a known token is gone that has not merely expired. By position: the tokens that are there, and the time. */
  #hasLost(byHash: ReadonlyMap<string, AdminTokenRow>, nowMs: number): boolean {
    for (const [tokenHash, { expiresAtMs }] of this.#byHash) {
      const isExpired = expiresAtMs !== null && expiresAtMs <= nowMs
      if (!isExpired && !byHash.has(tokenHash)) return true
    }
    return false
  }

  /** The tokens that have not expired and are not revoked. */
  async #readTokens(nowMs: number): Promise<readonly AdminTokenRow[]> {
    return ADMIN_TOKENS.readAll(
      this.#input.db
        .selectFrom('admin_tokens')
        .selectAll()
        .where('revoked_at_ms', 'is', null)
        .where(({ eb, or }) =>
          or([eb('expires_at_ms', 'is', null), eb('expires_at_ms', '>', nowMs)]),
        ),
    )
  }

  #noteUse(adminToken: AdminTokenRow, nowMs: number): void {
    const { id, tokenHash, lastUsedAtMs } = adminToken
    if (lastUsedAtMs !== null && nowMs < lastUsedAtMs + USE_MS) return
    const usedAtMs = Math.floor(nowMs / USE_MS) * USE_MS
    this.#byHash.set(tokenHash, { ...adminToken, lastUsedAtMs: usedAtMs })
    this.#input.db
      .updateTable('admin_tokens')
      .set({ last_used_at_ms: usedAtMs })
      .where('id', '=', id)
      .execute()
      .catch((cause: unknown) => this.#input.onFailure(cause))
  }
}
