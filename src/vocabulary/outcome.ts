import type { Reported } from './usage.ts'

/**
 * How one attempt at the upstream ended. Closed: settling switches over every member, so an ending
 * that nobody has decided the charge of does not compile.
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
  | { readonly kind: 'unreadable'; readonly reported: Reported }
  /** One of our deadlines passed. */
  | { readonly kind: 'timedOut'; readonly stage: AttemptStage; readonly reported: Reported }
  /** The client left a stream, and the upstream call was cancelled. */
  | {
      readonly kind: 'clientGone'
      readonly stage: AttemptStage
      readonly reported: Reported
      /** Output tokens in the text that was relayed after the last reported count, estimated. */
      readonly relayedTokens: number
    }
  /**
   * A stream that nobody waits for any more, since its client left before the headers or this process
   * stops: the call was cancelled at the first word that says what was billed, or at the end of the time
   * to wait for one.
   */
  | { readonly kind: 'leftEarly'; readonly reported: Reported }

/** Where in the upstream's answer an attempt ended. */
export type AttemptStage = 'beforeHeaders' | 'afterHeaders'
