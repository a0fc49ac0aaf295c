import type { z } from 'zod'
import type { MeAnswer, StartAnswer } from '../../src/http/page/session-answers.ts'
import type { accountShape, creditShape } from '../../src/operations/accounts.ts'
import type { apiKeyShape, createdApiKeyShape } from '../../src/operations/api-keys.ts'
import type { entryShape } from '../../src/operations/credit.ts'
import type { balanceShape } from '../../src/operations/own-account.ts'
import type { requestShape } from '../../src/operations/requests.ts'

/** The answers of the API, as the server's own shapes have them: types alone. */

/** Money as the API writes it. */
type MicroDollars = number

/** What the page is before a sign-in. */
export type Start = StartAnswer

/** The signed-in user and the accounts that it may open. */
export type Me = MeAnswer

/** An account with its credit. */
export type Account = z.infer<typeof accountShape>

/** Requests, tokens and money of a range. */
export interface Figures {
  readonly requests: number
  readonly failed: number
  readonly charge: MicroDollars
  readonly input_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  readonly output_tokens: number
  readonly reasoning_tokens: number
  readonly first_byte_ms_p50: number | null
  readonly first_byte_ms_p95: number | null
}

/** What needs a look. */
export type Attention =
  | { readonly kind: 'no_credit' }
  | {
      readonly kind: 'key_limit'
      readonly key_id: string
      readonly name: string
      readonly credit_limit: number
      readonly remaining: number
      readonly days_left: number | null
    }
  | {
      readonly kind: 'key_expires'
      readonly key_id: string
      readonly name: string
      readonly expires_at: string
    }
  | {
      readonly kind: 'unresolved'
      readonly requests: number
      readonly held: number
      readonly next_release_at: string | null
    }
  | {
      readonly kind: 'free_credit_ends'
      readonly amount: MicroDollars
      readonly expires_at: string
    }
  | { readonly kind: 'credit_low'; readonly available: number; readonly days_left: number }

/** Credit, figures and spend of a range. */
export interface Overview {
  readonly object: 'overview'
  readonly account_id: string
  readonly from: string
  readonly to: string
  readonly step: 'day' | 'hour'
  readonly by: 'model' | 'key' | 'endpoint'
  readonly as_of: string
  readonly credit: z.infer<typeof creditShape> & {
    readonly available: number
    readonly has_backed_credit: boolean
    readonly held_running: { readonly requests: number; readonly amount: MicroDollars }
    readonly held_unresolved: {
      readonly requests: number
      readonly amount: MicroDollars
      readonly next_release_at: string | null
    }
    readonly days_left: number | null
  }
  readonly figures: Figures
  readonly before: Figures
  readonly spend: {
    readonly steps: readonly string[]
    readonly series: readonly {
      readonly id: string
      readonly name: string
      readonly charge: MicroDollars
      readonly charges: readonly number[]
    }[]
    readonly others: {
      readonly count: number
      readonly charge: MicroDollars
      readonly charges: readonly number[]
    } | null
  }
  readonly keys: readonly {
    readonly id: string
    readonly name: string
    readonly prefix: string
    readonly deleted: boolean
    readonly requests: number
    readonly failed: number
    readonly charge: MicroDollars
  }[]
  readonly attention: readonly Attention[]
  readonly history: { readonly complete: boolean; readonly rolled_until: string | null }
}

/** An API key without its text. */
export type ApiKey = z.infer<typeof apiKeyShape>

/** An API key that was just made, with its text. */
export type CreatedApiKey = z.infer<typeof createdApiKeyShape>

/** A request in Activity. */
export type ActivityRequest = z.infer<typeof requestShape> & { readonly ended_at: string | null }

/** A page of requests that were searched for. */
export interface FoundRequests extends Page<ActivityRequest> {
  /** Where little matches: the search ended here for now, and the cursor continues it. */
  readonly searched_back_to?: string | null
}

/** Counts and columns over Activity. */
export interface RequestSummary {
  readonly object: 'request_summary'
  readonly from: string
  readonly to: string
  readonly requests: number
  readonly failed: number
  readonly charge: MicroDollars
  readonly held: number
  readonly steps: readonly {
    readonly at: string
    readonly requests: number
    readonly failed: number
    readonly charge: MicroDollars
  }[]
}

/** A page of a list. */
export interface Page<T> {
  readonly data: readonly T[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

/** The purses of an account and what is unresolved. */
export type Balance = z.infer<typeof balanceShape>

/** A line of the ledger. */
export type Entry = z.infer<typeof entryShape>

/** A browser that a user is signed in with. */
export interface Session {
  readonly id: string
  readonly current: boolean
  readonly created_at: string
  readonly expires_at: string
  readonly last_used_at: string
  /** Null: it was not recorded. */
  readonly address: string | null
  readonly agent: string | null
}

/** A model of the catalog, as `GET /v1/models` has it. */
export interface Model {
  readonly id: string
  readonly name?: string
  readonly description?: string
  /** Not empty: the weights are open, and free credit pays for its texts. */
  readonly hugging_face_id?: string | null
  readonly context_length?: number | null
  readonly architecture?: {
    readonly input_modalities?: readonly string[]
    readonly output_modalities?: readonly string[]
  }
  /** Dollars for one token, search, image or request, as exact decimals. */
  readonly pricing?: Readonly<Record<string, string>>
}
