import type { Kysely } from 'kysely'
import type { Tables } from '../store/tables.ts'
import type { Clock } from '../vocabulary/clock.ts'
import { Problem } from '../vocabulary/problem.ts'
import { hashApiKey, isApiKeyShaped } from './api-key-text.ts'
import { type Headers, readCredentials } from './credential.ts'

/** Who sends a request: an account, by one of its keys. */
export interface Caller {
  readonly accountId: string
  readonly apiKeyId: string
  /** Whether backed credit was ever added to the account. */
  readonly hasBackedCredit: boolean
}

export interface AuthenticatorInput {
  readonly db: Kysely<Tables>
  readonly clock: Clock
  /** The `<tag>` of `sk-<tag>-…`. */
  readonly keyTag: string
  /** How long an answer of the store is believed. Default 3,000. */
  readonly cacheMs?: number
  /** How many answers are kept, and apart from them how many unknown keys. Default 10,000. */
  readonly cacheEntriesMax?: number
}

interface KnownKey {
  readonly caller: Caller
  readonly disabled: boolean
  readonly expiresAtMs: number | null
}

interface Cached<T> {
  readonly value: T
  readonly untilMs: number
}

const CACHE_MS_DEFAULT = 3_000
const CACHE_ENTRIES_MAX_DEFAULT = 10_000

/**
 * Tells callers by their keys. Answers of the store are believed for a few seconds; the ledger checks
 * again in the transaction that opens a hold, so a key that died since then opens none.
 */
export class Authenticator {
  readonly #input: AuthenticatorInput
  readonly #cacheMs: number
  readonly #known: BoundedCache<KnownKey>
  // Apart from the known keys, so that a flood of made-up keys pushes none of those out.
  readonly #unknown: BoundedCache<null>
  #timesForgotten = 0
  readonly #lookUps = new Map<string, Promise<KnownKey | null>>()

  constructor(input: AuthenticatorInput) {
    this.#input = input
    this.#cacheMs = input.cacheMs ?? CACHE_MS_DEFAULT
    const entriesMax = input.cacheEntriesMax ?? CACHE_ENTRIES_MAX_DEFAULT
    this.#known = new BoundedCache(entriesMax)
    this.#unknown = new BoundedCache(entriesMax)
  }

  /**
   * The caller of a request. Throws the Problems `missing_api_key`, `invalid_api_key`,
   * `api_key_disabled` and `api_key_expired`; `StoreUnavailable` where the store did not answer.
   */
  async authenticate(headers: Headers): Promise<Caller> {
    const presented = readCredentials(headers)
    const text = presented.find((candidate) =>
      isApiKeyShaped({ text: candidate, keyTag: this.#input.keyTag }),
    )
    if (text === undefined) throw new Problem('invalid_api_key')
    const known = await this.#find(hashApiKey(text))
    if (known === null) throw new Problem('invalid_api_key')
    if (known.disabled) throw new Problem('api_key_disabled')
    if (known.expiresAtMs !== null && this.#input.clock.nowMs() >= known.expiresAtMs) {
      throw new Problem('api_key_expired')
    }
    return known.caller
  }

  /** Believes no earlier answer of the store any more: an admin has just changed keys or accounts. */
  forget(): void {
    this.#known.clear()
    this.#unknown.clear()
    // Look-ups that are under way asked before the change: who waits for them may have their answer,
    // and nobody else.
    this.#lookUps.clear()
    this.#timesForgotten++
  }

  async #find(hash: string): Promise<KnownKey | null> {
    const nowMs = this.#input.clock.nowMs()
    const cached = this.#known.get(hash, nowMs) ?? this.#unknown.get(hash, nowMs)
    if (cached !== undefined) return cached.value
    const underWay = this.#lookUps.get(hash)
    if (underWay !== undefined) return underWay
    const lookUp = this.#lookUp(hash).finally(() => {
      if (this.#lookUps.get(hash) === lookUp) this.#lookUps.delete(hash)
    })
    this.#lookUps.set(hash, lookUp)
    return lookUp
  }

  async #lookUp(hash: string): Promise<KnownKey | null> {
    // The answer is as old as the question: a change while it is under way is seen in time.
    const untilMs = this.#input.clock.nowMs() + this.#cacheMs
    const timesForgotten = this.#timesForgotten
    const row = await this.#input.db
      .selectFrom('api_keys')
      .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
      .select(['api_keys.id as apiKeyId', 'api_keys.account_id as accountId'])
      .select(['api_keys.disabled as keyDisabled', 'accounts.disabled as accountDisabled'])
      .select(['api_keys.expires_at_ms as expiresAtMs', 'accounts.has_backed_credit as hasBacked'])
      .where('api_keys.key_hash', '=', hash)
      .where('api_keys.deleted_at_ms', 'is', null)
      .executeTakeFirst()
    if (row === undefined) {
      if (timesForgotten === this.#timesForgotten) this.#unknown.set(hash, { value: null, untilMs })
      return null
    }
    const known: KnownKey = {
      caller: {
        accountId: row.accountId,
        apiKeyId: row.apiKeyId,
        hasBackedCredit: row.hasBacked === 1,
      },
      disabled: row.keyDisabled === 1 || row.accountDisabled === 1,
      expiresAtMs: row.expiresAtMs,
    }
    if (timesForgotten === this.#timesForgotten) this.#known.set(hash, { value: known, untilMs })
    return known
  }
}

/** Keeps the latest entries, at most so many. */
class BoundedCache<T> {
  readonly #entriesMax: number
  readonly #entries = new Map<string, Cached<T>>()

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax
  }

  clear(): void {
    this.#entries.clear()
  }

  get(name: string, nowMs: number): Cached<T> | undefined {
    const entry = this.#entries.get(name)
    if (entry === undefined || nowMs < entry.untilMs) return entry
    this.#entries.delete(name)
    return undefined
  }

  set(name: string, entry: Cached<T>): void {
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    if (this.#entries.size <= this.#entriesMax) return
    const oldest = this.#entries.keys().next()
    if (oldest.done !== true) this.#entries.delete(oldest.value)
  }
}
