import type { RefusedFor } from '../formats/provider-error.ts'
import type { ReadinessCheck } from '../http/health.ts'
import type { DatabaseLocation } from '../store/database-url.ts'
import type { StoreFault } from '../store/store-failure.ts'
import { type Clock, MINUTE_MS } from '../vocabulary/clock.ts'
import { countInWords } from '../vocabulary/count-in-words.ts'

type StoreKind = DatabaseLocation['kind']

/** The sources that readiness reads at each request. Reads must be free of I/O. */
export interface ReadinessSources {
  readonly isDraining: () => boolean
  /** Whether this instance may open holds: false while other instances may have declared it dead. */
  readonly isAlive: () => boolean
  /** When the newest prices were requested; null: none were ever loaded. */
  readonly pricesRefreshedAtMs: () => number | null
}

/** The call that the provider refused: a client's request, or the gateway's own for its catalog or about its key. */
type AccountAsker = 'request' | 'catalog' | 'key'

/** An upstream, and where its key is set. */
interface KeyedUpstream {
  readonly name: string
  /** The variable of the environment that has our key; null: there is no key. */
  readonly apiKeyVariable: string | null
}

/** A call of our account. */
export interface AccountCall {
  /** The name of the upstream that it went to. */
  readonly upstream: string
  readonly asker: AccountAsker
}

/** A call of our account that the provider refuses. */
export interface AccountRefused extends AccountCall {
  readonly refusedFor: RefusedFor
  /** The same in words. Default: a request was refused, and the words are the provider's. */
  readonly said?: string
  /** The account whose request was refused in words that may be about the request alone. Default: it is about ours. */
  readonly likelyOf?: string
}

// Three heartbeats: one may be late, and one may fail.
const STORE_SILENCE_MS_MAX = 15_000

// A load balancer that sends this server nothing would never see the refusals end: after this long without
// another one, requests are worth a try.
const REFUSAL_BELIEVED_MS = 30_000

// One customer, whose prompts a vendor's firewall blocks, must not take the server out of its load balancer.
const LIKELY_REFUSALS_BELIEVED = 2
const LIKELY_REFUSAL_MS = 5 * MINUTE_MS

/**
 * Whether this process can take requests, judged by its ordinary work: heartbeats and commits show the state of the
 * store, refreshes the state of the prices, and answers of the provider the state of the gateway's account.
 */
export class Readiness {
  readonly #clock: Clock
  readonly #storeKind: StoreKind
  /** The age past which prices are too old to run a request on. */
  readonly #pricesStaleAfterMs: number
  #storeCommittedAtMs: number
  /** Why the store last failed, `unknown` if that is not known; null: it has committed a write since. */
  #storeFailure: StoreFault | 'unknown' | null = null
  /** By upstream: why it last refused our account. */
  readonly #refusals = new Map<string, Reason>()
  /** By upstream: the accounts with likely refusals since a request was last accepted, each with the time of the newest. */
  readonly #likelyOf = new Map<string, Map<string, number>>()
  #hasUnnamedProxy = false
  /** A warning about the store for operators, and until when it holds. */
  #storeWarning: { readonly words: string; readonly untilMs: number } | null = null
  readonly #upstreams: readonly KeyedUpstream[]
  readonly #refusedAtMs: ReadonlyMap<string, Record<AccountAsker, number | null>>
  readonly #chainWarning: string | null

  constructor({
    clock,
    storeKind,
    pricesStaleAfterMs,
    upstreams,
    chainWarning = null,
  }: {
    readonly clock: Clock
    readonly storeKind: StoreKind
    readonly pricesStaleAfterMs: number
    readonly upstreams: readonly KeyedUpstream[]
    /** Why deposits on a chain are believed too easily; null, the default: they are not. */
    readonly chainWarning?: string | null
  }) {
    this.#chainWarning = chainWarning
    this.#clock = clock
    this.#storeKind = storeKind
    this.#pricesStaleAfterMs = pricesStaleAfterMs
    this.#storeCommittedAtMs = clock.nowMs()
    this.#upstreams = upstreams
    this.#refusedAtMs = new Map(
      upstreams.map(({ name }) => [name, { request: null, catalog: null, key: null }]),
    )
  }

  /** The store has just committed a write: no other answer shows that it can. */
  storeCommitted(): void {
    this.#storeCommittedAtMs = this.#clock.nowMs()
    this.#storeFailure = null
  }

  /** The store has just failed; it counts as down until it commits a write. By position: why; null: not known. */
  storeFailed(fault: StoreFault | null): void {
    this.#storeFailure = fault ?? 'unknown'
  }

  /** By position: a warning that the check of the store has while it passes, and until when. */
  warnOfStore(words: string, untilMs: number): void {
    this.#storeWarning = { words, untilMs }
  }

  /** Warns, as long as the process lives, of a proxy that is not named. */
  warnOfProxy(): void {
    this.#hasUnnamedProxy = true
  }

  /** Whether the store has committed nothing since it failed. */
  get isStoreDown(): boolean {
    return this.#storeFailure !== null
  }

  /**
   * An upstream refused our account. True if no refusal of it was known. A likely refusal counts once the requests of a
   * second account have one within five minutes, with none accepted in between, and while the account counts as refused.
   */
  accountRefused({ upstream, asker, refusedFor, said, likelyOf }: AccountRefused): boolean {
    if (likelyOf !== undefined && !this.#isBelieved({ upstream, likelyOf })) return false
    this.#refusals.set(upstream, { refusedFor, said })
    const isNews = !this.isAccountRefused(upstream)
    const refusedAtMs = this.#refusedAtMs.get(upstream)
    if (refusedAtMs !== undefined) refusedAtMs[asker] = this.#clock.nowMs()
    return isNews
  }

  /**
   * An upstream accepted a call of our account. True if that ended the last known refusal. A refusal ends only with an
   * accepted call of the same kind, because the catalog may be public, and the account of a valid key may have no credit.
   * An accepted request also shows that the key is valid.
   */
  accountAccepted({ upstream, asker }: AccountCall): boolean {
    if (asker === 'request') this.#likelyOf.delete(upstream)
    const refusedAtMs = this.#refusedAtMs.get(upstream)
    if (refusedAtMs === undefined || !this.isAccountRefused(upstream)) return false
    refusedAtMs[asker] = null
    if (asker === 'request') refusedAtMs.key = null
    return !this.isAccountRefused(upstream)
  }

  #isBelieved({
    upstream,
    likelyOf,
  }: {
    readonly upstream: string
    readonly likelyOf: string
  }): boolean {
    const nowMs = this.#clock.nowMs()
    const accounts = this.#likelyOf.get(upstream) ?? new Map<string, number>()
    this.#likelyOf.set(upstream, accounts)
    for (const [accountId, atMs] of accounts) {
      if (nowMs >= atMs + LIKELY_REFUSAL_MS) accounts.delete(accountId)
    }
    if (accounts.size < LIKELY_REFUSALS_BELIEVED || accounts.has(likelyOf))
      accounts.set(likelyOf, nowMs)
    return accounts.size >= LIKELY_REFUSALS_BELIEVED || this.isAccountRefused(upstream)
  }

  /** Whether the upstream's latest answer to any kind of call was a refusal, no matter how long ago. */
  isAccountRefused(upstream: string): boolean {
    const refusedAtMs = this.#refusedAtMs.get(upstream)
    if (refusedAtMs === undefined) return false
    return (refusedAtMs.request ?? refusedAtMs.catalog ?? refusedAtMs.key) !== null
  }

  /** Every check, the most urgent first. */
  checks(sources: ReadinessSources): readonly ReadinessCheck[] {
    return [
      { name: 'serving', fault: sources.isDraining() ? DRAINING : null },
      { name: 'store', fault: this.#storeFault(sources), ...this.#storeWarned() },
      { name: 'prices', fault: this.#pricesFault(sources.pricesRefreshedAtMs()) },
      { name: 'upstream_account', fault: this.#accountFault() },
      ...(this.#chainWarning === null
        ? []
        : [{ name: 'chain_nodes', fault: null, warning: this.#chainWarning } as const]),
      ...(this.#hasUnnamedProxy
        ? [{ name: 'proxies', fault: null, warning: UNNAMED_PROXY } as const]
        : []),
    ]
  }

  #storeWarned(): Pick<ReadinessCheck, 'warning'> {
    const warning = this.#storeWarning
    if (warning === null || this.#clock.nowMs() >= warning.untilMs) return {}
    return { warning: `${warning.words}.` }
  }

  #storeFault({ isAlive }: ReadinessSources): string | null {
    const check = CHECK_STORE[this.#storeKind]
    if (this.#storeFailure !== null) {
      const { why, remedy = check } = STORE_FAULTS[this.#storeFailure]
      return `The store takes no writes${why}. ${remedy}`
    }
    const silentMs = this.#clock.nowMs() - this.#storeCommittedAtMs
    if (silentMs > STORE_SILENCE_MS_MAX) {
      return `The store has committed nothing for ${countInWords(Math.floor(silentMs / 1_000), 'second')}. ${check}`
    }
    return isAlive() ? null : TAKEN_FOR_DEAD
  }

  #pricesFault(refreshedAtMs: number | null): string | null {
    if (refreshedAtMs === null) return `No prices have been loaded yet. ${CHECK_REFRESH}`
    const ageMs = this.#clock.nowMs() - refreshedAtMs
    if (ageMs <= this.#pricesStaleAfterMs) return null
    return `The prices are ${countInWords(Math.floor(ageMs / 60_000), 'minute')} old. ${CHECK_REFRESH}`
  }

  /** Null if any upstream accepts the gateway: its models can be served. */
  #accountFault(): string | null {
    const nowMs = this.#clock.nowMs()
    for (const { request, catalog, key } of this.#refusedAtMs.values()) {
      const refusedAtMs = Math.max(...[request, catalog, key].map((atMs) => atMs ?? -Infinity))
      if (nowMs - refusedAtMs >= REFUSAL_BELIEVED_MS) return null
    }
    const [first, ...others] = this.#upstreams
    if (first === undefined) return null
    const adviceOf = (upstream: KeyedUpstream) =>
      adviceFor(upstream, this.#refusals.get(upstream.name)?.refusedFor)
    if (others.length === 0) {
      const said = this.#refusals.get(first.name)?.said
      const reason = said === undefined ? '' : `: ${said}`
      return `The upstream ${first.name} refuses the gateway${reason}. ${adviceOf(first)}`
    }
    const names = this.#upstreams.map(({ name }) => name)
    const advice = new Set(this.#upstreams.map(adviceOf))
    return `All upstreams refuse the gateway (${names.join(', ')}). ${[...advice].join(' ')}`
  }
}

type Reason = Pick<AccountRefused, 'refusedFor'> & { readonly said: string | undefined }

/** By position: the upstream, and why it refuses the gateway. */
function adviceFor(
  { name, apiKeyVariable }: KeyedUpstream,
  refusedFor: RefusedFor = 'key',
): string {
  if (refusedFor === 'credit') {
    const payer = apiKeyVariable === null ? name : `the key ${apiKeyVariable}`
    return `No credit is left: add credit to the provider's account of ${payer}.`
  }
  return apiKeyVariable === null
    ? `No key is sent to ${name}: set its api_key if it needs one.`
    : `Check the key ${apiKeyVariable} and its permissions.`
}

// Anyone may ask whether the server is ready: which file, server or user it is about is for the log.
const STORE_FAULTS: Readonly<
  Record<
    StoreFault | 'unknown',
    {
      readonly why: string
      /** Default: that of the kind of store. */
      readonly remedy?: string
    }
  >
> = {
  moved: {
    why: ': its file was removed or replaced',
    remedy: 'Run no command on the store; the log names the file and says what to do.',
  },
  full: { why: ': its disk is full', remedy: 'Free space on that disk; the log says more.' },
  readOnly: { why: ': it is read-only' },
  noWriter: {
    why: ': none of its servers takes writes',
    remedy: 'Promote a standby, or name the primary server in DATABASE_URL; the log says more.',
  },
  silent: { why: ': it does not answer' },
  waitsForStandby: {
    why: ': the commit waits for the standby',
    remedy: 'Check that the synchronous standby is running and can be reached.',
  },
  unknown: { why: '' },
}
const CHECK_STORE: Readonly<Record<StoreKind, string>> = {
  sqlite:
    'Check that the server can write to the file of the store and to its folder, and that their disk has space; the log says what failed.',
  postgres:
    'Check that the database of DATABASE_URL can be reached, takes writes and has disk space; the log says what failed.',
}
const UNNAMED_PROXY =
  'A proxy sends x-forwarded-for and is not in TOLLGATE_TRUSTED_PROXIES: all its clients count as one. The log has its address.'
const CHECK_REFRESH =
  'Run `tollgate upstream check`, which says what is wrong with the list of models; the log has it too.'
const DRAINING = 'The server is stopping: send requests to another one.'
const TAKEN_FOR_DEAD =
  'Other servers of the same store may have declared this one dead, because its heartbeats did not arrive. It recovers once they do.'
