import type { Kysely } from 'kysely'
import { hashApiKey, isApiKeyShaped } from '../../ledger/api-keys.ts'
import type { Tables } from '../../store/schema.ts'
import { readSetting } from '../../store/settings.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import { type Clock, type StartTimer, startUnrefTimer } from '../../vocabulary/clock.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { slicesOf } from '../../vocabulary/slices.ts'
import {
  type Caller,
  type CallerLimits,
  CallerRefused,
  type ChangedCallers,
  ModelAccess,
  readCredentials,
  refusalOf,
} from './caller.ts'
import type { UnknownCallers } from './unknown-callers.ts'

interface AuthenticatorInput {
  readonly db: Kysely<Tables>
  readonly clock: Clock
  readonly unknownCallers: Pick<UnknownCallers, 'isOver' | 'refusal'>
  /** The `<tag>` of `sk-<tag>-…`. */
  readonly keyTag: string
  /**
   * How long a key is cached after its look-up, or after the last reading of changes; an unknown key, after its
   * look-up. Default 3,000.
   */
  readonly cacheMs?: number
  /** How many known keys are cached, and as many unknown ones. Default 10,000. */
  readonly cacheEntriesMax?: number
  /** Default: a timer that does not keep the process alive. */
  readonly startTimer?: StartTimer
}

interface KnownKey {
  /** When this text of the key stops working, after a rotation; null: it is the key's own. */
  readonly replacedAtMs: number | null
  readonly caller: Caller
  readonly isSuspended: boolean
  readonly disabled: boolean
  readonly expiresAtMs: number | null
}

interface Cached<T> {
  readonly value: T
  /** When the look-up of the value began. `-Infinity`: the value has changed since. */
  readonly askedAtMs: number
  /** Whether a request has been served from this entry. */
  isUsed?: true
}

const CHANGED = Number.NEGATIVE_INFINITY
const CACHE_MS_DEFAULT = 3_000
const CACHE_ENTRIES_MAX_DEFAULT = 10_000
const GUESSES_PAUSE_MS = 100

/**
 * Finds the caller of a request by its key. Known keys are cached until one changes: at once where this process
 * changes it (`forget`), with the next `readChanges` where another does. While changes can't be read, keys are
 * cached for a few seconds. The ledger checks a key again in the transaction that opens a hold, so a key that was
 * disabled meanwhile opens none.
 *
 * A known key is never refused because of its address, so any text that could be a key is looked up. Text
 * without the shape of a key, or cached as unknown, is refused without a look-up. For an address that has
 * sent too many unknown keys, look-ups are limited: a key that was known to this process before is still
 * looked up at once; all other keys of such addresses are gathered into one query, at most ten times a
 * second. A flood of guesses costs the store the same few small queries at any speed, and slows down only
 * itself. A known key that is new to this process waits among the guesses for a tenth of a second, once.
 */
export class Authenticator {
  readonly #input: AuthenticatorInput
  readonly #cacheMs: number
  // Expired entries stay: a key that was known before is no guess.
  readonly #known: BoundedCache<KnownKey>
  // Separate from the known keys, so that a flood of guesses evicts none of them.
  readonly #unknown: BoundedCache<null>
  readonly #guesses: PacedLookUps<KnownKey>
  #timesForgotten = 0
  #version: string | null = null
  /** When the last reading of changes began. */
  #readAtMs = Number.NEGATIVE_INFINITY
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
   * The caller of a request. Throws the Problems `missing_api_key`, `invalid_api_key`, `account_suspended`,
   * `api_key_disabled`, `api_key_expired` and `rate_limited`, and `StoreUnavailable` if the store did not answer. If the
   * key is known, the Problem is a `CallerRefused`.
   */
  async authenticate(arrival: Arrival): Promise<Caller> {
    const { keyTag, unknownCallers } = this.#input
    const presented = readCredentials(arrival.headers)
    const text = presented.find((candidate) => isApiKeyShaped({ text: candidate, keyTag }))
    const known = text === undefined ? null : await this.#find(hashApiKey(text), arrival)
    if (known === null) {
      throw unknownCallers.refusal(arrival, refusalOf(arrival.headers, text !== undefined))
    }
    return this.#admit(known)
  }

  /**
   * The caller by a key without a text, such as the Playground's, which the page uses for its sessions. Throws as
   * `authenticate` does, and `invalid_api_key` for a key that does not exist.
   */
  async callerOf(keyHash: string, arrival: Arrival): Promise<Caller> {
    const known = await this.#find(keyHash, arrival)
    if (known === null) throw new Problem('invalid_api_key')
    return this.#admit(known)
  }

  #admit({ caller, isSuspended, disabled, expiresAtMs, replacedAtMs }: KnownKey): Caller {
    if (replacedAtMs !== null && this.#input.clock.nowMs() >= replacedAtMs) {
      throw new CallerRefused('invalid_api_key', caller)
    }
    if (isSuspended) throw new CallerRefused('account_suspended', caller)
    if (disabled) throw new CallerRefused('api_key_disabled', caller)
    if (expiresAtMs !== null && this.#input.clock.nowMs() >= expiresAtMs) {
      throw new CallerRefused('api_key_expired', caller)
    }
    return caller
  }

  /**
   * Drops the cached keys that were just changed. Each is looked up again at its next use, without waiting in the queue
   * of unknown keys.
   */
  forget(changed: ChangedCallers): void {
    this.#forget(({ caller }) =>
      'apiKeyId' in changed
        ? caller.apiKeyId === changed.apiKeyId
        : caller.accountId === changed.accountId,
    )
  }

  /**
   * Checks whether any process has changed keys or accounts. If so, all cached keys are looked up again: those that
   * were used since the change before together and now, each of the others at its next use. To be called every second.
   * Throws as the store does.
   */
  async readChanges(): Promise<void> {
    const nowMs = this.#input.clock.nowMs()
    const version = await readSetting(this.#input.db, 'callers_version')
    const used = version === this.#version ? [] : this.#forget(() => true)
    this.#version = version
    this.#readAtMs = nowMs
    for (const page of slicesOf(used, NAMES_MAX)) {
      const stillChanged = page.filter((hash) => this.#known.get(hash)?.askedAtMs === CHANGED)
      if (stillChanged.length > 0) await this.#lookUp(stillChanged)
    }
  }

  /** Returns the hashes of keys that were used. */
  #forget(isMeant: (known: KnownKey) => boolean): string[] {
    // Running look-ups began before the change: they are not shared with requests that come after it.
    this.#lookUps.clear()
    this.#timesForgotten++
    return this.#known.expire(isMeant)
  }

  async #find(hash: string, arrival: Arrival): Promise<KnownKey | null> {
    const nowMs = this.#input.clock.nowMs()
    const known = this.#known.get(hash)
    if (known !== undefined && this.#isFresh(known, nowMs)) {
      known.isUsed = true
      return known.value
    }
    const unknown = this.#unknown.get(hash)
    if (unknown !== undefined && nowMs < unknown.askedAtMs + this.#cacheMs) return null
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

  #isFresh({ askedAtMs }: Cached<KnownKey>, nowMs: number): boolean {
    if (nowMs < askedAtMs + this.#cacheMs) return true
    return askedAtMs !== CHANGED && nowMs < this.#readAtMs + this.#cacheMs
  }

  /** Resolves with the known ones of these keys. */
  async #lookUp(hashes: readonly string[]): Promise<ReadonlyMap<string, KnownKey>> {
    // The age of an entry counts from the start of the query, so that a change while the query runs is seen in time.
    const askedAtMs = this.#input.clock.nowMs()
    const timesForgotten = this.#timesForgotten
    const rows = await readApiKeys(this.#input.db, hashes)
    const found = new Map(rows.flatMap((row) => knownTexts(row, askedAtMs)))
    if (timesForgotten !== this.#timesForgotten) return found
    for (const hash of hashes) {
      const value = found.get(hash)
      if (value !== undefined) this.#known.set(hash, { value, askedAtMs })
      else {
        this.#known.delete(hash)
        this.#unknown.set(hash, { value: null, askedAtMs })
      }
    }
    return found
  }
}

/** The keys that have one of these texts, now or before a rotation. */
function readApiKeys(db: Kysely<Tables>, hashes: readonly string[]) {
  return db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .select(['api_keys.id as apiKeyId', 'api_keys.account_id as accountId'])
    .select(['api_keys.disabled as keyDisabled', 'accounts.disabled as accountDisabled'])
    .select(['api_keys.expires_at_ms as expiresAtMs', 'accounts.has_backed_credit as hasBacked'])
    .select(['api_keys.models_allow as keyAllow', 'api_keys.models_deny as keyDeny'])
    .select(['accounts.models_allow as accountAllow', 'accounts.models_deny as accountDeny'])
    .select(['api_keys.key_hash as hash', 'accounts.fee_basis_points as feeBasisPoints'])
    .select(['api_keys.requests_per_minute_max as keyRequestsPerMinuteMax'])
    .select(['api_keys.in_flight_max as keyInFlightMax'])
    .select(['accounts.requests_per_minute_max as accountRequestsPerMinuteMax'])
    .select(['accounts.in_flight_max as accountInFlightMax'])
    .select(['api_keys.previous_key_hash as previousHash'])
    .select(['api_keys.previous_expires_at_ms as previousExpiresAtMs'])
    .where(({ eb, or }) =>
      or([
        eb('api_keys.key_hash', 'in', filledUp(hashes)),
        eb('api_keys.previous_key_hash', 'in', filledUp(hashes)),
      ]),
    )
    .where('api_keys.deleted_at_ms', 'is', null)
    .execute()
}

type FoundApiKey = Awaited<ReturnType<typeof readApiKeys>>[number]

/** A key by the hash of its text and, until that stops working, by the hash of the text before a rotation. */
function knownTexts(row: FoundApiKey, nowMs: number): readonly (readonly [string, KnownKey])[] {
  const known: KnownKey = {
    replacedAtMs: null,
    caller: {
      accountId: row.accountId,
      apiKeyId: row.apiKeyId,
      feeBasisPoints: row.feeBasisPoints,
      hasBackedCredit: row.hasBacked === 1,
      models: ModelAccess.of({
        account: { allow: row.accountAllow, deny: row.accountDeny },
        apiKey: { allow: row.keyAllow, deny: row.keyDeny },
      }),
      ...ownLimits(row),
    },
    isSuspended: row.accountDisabled === 1,
    disabled: row.keyDisabled === 1,
    expiresAtMs: row.expiresAtMs,
  }
  const { hash, previousHash, previousExpiresAtMs: replacedAtMs } = row
  if (previousHash === null || replacedAtMs === null || replacedAtMs <= nowMs)
    return [[hash, known]]
  return [
    [hash, known],
    [previousHash, { ...known, replacedAtMs }],
  ]
}

function ownLimits(row: CallerLimits): Pick<Caller, 'ownLimits'> {
  const limits = {
    keyRequestsPerMinuteMax: row.keyRequestsPerMinuteMax,
    keyInFlightMax: row.keyInFlightMax,
    accountRequestsPerMinuteMax: row.accountRequestsPerMinuteMax,
    accountInFlightMax: row.accountInFlightMax,
  }
  return Object.values(limits).every((max) => max === null) ? {} : { ownLimits: limits }
}

// Repeats one hash up to the next power of two: SQLite keeps a prepared statement for each number of hashes.
function filledUp(hashes: readonly string[]): readonly string[] {
  let count = 1
  while (count < hashes.length) count *= 2
  return [...hashes, ...new Array<string>(count - hashes.length).fill(hashes[0] ?? '')]
}

/** A cache of at most so many entries: a new one replaces the one that was set longest ago. */
class BoundedCache<T> {
  readonly #entriesMax: number
  readonly #entries = new Map<string, Cached<T>>()

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax
  }

  /** Marks entries as no longer fresh, and keeps them. Returns the names of those that were used. */
  expire(isMeant: (value: T) => boolean): string[] {
    const used: string[] = []
    for (const [name, { value, isUsed }] of this.#entries) {
      if (!isMeant(value)) continue
      if (isUsed === true) used.push(name)
      this.#entries.set(name, { value, askedAtMs: CHANGED })
    }
    return used
  }

  delete(name: string): void {
    this.#entries.delete(name)
  }

  /** The entry, expired or not. */
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

interface PacedLookUpsInput<Found> {
  /** Looks up several names in one query; resolves with the ones that were found. */
  readonly lookUp: (names: readonly string[]) => Promise<ReadonlyMap<string, Found>>
  /** From the end of one query to the start of the next. */
  readonly pauseMs: number
  readonly startTimer: StartTimer
}

interface Batch<Found> {
  readonly names: string[]
  readonly result: Promise<ReadonlyMap<string, Found>>
}

// A statement of SQLite takes 32,766 values; one with a thousand runs for a millisecond or two.
const NAMES_MAX = 1_024

/** Look-ups at a bounded cost: one query at a time, with a pause after it. Names gather for the next query. */
class PacedLookUps<Found> {
  readonly #input: PacedLookUpsInput<Found>
  #next: Batch<Found> | null = null
  /** Resolves when the next query may start; never rejects. */
  #free: Promise<void> = Promise.resolve()

  constructor(input: PacedLookUpsInput<Found>) {
    this.#input = input
  }

  /** Resolves with the result of the name's query. Rejects as the query does. */
  ask(name: string): Promise<ReadonlyMap<string, Found>> {
    if (this.#next === null || this.#next.names.length === NAMES_MAX) this.#next = this.#begin()
    this.#next.names.push(name)
    return this.#next.result
  }

  #begin(): Batch<Found> {
    const { lookUp, pauseMs, startTimer } = this.#input
    const names: string[] = []
    const result = this.#free.then(() => {
      if (this.#next?.names === names) this.#next = null
      return lookUp(names)
    })
    const pause = (): Promise<void> =>
      new Promise((resolve) => startTimer({ delayMs: pauseMs, run: resolve }))
    this.#free = result.then(pause, pause)
    return { names, result }
  }
}
