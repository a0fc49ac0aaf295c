import type { Kysely } from 'kysely'
import { hashApiKey, isApiKeyShaped } from '../../ledger/api-keys.ts'
import type { Tables } from '../../store/schema.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import { type Clock, type StartTimer, startUnrefTimer } from '../../vocabulary/clock.ts'
import { Problem, type ProblemCode } from '../../vocabulary/problem.ts'
import { readCredentials } from './credential.ts'
import { PacedLookUps } from './paced-look-ups.ts'

/** Who sends a request: an account, by one of its keys. */
export interface Caller {
  readonly accountId: string
  readonly apiKeyId: string
  /** Whether backed credit was ever added to the account. */
  readonly hasBackedCredit: boolean
}

/** What is done with requests whose key is not known. */
interface UnknownCallers {
  /** Whether the address of a request has sent so many of them that it is refused. */
  isOver(arrival: Arrival): boolean
  /** How a request is refused: as that, or for its address. */
  refusal(arrival: Arrival, refusal: { readonly code: ProblemCode }): Problem
}

interface AuthenticatorInput {
  readonly db: Kysely<Tables>
  readonly clock: Clock
  readonly unknownCallers: UnknownCallers
  /** The `<tag>` of `sk-<tag>-…`. */
  readonly keyTag: string
  /** How long an answer of the store is believed. Default 3,000. */
  readonly cacheMs?: number
  /** How many answers are kept, and apart from them how many unknown keys. Default 10,000. */
  readonly cacheEntriesMax?: number
  /** Default: a timer that does not keep the process alive. */
  readonly startTimer?: StartTimer
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
const GUESSES_PAUSE_MS = 100

/**
 * Tells callers by their keys. Answers of the store are believed for a few seconds; the ledger checks
 * again in the transaction that opens a hold, so a key that died since then opens none.
 *
 * A known key is never refused for its address, so a key that may be one is always looked up, wherever
 * it comes from. What changes for an address that has sent too many unknown keys is what a look-up can
 * cost. What has not the shape of a key, or is known to be none, is refused without one. A key that was
 * known here before is looked up at once, as from any other address. All other keys from such addresses
 * are gathered and looked up together, in one query ten times a second at most: so a flood of guesses
 * costs the store the same few small queries however fast it is, and slows down nobody but itself. A
 * known key that is new here waits for a tenth of a second among them, once.
 */
export class Authenticator {
  readonly #input: AuthenticatorInput
  readonly #cacheMs: number
  // Also those whose time is up: that a key was known before tells it from a guess.
  readonly #known: BoundedCache<KnownKey>
  // Apart from the known keys, so that a flood of made-up keys pushes none of those out.
  readonly #unknown: BoundedCache<null>
  readonly #guesses: PacedLookUps<KnownKey>
  #timesForgotten = 0
  readonly #lookUps = new Map<string, Promise<KnownKey | null>>()

  constructor(input: AuthenticatorInput) {
    this.#input = input
    this.#cacheMs = input.cacheMs ?? CACHE_MS_DEFAULT
    const entriesMax = input.cacheEntriesMax ?? CACHE_ENTRIES_MAX_DEFAULT
    this.#known = new BoundedCache(entriesMax)
    this.#unknown = new BoundedCache(entriesMax)
    this.#guesses = new PacedLookUps({
      lookUp: (hashes) => this.#lookUp(hashes),
      pauseMs: GUESSES_PAUSE_MS,
      startTimer: input.startTimer ?? startUnrefTimer,
    })
  }

  /**
   * The caller of a request. Throws the Problems `missing_api_key`, `invalid_api_key`,
   * `api_key_disabled`, `api_key_expired` and `rate_limited`; `StoreUnavailable` where the store did
   * not answer.
   */
  async authenticate(arrival: Arrival): Promise<Caller> {
    const { keyTag, clock, unknownCallers } = this.#input
    const presented = readCredentials(arrival.headers)
    const text = presented.find((candidate) => isApiKeyShaped({ text: candidate, keyTag }))
    const known = text === undefined ? null : await this.#find(hashApiKey(text), arrival)
    if (known === null) {
      const code = presented.length === 0 ? 'missing_api_key' : 'invalid_api_key'
      throw unknownCallers.refusal(arrival, { code })
    }
    if (known.disabled) throw new Problem('api_key_disabled')
    if (known.expiresAtMs !== null && clock.nowMs() >= known.expiresAtMs) {
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

  async #find(hash: string, arrival: Arrival): Promise<KnownKey | null> {
    const nowMs = this.#input.clock.nowMs()
    const known = this.#known.get(hash)
    if (known !== undefined && nowMs < known.untilMs) return known.value
    const unknown = this.#unknown.get(hash)
    if (unknown !== undefined && nowMs < unknown.untilMs) return null
    const underWay = this.#lookUps.get(hash)
    if (underWay !== undefined) return underWay
    const isGuess = known === undefined && this.#input.unknownCallers.isOver(arrival)
    const found = isGuess ? this.#guesses.ask(hash) : this.#lookUp([hash])
    const lookUp = found
      .then((apiKeys) => apiKeys.get(hash) ?? null)
      .finally(() => {
        if (this.#lookUps.get(hash) === lookUp) this.#lookUps.delete(hash)
      })
    this.#lookUps.set(hash, lookUp)
    return lookUp
  }

  /** Resolves with those that are known. */
  async #lookUp(hashes: readonly string[]): Promise<ReadonlyMap<string, KnownKey>> {
    // The answer is as old as the question: a change while it is under way is seen in time.
    const untilMs = this.#input.clock.nowMs() + this.#cacheMs
    const timesForgotten = this.#timesForgotten
    const rows = await this.#input.db
      .selectFrom('api_keys')
      .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
      .select(['api_keys.id as apiKeyId', 'api_keys.account_id as accountId'])
      .select(['api_keys.disabled as keyDisabled', 'accounts.disabled as accountDisabled'])
      .select(['api_keys.expires_at_ms as expiresAtMs', 'accounts.has_backed_credit as hasBacked'])
      .select('api_keys.key_hash as hash')
      .where('api_keys.key_hash', 'in', hashes)
      .where('api_keys.deleted_at_ms', 'is', null)
      .execute()
    const found = new Map(
      rows.map(({ hash, accountId, apiKeyId, ...row }): [string, KnownKey] => [
        hash,
        {
          caller: { accountId, apiKeyId, hasBackedCredit: row.hasBacked === 1 },
          disabled: row.keyDisabled === 1 || row.accountDisabled === 1,
          expiresAtMs: row.expiresAtMs,
        },
      ]),
    )
    if (timesForgotten !== this.#timesForgotten) return found
    for (const hash of hashes) {
      const value = found.get(hash)
      if (value !== undefined) this.#known.set(hash, { value, untilMs })
      else {
        this.#known.delete(hash)
        this.#unknown.set(hash, { value: null, untilMs })
      }
    }
    return found
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

  delete(name: string): void {
    this.#entries.delete(name)
  }

  /** Also one whose time is up. */
  get(name: string): Cached<T> | undefined {
    return this.#entries.get(name)
  }

  set(name: string, entry: Cached<T>): void {
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    if (this.#entries.size <= this.#entriesMax) return
    const oldest = this.#entries.keys().next()
    if (oldest.done !== true) this.#entries.delete(oldest.value)
  }
}
