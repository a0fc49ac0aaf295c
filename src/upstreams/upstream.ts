import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { Pool } from 'undici'
import type { StreamEvent } from '../formats/format.ts'
import type { ProviderError } from '../formats/provider-error.ts'
import { parseUpstreamJson } from '../json/body.ts'
import type { JsonEdit } from '../json/edit.ts'
import type { JsonBody, JsonObject } from '../json/walk.ts'
import type { Call } from '../vocabulary/call.ts'
import type { Decimal, Picos } from '../vocabulary/money.ts'
import type { Offer, PriceTable } from '../vocabulary/offer.ts'
import type { Reported, TokenUsage } from '../vocabulary/outcome.ts'
import type { PublicNames, UpstreamNames } from '../vocabulary/public-names.ts'
import { Attempt, type AttemptObserver } from './attempt.ts'
import { BufferedRequest, type BufferedResponse, type ResponseBounds } from './buffered-request.ts'
import type { ListingSettings, ParsedCatalog } from './listing/listing.ts'

/** How one kind of provider is spoken to: one value, all of it in one folder of `src/upstreams/`. */
export interface Dialect {
  readonly names: UpstreamNames
  /** Who we are: headers of every request, name and value in turn. */
  headers(apiKey: string): readonly string[]
  /** How each format goes there, by the format's name. A format that is not here is not spoken there. */
  readonly wires: ReadonlyMap<string, Wire>
  /** All models and their prices. Rejects where no whole list can be read. */
  fetchModels(upstream: Upstream, settings: ListingSettings): Promise<ParsedCatalog>
  /** The dearest prices that a model may run at. Rejects where they can't be read. */
  fetchDearestPrices(
    upstream: Upstream,
    modelId: string,
    bounds: Omit<ResponseBounds, 'bytesMax'>,
  ): Promise<PriceTable>
  /** The dearest flat price of an image that a model makes; zero: it lists none; null: it can't be read. */
  fetchFlatImagePrice(upstream: Upstream, modelId: string): Promise<Picos | null>
  /** Looks up what was run. Never rejects. */
  fetchGeneration(upstream: Upstream, input: FetchGenerationInput): Promise<GenerationAnswer>
}

/** How the calls of one format go to one kind of provider, and what its answers say. */
export interface Wire {
  /** Below the upstream's base address. */
  readonly path: `/${string}`
  /** The spans of the client's own bytes that are replaced before they go upstream. */
  rewrites(input: RewriteInput): readonly JsonEdit[]
  /** The id to look an answer up by, where its headers have one. */
  generationIdOf(headers: IncomingHttpHeaders): string | null
  /** What a whole answer says of itself, its cost as the provider reports it. */
  readAnswer(answer: JsonBody): AnswerReading
  /** What an error's body says; null stands for no body that can be read, and for no status. */
  readError(root: JsonObject | null, httpStatus: number | null): ProviderError
  /** A fresh observer for one stream. */
  observeStream(): StreamObserver
}

/** What a rewrite is made from. */
export interface RewriteInput {
  readonly call: Call
  readonly body: JsonBody
  readonly offer: Offer
  /** The output cap to send; null: leave the body's own. */
  readonly outputCapTokens: number | null
  /** What `user` is replaced by on the endpoints that replace it. */
  readonly accountTag: string
  readonly publicNames: PublicNames
}

/** A whole answer: a success, or an error that came with status 200. */
export type AnswerReading =
  | { readonly kind: 'success'; readonly reported: Reported }
  | { readonly kind: 'error'; readonly error: ProviderError; readonly reported: Reported }

/**
 * Watches a stream's complete events as they pass and changes none.
 * `data` is the event's data in latin-1: one character a byte, enough for everything read here.
 */
export interface StreamObserver {
  onEvent(event: StreamEvent): StreamEventReading
  /** What has been reported so far. */
  reported(): Reported
  /** Output tokens in the text that has passed since the provider last counted its output, estimated. */
  relayedTokens(): number
}

/** What the relay does with an event. */
export type StreamEventReading =
  /** Relay it; more is to come. */
  | { readonly kind: 'relay' }
  /** Relay it; the answer is complete with it. */
  | { readonly kind: 'terminal' }
  /** An error: it is rebuilt without the provider's text. */
  | { readonly kind: 'error'; readonly error: ProviderError }
  /** An error that is the stream's last word: rebuilt, and the answer has failed with it. */
  | { readonly kind: 'terminalError'; readonly error: ProviderError }
  /** Keep it back: the stream has had its last word. */
  | { readonly kind: 'drop' }

/** What the upstream says of something that it ran. */
export type GenerationAnswer =
  | {
      readonly kind: 'found'
      /** In dollars, exactly as written. */
      readonly costUsd: Decimal
      /** As they are billed; null where the record has none. Cache writes and searches it does not tell. */
      readonly usage: TokenUsage | null
    }
  /** Not there, or not there yet, or without a cost. */
  | { readonly kind: 'unknown' }
  /** A record that names another generation, or none: of this one nothing is known. */
  | { readonly kind: 'otherGeneration' }
  /** Nothing can be looked up at this upstream. */
  | { readonly kind: 'noEndpoint' }
  /** No answer to the question, which is worth asking again. */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

export interface FetchGenerationInput {
  readonly generationId: string
  /** Gives the look-up up: it answers `unavailable`. */
  readonly signal?: AbortSignal
}

/** The upstream refuses our own account: its key is wrong, or its credit is used up. */
export class UpstreamRefusesAccount extends Error {
  override readonly name = 'UpstreamRefusesAccount'
}

interface UpstreamInput {
  readonly dialect: Dialect
  /** Base address of the provider's API, ending in `/v1`. */
  readonly baseUrl: string
  /** Our own account's key there; never logged, never relayed. */
  readonly apiKey: string
  /** How long a connection may take to open. */
  readonly connectTimeoutMs: number
}

/** One inference call, ready to be sent. */
export interface AttemptRequest {
  /** Below the base address: `/chat/completions`. */
  readonly path: string
  /** The format's own headers, name and value in turn; ours are added. */
  readonly headers: readonly string[]
  /** In parts, which are sent one after the other. */
  readonly body: readonly Buffer[]
  readonly deadlines: Deadlines
  /**
   * Called when the body was written in full and is dropped, unless the answer came before. Must not throw.
   * Default: nothing.
   */
  readonly onBodySent?: () => void
}

/** When an attempt has taken too long. */
export interface Deadlines {
  /** From the start until the answer's headers. */
  readonly headersTimeoutMs: number
  /** Between two pieces of the answer's body. */
  readonly stallTimeoutMs: number
  /** From the start until the end; null: none. */
  readonly totalTimeoutMs: number | null
}

// A body above this goes out in slices with back-pressure, so that "written in full" is known to be
// true within one slice and not only handed to the socket's buffer.
const BODY_SLICE_BYTES = 64 * 1024

/** The provider's API: one account, one origin, HTTP/1.1, one request a socket at a time. */
export class Upstream {
  readonly dialect: Dialect
  readonly #pool: Pool
  readonly #basePath: string
  readonly #ownHeaders: readonly string[]

  constructor({ dialect, baseUrl, apiKey, connectTimeoutMs }: UpstreamInput) {
    this.dialect = dialect
    const url = new URL(baseUrl)
    this.#basePath = url.pathname.replace(/\/$/, '')
    this.#pool = new Pool(url.origin, {
      allowH2: false,
      pipelining: 1,
      connections: null,
      connectTimeout: connectTimeoutMs,
      // The attempt keeps its own deadlines: undici's do not run while a stream is paused.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Idle sockets go before a server that keeps them for five seconds would close them: a request
      // written into a closing socket is neither sent nor not sent.
      keepAliveTimeout: 3_000,
    })
    this.#ownHeaders = [
      ...dialect.headers(apiKey),
      'content-type',
      'application/json',
      'accept-encoding',
      'identity',
    ]
  }

  /** Sends one inference call, once; it is never repeated. */
  forward(request: AttemptRequest, observer: AttemptObserver): Attempt {
    const attempt = new Attempt(observer, request)
    const length = request.body.reduce((bytes, part) => bytes + part.length, 0)
    const whole = length <= BODY_SLICE_BYTES
    this.#pool.dispatch(
      {
        method: 'POST',
        path: this.#basePath + request.path,
        headers: whole
          ? [...this.#ownHeaders, ...request.headers]
          : [...this.#ownHeaders, 'content-length', String(length), ...request.headers],
        body: whole
          ? Buffer.concat(request.body, length)
          : Readable.from(slices([...request.body]), { objectMode: false }),
        idempotent: false,
      },
      attempt,
    )
    return attempt
  }

  /**
   * Asks for a JSON document, such as the catalog. Rejects where there is no whole answer in time, or one
   * that is not JSON.
   */
  async getJson(
    pathAndQuery: string,
    bounds: ResponseBounds,
  ): Promise<{ readonly httpStatus: number; readonly json: unknown }> {
    const { httpStatus, bytes } = await this.getBytes(pathAndQuery, bounds)
    const json = parseUpstreamJson(bytes)
    if (json === undefined) {
      throw new Error(`the upstream answers ${httpStatus} with what is no JSON`)
    }
    return { httpStatus, json }
  }

  /** Asks for a document, as it was written. Rejects where there is no whole answer in time. */
  getBytes(pathAndQuery: string, bounds: ResponseBounds): Promise<BufferedResponse> {
    const request = new BufferedRequest(bounds)
    this.#pool.dispatch(
      { method: 'GET', path: this.#basePath + pathAndQuery, headers: [...this.#ownHeaders] },
      request,
    )
    return request.response
  }

  /** Waits for open calls, then closes the sockets. */
  async close(): Promise<void> {
    await this.#pool.close()
  }

  /** Closes the sockets at once; open calls end as lost. */
  async destroy(): Promise<void> {
    await this.#pool.destroy()
  }
}

// Lets go of each part: what is sent lives as long as the answer takes.
function* slices(unsent: Buffer[]): Generator<Buffer> {
  for (let part = unsent.shift(); part !== undefined; part = unsent.shift()) {
    for (let start = 0; start < part.length; start += BODY_SLICE_BYTES) {
      yield part.subarray(start, start + BODY_SLICE_BYTES)
    }
  }
}
