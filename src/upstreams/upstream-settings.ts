import type { Picos } from '../vocabulary/money.ts'
import type { ParsedCatalog } from './listing/listing.ts'

/** Fields that the gateway sets in chats, completions and embeddings, and that not every server takes. */
export const OWN_FIELDS = ['user', 'stream_options'] as const

/** The name of a field of {@link OWN_FIELDS}. */
export type OwnField = (typeof OWN_FIELDS)[number]

/** One upstream, as the operator has set it. */
export interface UpstreamSettings {
  /** How records, metrics and the log name it. */
  readonly name: string
  /** A name of `DIALECTS`. */
  readonly dialect: string
  /** Base address of the provider's API, without a slash at its end. */
  readonly baseUrl: string
  /** Our account's key; never logged, never relayed. Null: the server asks for none. */
  readonly apiKey: string | null
  /** The variable of the environment that has the key; null: there is no key. */
  readonly apiKeyVariable: string | null
  /** Headers of every request in addition to the dialect's own: name and value in turn. */
  readonly headers: readonly string[]
  /** The formats that may be sent to it, by name; null: the dialect's own. */
  readonly formats: readonly string[] | null
  /** Catalog ids, and `author/*`: other models are not offered. Null: all are. */
  readonly only: readonly string[] | null
  /** Catalog ids, and `author/*`, that are not offered. */
  readonly except: readonly string[]
  /** The models that are written in the settings. */
  readonly models: readonly WrittenModel[]
  /**
   * Fields that clients may send in addition to those that the dialect lists. The operator vouches for them:
   * `priority`, or `messages.partial`. Default: none.
   */
  readonly allowFields?: readonly string[]
  /** Whether a tag of the account is sent as `cache_salt`, so that accounts share no cached prompt. Default: no. */
  readonly saltsCache?: boolean
  /** Fields that the gateway would add, and this server refuses. Default: none. */
  readonly leavesOut?: readonly OwnField[]
  /** The most calls at once; null: no limit. */
  readonly inFlightMax: number | null
  /** Whether streams that their clients have left are read on, where the dialect's servers stop such calls. */
  readonly readOn: boolean
  readonly timeouts: UpstreamTimeouts
}

/** An upstream as far as it lists models, with the formats in which it answers them. */
export interface Claimant extends Pick<UpstreamSettings, 'name' | 'models'> {
  /** The endpoints of the formats in which it answers. */
  readonly formats: ReadonlySet<string>
}

/** The time limits of one upstream. */
export interface UpstreamTimeouts {
  /** The time for a connection to open. */
  readonly connectTimeoutMs: number
  /** The time from the start of a call until the answer's headers. */
  readonly headersTimeoutMs: number
  /** The longest time between two pieces of an answer's body. */
  readonly stallTimeoutMs: number
  /** The time for a whole answer. A stream has no such limit. */
  readonly totalTimeoutMs: number
  /** The time for an image, from the forwarding of its request to its end, streamed or not. */
  readonly imageTimeoutMs: number
  /** From the headers of a stream whose client has left until the call is cancelled. */
  readonly readOnTimeoutMs: number
  /** How long a call waits for a place of `inFlightMax`. */
  readonly queueTimeoutMs: number
}

/** A model that is written in the settings: its figures outrank those of any list. Null: not written. */
export interface WrittenModel {
  /** The catalog id, which clients name. */
  readonly id: string
  /** The id that the upstream knows it by. */
  readonly upstreamModelId: string
  readonly contextTokens: number | null
  readonly outputTokensMax: number | null
  /** The field of the same name of {@link Offer}. */
  readonly uncappedThinkingTokens?: number
  readonly prices: WrittenPrices | null
  /** Prices of longer prompts, in addition to `prices`. Left out: there are none. */
  readonly longPrompts?: readonly WrittenLongPrompt[]
  readonly inputModalities: readonly string[] | null
  readonly outputModalities: readonly string[] | null
  readonly supportedParameters: readonly string[] | null
  readonly openWeights: boolean | null
}

/** Prices in pico-dollars: of a token, and of each search and request. */
export type WrittenPrices = Readonly<Partial<Record<WrittenPriceName, Picos>>>

/** The prices that the settings can name. Images have none: answers count them as input tokens. */
export type WrittenPriceName =
  | 'input'
  | 'output'
  | 'cacheRead'
  | 'cacheWrite'
  | 'cacheWriteLong'
  | 'reasoning'
  | 'search'
  | 'request'

/** Prices of prompts of more tokens than this, their answers included. */
export interface WrittenLongPrompt {
  readonly inputTokensAbove: number
  /** Prices of tokens. */
  readonly prices: WrittenPrices
}

/** Every upstream of a gateway. */
export interface ConfiguredUpstreams {
  /** `simulator`: play money, in a store of its own. */
  readonly mode: 'simulator' | 'live'
  /** In the order in which they take ids that several of them list. */
  readonly upstreams: readonly [UpstreamSettings, ...UpstreamSettings[]]
  /** Further names of models: name → catalog id. */
  readonly aliases: ReadonlyMap<string, string>
}

/** Chooses the models of an upstream that are offered. */
export type Narrowing = Pick<UpstreamSettings, 'only' | 'except'>

/** The list without the models that are not offered. */
export function narrowed(parsed: ParsedCatalog, { only, except }: Narrowing): ParsedCatalog {
  if (only === null && except.length === 0) return parsed
  const isOffered = offeredBy({ only, except })
  return {
    models: parsed.models.filter(({ offer }) => isOffered(offer.modelId)),
    unreadableIds: new Set([...parsed.unreadableIds].filter(isOffered)),
    skipped: parsed.skipped.filter(({ modelId }) => modelId === null || isOffered(modelId)),
  }
}

/** Whether a catalog id is offered. */
export function offeredBy({ only, except }: Narrowing): (modelId: string) => boolean {
  const isIn = only === null ? () => true : matcher(only)
  const isOut = matcher(except)
  return (modelId) => isIn(modelId) && !isOut(modelId)
}

const ALL_OF_AUTHOR = '/*'

function matcher(patterns: readonly string[]): (modelId: string) => boolean {
  const exact = new Set(patterns)
  return (modelId) => {
    const author = modelId.slice(0, modelId.indexOf('/'))
    return exact.has(modelId) || exact.has(`${author}${ALL_OF_AUTHOR}`)
  }
}
