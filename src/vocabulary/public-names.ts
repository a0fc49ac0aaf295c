/** The names that differ between the interfaces of two deployments; all of them are settings. */
export interface PublicNames {
  /** Response header with a request's charge in micro-dollars. */
  readonly costHeader: string
  /** Prefix of the messages format's version, beta and rate-limit headers. */
  readonly compatPrefix: string
  /** The `<tag>` of `sk-<tag>-…` in every API key. */
  readonly keyTag: string
  /** How clients name the free file-parser engine. */
  readonly fileEngine: string
  /** The upstream's names for what clients may name too. */
  readonly upstream: UpstreamNames
}

/** The upstream's names for things that a client's body may ask for. */
export interface UpstreamNames {
  /** The free file-parser engine. */
  readonly fileEngine: string
  /** The prefix of the types of its own tools. */
  readonly toolPrefix: string
}

/** The names of the interface's own documentation. */
export const DEFAULT_PUBLIC_NAMES: Omit<PublicNames, 'upstream'> = {
  costHeader: 'x-service-cost',
  compatPrefix: 'compat',
  keyTag: 'tollgate',
  fileEngine: 'hosted-ai',
}
