import type { Decimal, Micros } from './money.ts'
import type { FailureCode } from './problem.ts'

/**
 * Token counts as they are billed: each token is in one field only, with any name in a format
 * (chat's `prompt_tokens` includes cache reads and writes, messages' `input_tokens` does not).
 */
export interface TokenUsage {
  /** Input neither read from nor written to a cache. */
  readonly inputTokens: number
  readonly cacheReadTokens: number
  /** Cache writes, of any lifetime unless `cacheWriteLongTokens` says otherwise. */
  readonly cacheWriteTokens: number
  /** Cache writes of the one-hour class. */
  readonly cacheWriteLongTokens: number
  /** All output, reasoning and image tokens within. */
  readonly outputTokens: number
  /** The part of `outputTokens` spent on reasoning. */
  readonly reasoningTokens: number
  /** The part of `outputTokens` for generated images. */
  readonly imageOutputTokens: number
  /** Searches that the provider ran. */
  readonly searches: number
}

/** All input, cached or not. */
export function promptTokensOf(usage: TokenUsage): number {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens } = usage
  return inputTokens + cacheReadTokens + cacheWriteTokens + cacheWriteLongTokens
}

/** The report in an answer. Null if it reports nothing: never zero by accident. */
export interface Reported {
  readonly usage: TokenUsage | null
  /** The provider's cost in dollars, exactly as written. */
  readonly costUsd: Decimal | null
  readonly generationId: string | null
  /** The tier that it was served at; left out where it did not say. */
  readonly servedTier?: 'standard' | 'priority'
  /** Whether the provider computed the answer within one region. Left out: it did not say so. */
  readonly isRegional?: true
  /**
   * Whether `usage` counts the whole answer of a provider that bills by its counts: at the listed prices they are the
   * reported cost, if `costUsd` is null. Left out: they are not.
   */
  readonly countsAreCost?: true
  /**
   * Estimated output tokens of a whole stream that should have been counted and were not; absent in other reports.
   */
  readonly uncountedTokens?: number
  /** Estimated tokens of all text of a counted stream that would be estimated without its counts; absent in other reports. */
  readonly textTokens?: number
  /** Left out unless the provider was paid by the account's own key there. */
  readonly ownProviderKey?: true
}

/** The report of an answer that never came, or has none. */
export const NOTHING_REPORTED: Reported = { usage: null, costUsd: null, generationId: null }

/**
 * How one attempt at the upstream ended. Closed: settling switches over every member, so an ending
 * whose charge is not decided does not compile.
 */
export type Outcome =
  /** The whole answer, or a stream's terminal event, arrived and is a success. */
  | { readonly kind: 'completed'; readonly reported: Reported }
  /** The provider answered with an error: a status, a 200 that carries one, or an event in a stream. */
  | { readonly kind: 'failed'; readonly reported: Reported }
  /** Nothing, or not all of the request, was written: the provider can't have run it. */
  | { readonly kind: 'neverOpened' }
  /** Written in full, then no whole answer: the connection broke or the answer made no sense. */
  | { readonly kind: 'lost'; readonly stage: AttemptStage; readonly reported: Reported }
  /** The provider answered in full, as far as is known, and its answer is coded or larger than is read. */
  | {
      readonly kind: 'unreadable'
      readonly reported: Reported
      /** The same as when a client leaves. Absent: the client got nothing of the answer. */
      readonly relayedTokens?: number
    }
  /** One of our deadlines passed. */
  | { readonly kind: 'timedOut'; readonly stage: AttemptStage; readonly reported: Reported }
  /** The client left a stream, and the upstream call was cancelled. */
  | {
      readonly kind: 'clientGone'
      /** `notWritten`: not all of the request was written, so that the provider can't have run it. */
      readonly stage: AttemptStage | 'notWritten'
      readonly reported: Reported
      /** Output tokens in the text that was relayed after the last reported count, estimated. */
      readonly relayedTokens: number
      /**
       * How long the provider worked on an answer that was read on and showed no text, from its headers until it was
       * cancelled. Left out: there was text, or nothing was read on.
       */
      readonly silentMs?: number
    }
  /**
   * A stream that no client waits for, because its client left before the headers or this process stops: the
   * call was cancelled when its cost was reported, or after a time limit.
   */
  | { readonly kind: 'leftEarly'; readonly reported: Reported }

/** The part of the upstream's answer in which an attempt ended. */
export type AttemptStage = 'beforeHeaders' | 'afterHeaders'

/** How a hold ends after its attempt: `settle` decides it, and the ledger posts it. */
export type Resolution =
  /** Charged, and final. */
  | { readonly kind: 'final'; readonly chargeMicros: Micros; readonly costUsd: Decimal }
  /** Charged, until the provider's own record corrects it. */
  | {
      readonly kind: 'provisional'
      readonly chargeMicros: Micros
      /** The reported cost; null if the charge is an estimate, which keeps the rest of the hold held. */
      readonly costUsd: Decimal | null
      /** Null: it can't be looked up, and becomes final when its time is up. */
      readonly generationId: string | null
      /** Whether the reported cost stands without a look-up. Default false. */
      readonly stands?: boolean
    }
  /** Nothing is charged. */
  | {
      readonly kind: 'released'
      /**
       * If the provider billed this ID anyway, the bill is looked up and recorded, never charged. Absent: no look-up.
       */
      readonly billedAs?: string
    }
  /** Nothing is charged yet; the credit stays held, and the place in flight is free. */
  | { readonly kind: 'unresolved'; readonly generationId: string | null }

/** The facts learned about a provisional or unresolved request after its attempt has ended. */
export type Correction =
  /** The provider's own cost, from its record or from an admin. */
  | {
      readonly kind: 'final'
      readonly chargeMicros: Micros
      readonly costUsd: Decimal
      /** The counts of the provider's record; left out if it has none. */
      readonly usage?: TokenUsage
    }
  /** Moves an unresolved request to a charge that may still be corrected. */
  | {
      readonly kind: 'provisional'
      readonly chargeMicros: Micros
      /** The same as on a provisional resolution. */
      readonly costUsd: Decimal | null
      /** Null: the one that was known stays. */
      readonly generationId: string | null
    }
  /** No more will be learned: a provisional charge becomes final, an unresolved hold is released. */
  | { readonly kind: 'givenUp' }

/** The facts about a request that Activity shows, other than money. */
export interface RequestFacts {
  readonly httpStatus: number
  /** Null: it ended well. */
  readonly errorCode: FailureCode | null
  readonly usage: TokenUsage | null
  readonly generationId: string | null
  readonly firstByteAtMs: number | null
}

/**
 * The state of a request's hold.
 *
 * `open → provisional → final`, `open → final`, `open → released`,
 * `open → unresolved → provisional | final | released`. Each move happens once.
 */
export type RequestState = (typeof REQUEST_STATES)[number]

/** Every state, in the order that a request can pass through them. */
export const REQUEST_STATES = ['open', 'unresolved', 'provisional', 'final', 'released'] as const
