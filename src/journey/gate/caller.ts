import type { ModelAccess } from './model-access.ts'

/** The sender of a request: an account, by one of its keys. */
export interface Caller {
  readonly accountId: string
  readonly apiKeyId: string
  /** Whether paid credit was ever added to the account. */
  readonly hasBackedCredit: boolean
  /** The account's platform fee, in hundredths of a percent; null: the model's fee. */
  readonly feeBasisPoints: number | null
  /** Null: it may use every model. */
  readonly models: ModelAccess | null
  /** The own limits of the key and the account; left out: neither has any. */
  readonly ownLimits?: CallerLimits
}

/** Limits of a key and of its account; null: the deployment's limit. */
export interface CallerLimits {
  readonly keyRequestsPerMinuteMax: number | null
  readonly keyInFlightMax: number | null
  readonly accountRequestsPerMinuteMax: number | null
  readonly accountInFlightMax: number | null
}

/** An API key that has changed, or an account with all of its keys. */
export type ChangedCallers = { readonly apiKeyId: string } | { readonly accountId: string }
