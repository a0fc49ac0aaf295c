import type { AccountRow, ApiKeyRow, CreditCodeRow, Entry } from '../store/schema.ts'
import type { Micros, Purse } from '../vocabulary/money.ts'
import type { Correction, RequestFacts, RequestState, Resolution } from '../vocabulary/outcome.ts'
import type { ProblemCode } from '../vocabulary/problem.ts'

/**
 * Holds and the money behind them. Every command is durable before its promise resolves, takes an id
 * made by the caller, and returns the first result when it is repeated.
 */
export interface HoldLedger {
  /** Grants a hold, or says why not. Rejects only if the store failed (`StoreUnavailable`). */
  openHold(input: OpenHoldInput): Promise<OpenHoldVerdict>
  /**
   * Ends a hold's open state, once; a second settle returns the result of the first. Called only after the
   * hold's `openHold` has resolved. Rejects with `StoreRefused` if no such hold was opened.
   */
  settle(input: SettleInput): Promise<Settled>
  /**
   * Makes an open hold unresolved before its attempt has ended: its place in flight is free, its credit stays held, and
   * the settle of the attempt still counts. A hold that has ended stays as it is.
   */
  abandon(requestId: string): Promise<void>
  /** Notes a generation id on an open hold, so that a crash can still be looked up. Not awaited. */
  noteGeneration(input: { readonly requestId: string; readonly generationId: string }): void
}

export interface OpenHoldInput {
  readonly requestId: string
  readonly accountId: string
  readonly apiKeyId: string
  readonly instanceId: string
  /** The name of the format of the request. */
  readonly endpoint: string
  /** The name of the upstream that the request is sent to. */
  readonly upstream: string
  readonly modelId: string
  readonly stream: boolean
  /** The most that the whole request can cost. */
  readonly neededMicros: Micros
  /** The least credit that it can run on if its output cap may be lowered; else equal to `neededMicros`. */
  readonly leastMicros: Micros
  /** Whether free credit may pay for the request. */
  readonly freeCreditQualifies: boolean
  /** Messages: a request that free credit alone pays for runs on the available credit, even below `leastMicros`. */
  readonly freeCreditAloneRunsOnLess: boolean
  /** The most tokens that it can use, by its estimate: limits of tokens count these until it is settled. */
  readonly tokens: number
  readonly priceSnapshotId: string
  /** Default null: none. */
  readonly tags?: readonly string[] | null
  /** The platform fee on its cost, in hundredths of a percent: stored, and in every charge of it. */
  readonly feeBasisPoints: number
}

/** The grant of a hold, or the reason for its refusal. */
export type OpenHoldVerdict =
  | {
      readonly kind: 'opened'
      readonly grantedMicros: Micros
      readonly backedMicros: Micros
      readonly freeMicros: Micros
      /** Whether an earlier call had opened the hold already. */
      readonly isRepeat: boolean
    }
  | { readonly kind: 'refused'; readonly code: HoldRefusalCode; readonly facts: HoldRefusalFacts }

/** The reason that a hold was refused: the code that the client gets. */
export type HoldRefusalCode = Extract<
  ProblemCode,
  | 'invalid_api_key'
  | 'account_suspended'
  | 'api_key_disabled'
  | 'api_key_expired'
  | 'insufficient_credit'
  | 'key_limit_reached'
  | 'free_credit_not_eligible'
  | 'rate_limited'
  | 'too_many_concurrent_requests'
>

/** The figures in a refusal's message. */
export interface HoldRefusalFacts {
  readonly neededMicros: Micros
  /** The available credit of the purses that may pay, or the rest of the key's limit. */
  readonly availableMicros: Micros
  /** The largest hold that every credit, limit and allowance would take. */
  readonly fittingMicros: Micros
  /** The credit that other requests of the account (or key) hold. */
  readonly heldMicros: Micros
  /** On `rate_limited`: when enough has left the window; null: the request alone is above the limit. */
  readonly retryAfterSeconds: number | null
  /** The limit that refuses, if it is one of a minute, of requests in flight or of a period. */
  readonly reached: ReachedLimit | null
}

/** A limit that refuses a request, and whether the key or the account has it. */
export type ReachedLimit =
  | { readonly kind: 'inFlight'; readonly of: LimitOwner; readonly max: number }
  | { readonly kind: 'requestsPerMinute'; readonly of: LimitOwner; readonly max: number }
  | {
      readonly kind: 'tokensPerMinute'
      readonly of: LimitOwner
      readonly max: number
      /** The most tokens that the request can use. */
      readonly tokens: number
    }
  | {
      readonly kind: 'allowance'
      readonly of: LimitOwner
      readonly allowance: NonNullable<AccountRow['allowance']>
      readonly resetsAtMs: number
    }

/** The owner of a limit: one API key, or its account. */
export type LimitOwner = 'apiKey' | 'account'

export interface SettleInput {
  readonly requestId: string
  readonly resolution: Resolution
  readonly facts: RequestFacts
}

/** The result of a settle, or of an earlier settle of the same hold. */
export interface Settled {
  readonly state: RequestState
  readonly chargedMicros: Micros
  /** The charge beyond the hold: a sizing bug on text, expected on images. */
  readonly overrunMicros: Micros
  /** False if the hold was settled before: this call changed nothing. */
  readonly settledNow: boolean
}

/** The models that an account or a key may use. */
interface ModelListsInput {
  /** The only models that may be used: IDs of the catalog, and `author/*`; null: every model. */
  readonly modelsAllow?: readonly string[] | null
  /** Models that may not be used, even if `modelsAllow` names them; null: none. */
  readonly modelsDeny?: readonly string[] | null
}

/**
 * The limits of an account or a key that are numbers: the name of each for clients, commands and records, and the field
 * of rows that has it.
 */
export const OWN_LIMITS = [
  { name: 'requests_per_minute', field: 'requestsPerMinuteMax' },
  { name: 'in_flight', field: 'inFlightMax' },
  { name: 'tokens_per_minute', field: 'tokensPerMinuteMax' },
] as const satisfies readonly { readonly name: string; readonly field: keyof AccountRow }[]

/** A limit of {@link OWN_LIMITS}. */
export type OwnLimit = (typeof OWN_LIMITS)[number]

/** The own limits of an account or a key; null: none, or that of the deployment ({@link LedgerLimits}). */
export type OwnLimits = Pick<AccountRow, 'allowance' | OwnLimit['field']>

/** A value for each limit, by the limits' names. */
export function byLimit<Value>(make: (limit: OwnLimit) => Value): {
  readonly [Name in OwnLimit['name']]: Value
} {
  // `fromEntries` loses the type of the keys.
  return Object.fromEntries(OWN_LIMITS.map((limit) => [limit.name, make(limit)])) as {
    readonly [Name in OwnLimit['name']]: Value
  }
}

/** Notes of another system on an account. */
interface ExternalInput {
  /** The ID of the account in another system, unique among accounts; null: none. */
  readonly externalId?: string | null
  /** Texts by their names, as JSON; null: none. */
  readonly metadataJson?: string | null
  /** The buyer on receipts, as JSON; null: the account and its email address. */
  readonly billingJson?: string | null
}

/** The account after a change; null: there is none. Nothing changes if another account has the external ID. */
export type UpdateAccountVerdict = AccountRow | 'externalIdTaken' | null

export interface CreateAccountInput extends ModelListsInput, ExternalInput, Partial<OwnLimits> {
  /** An id of the prefix `acct`. */
  readonly id: string
  readonly name: string
  /** Default null. */
  readonly email?: string | null
  /** The user of the page who owns it from its first moment. Default null: it has no member. */
  readonly ownerId?: string | null
  /** The platform fee, in hundredths of a percent. Default null: that of the model. */
  readonly feeBasisPoints?: number | null
  /** The paid credit below which webhooks report low credit. Default null: $5. */
  readonly lowBalanceMicros?: Micros | null
}

export interface UpdateAccountInput extends ModelListsInput, ExternalInput, Partial<OwnLimits> {
  readonly id: string
  readonly name?: string
  readonly email?: string | null
  /** The keys of a disabled account answer `account_suspended`. */
  readonly disabled?: boolean
  /** The reason that members of a disabled account can read; null: none. */
  readonly disabledNote?: string | null
  /** The platform fee of requests from now on, in hundredths of a percent; null: that of the model. */
  readonly feeBasisPoints?: number | null
  /** Null: the default. */
  readonly lowBalanceMicros?: Micros | null
}

export interface AddApiKeyInput
  extends Pick<ApiKeyRow, 'accountId' | 'name' | 'keyHash' | 'displayPrefix'>,
    ModelListsInput,
    Pick<ExternalInput, 'metadataJson'>,
    Partial<OwnLimits> {
  /** An id of the prefix `key`. */
  readonly id: string
  /** Default null: no limit. */
  readonly creditLimitMicros?: Micros | null
  /** Default null: never. */
  readonly expiresAtMs?: number | null
  /** The most keys that the account may then have, and that may be made in it in 24 hours. Default null: no limit. */
  readonly keysMax?: number | null
}

/**
 * The new key; null: no such account. Nothing is made if the account has the most keys already, or so many were made in
 * it in the last 24 hours, deleted ones too.
 */
export type AddApiKeyVerdict = ApiKeyRow | 'tooManyKeys' | 'tooManyNewKeys' | null

export interface UpdateApiKeyInput
  extends ModelListsInput,
    Pick<ExternalInput, 'metadataJson'>,
    Partial<OwnLimits> {
  readonly id: string
  readonly name?: string
  readonly disabled?: boolean
  /** Null: no limit. */
  readonly creditLimitMicros?: Micros | null
  /** Null: never. */
  readonly expiresAtMs?: number | null
}

export interface RotateApiKeyInput extends Pick<ApiKeyRow, 'keyHash' | 'displayPrefix'> {
  readonly id: string
  /** How long the previous text still works; 0: it is refused at once. */
  readonly graceMs: number
}

export interface AddCreditCodeInput extends Pick<CreditCodeRow, 'codeHash' | 'displaySuffix'> {
  /** An id of the prefix `code`. */
  readonly id: string
  /** Above zero. */
  readonly amountMicros: Micros
  /** Null: never. */
  readonly expiresAtMs: number | null
}

export interface SettleStandingInput {
  readonly requestIds: readonly string[]
  readonly to: 'final' | 'lookUp'
}

export interface CorrectInput {
  readonly requestId: string
  readonly correction: Correction
}

/** The result of a correction. */
export type Corrected =
  | {
      readonly kind: 'corrected'
      readonly state: RequestState
      readonly chargedMicros: Micros
      /** The change of the account's charge. */
      readonly differenceMicros: Micros
      readonly overrunMicros: Micros
    }
  /** Nothing changed: the request is settled, or in a state that this correction does not apply to. */
  | { readonly kind: 'unchanged'; readonly state: RequestState; readonly chargedMicros: Micros }
  | { readonly kind: 'unknownRequest' }

export interface AddCreditInput {
  readonly accountId: string
  readonly purse: Purse
  /** Not zero. Negative for paid credit only: a chargeback, which may leave a negative balance. */
  readonly amountMicros: Micros
  /** The expiry of free credit, in the future; null for paid credit, which does not expire. */
  readonly expiresAtMs: number | null
  /** The caller's id of this credit, unique for the account. */
  readonly reference: string
}

/** The result of adding credit. */
export type CreditVerdict =
  | { readonly kind: 'added'; readonly entry: Entry }
  /** The reference was used for the same credit before; nothing was added. */
  | { readonly kind: 'exists'; readonly entry: Entry }
  /** The reference was used for other credit before; nothing was added. */
  | { readonly kind: 'conflict'; readonly entry: Entry }
  /** Nothing was added: the free credit has expired, perhaps while the command waited. */
  | { readonly kind: 'expired' }
  | BeyondBalance
  | { readonly kind: 'unknownAccount' }

/** Nothing was added or removed: the account would have more credit, or owe more, than any can. */
export interface BeyondBalance {
  readonly kind: 'beyondBalance'
  readonly change: 'added' | 'removed'
  /** The most that can be added, or removed, now. */
  readonly mostMicros: Micros
}

export interface RedeemCodeInput {
  readonly accountId: string
  /** The hash of the code's text; see {@link hashCreditCode}. */
  readonly codeHash: string
}

/** The result of redeeming a code. */
export type RedeemVerdict =
  | { readonly kind: 'redeemed'; readonly entry: Entry }
  /** This account redeemed the code before; nothing was added. */
  | { readonly kind: 'exists'; readonly entry: Entry }
  /** Nothing was added: another account redeemed the code, or the code can't be redeemed. */
  | BeyondBalance
  | { readonly kind: 'used' | 'expired' | 'revoked' | 'unknownCode' | 'unknownAccount' }

/** The limits of accounts and keys that have none of their own. The ledger keeps all exactly, over all instances. */
export interface LedgerLimits {
  /** Requests that a key can have in flight at once. */
  readonly openHoldsMax: number
  /** Admitted requests of a key in 60 seconds. */
  readonly keyRequestsPerMinuteMax: number
  /** Admitted requests in 60 seconds, over the keys of an account that never had paid credit. */
  readonly unbackedAccountRequestsPerMinuteMax: number
}

/** The default limits. */
export const LEDGER_LIMITS_DEFAULT: LedgerLimits = {
  openHoldsMax: 8,
  keyRequestsPerMinuteMax: 300,
  unbackedAccountRequestsPerMinuteMax: 20,
}
