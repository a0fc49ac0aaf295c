/** The words that differ between one deployment's interface and another's; all of them settings. */
export interface Words {
  /** Response header with a request's charge in micro-dollars. */
  readonly costHeader: string
  /** Prefix of the messages format's version, beta and rate-limit headers. */
  readonly compatPrefix: string
  /** The `<tag>` of `sk-<tag>-…` in every API key. */
  readonly keyTag: string
  /** How clients name the free file-parser engine. */
  readonly fileEngine: string
  /** What the upstream calls things that clients may name too. */
  readonly upstream: UpstreamWords
}

/** What an upstream calls what a client's body may ask for. */
export interface UpstreamWords {
  /** The free file-parser engine. */
  readonly fileEngine: string
  /** What the types of its own tools begin with. */
  readonly toolPrefix: string
}

/** The words of the interface's own documentation. */
export const DEFAULT_WORDS: Omit<Words, 'upstream'> = {
  costHeader: 'x-service-cost',
  compatPrefix: 'compat',
  keyTag: 'tollgate',
  fileEngine: 'hosted-ai',
}
