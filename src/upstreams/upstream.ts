import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import buildConnector from 'undici/lib/core/connect.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import type { StreamEvent, WireFormat } from '../formats/format.ts'
import { type ProviderError, type RefusedFor, refusedForOf } from '../formats/provider-error.ts'
import { parseUpstreamJson } from '../json/body.ts'
import type { JsonEdit } from '../json/edit.ts'
import type { JsonBody, JsonObject, JsonValue } from '../json/walk.ts'
import type { Call } from '../vocabulary/call.ts'
import type { FairQueue } from '../vocabulary/fair-queue.ts'
import type { Decimal, Picos } from '../vocabulary/money.ts'
import type { Offer, PriceTable } from '../vocabulary/offer.ts'
import type { Reported, TokenUsage } from '../vocabulary/outcome.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { Attempt, type AttemptObserver, type AttemptRequest } from './attempt.ts'
import { BufferedRequest, type BufferedResponse, type ResponseBounds } from './buffered-request.ts'
import type { FieldTable, VouchedFields } from './fields.ts'
import { openInFlight } from './in-flight.ts'
import type { ListingSettings, ParsedCatalog } from './listing/listing.ts'
import { sharedLookup } from './shared-lookup.ts'
import { ignoringContinue } from './unasked-continue.ts'
import type { Claimant, OwnField, UpstreamSettings } from './upstream-settings.ts'

/** The highest prices and the largest window of a model at any of its providers. */
export interface HighestTerms {
  /** For each kind of price, the highest. */
  readonly prices: PriceTable
  /** The largest window that one of them lists; null: none does. */
  readonly contextTokens: number | null
}

/** How one kind of provider is spoken to: one value, all of it in one folder of `src/upstreams/`. */
export interface Dialect {
  /** The address of the vendor's own API; null: the settings must have one. */
  readonly baseUrl: string | null
  /**
   * Whether the provider runs, and bills, a call to its end once the call was begun, even if the connection closes. If
   * not, an upstream may still do so: its settings say.
   */
  readonly billsLeftCalls: boolean
  /**
   * Whether its ids are catalog ids, `author/name`. If not, a catalog id is the upstream's name, a slash and the
   * upstream's id.
   */
  readonly hasCatalogIds: boolean
  /** Whether it parses files for models that do not read them. */
  readonly parsesFiles: boolean
  /** Headers of every request, with our credentials: name and value in turn. Null: no key is set. */
  headers(apiKey: string | null): readonly string[]
  /** The wire of each supported format, by the format's name. */
  readonly wires: ReadonlyMap<string, Wire>
  /** The formats of an upstream whose settings name none; null: all that have a wire. */
  readonly usualFormats: readonly string[] | null
  /** The formats that the vendor itself runs a model in. Null: all; left out: all of every model. */
  readonly formatsOf?: (upstreamModelId: string) => readonly string[] | null
  /** All models and their prices. Rejects if no complete list can be read. */
  readonly fetchModels: (upstream: Upstream, settings: ListingSettings) => Promise<ParsedCatalog>
  /** The highest terms that a model may run at. Rejects if they can't be read. Null: a model has one price. */
  readonly fetchHighestTerms:
    | ((
        upstream: Upstream,
        modelId: string,
        bounds: Omit<ResponseBounds, 'bytesMax'>,
      ) => Promise<HighestTerms>)
    | null
  /**
   * The highest flat price of an image that a model makes; zero: it lists none; null: it can't be read. Null in
   * place of the function: no model has one.
   */
  readonly fetchFlatImagePrice:
    | ((upstream: Upstream, modelId: string) => Promise<Picos | null>)
    | null
  /** Looks up the record of a generation. Never rejects. Null: the provider has no look-ups. */
  readonly fetchGeneration:
    | ((upstream: Upstream, input: FetchGenerationInput) => Promise<GenerationAnswer>)
    | null
  /** Reads the usage and the remaining limit of our key. Never rejects. Null: the provider does not report it. */
  readonly fetchKeyUsage: ((upstream: Upstream) => Promise<KeyUsageAnswer>) | null
}

/** How the calls of one format are sent to one kind of provider, and how its answers are read. */
export interface Wire {
  /** The path below the upstream's base address. */
  readonly path: `/${string}`
  /** The only fields that a body may have; left out: every field is sent. */
  readonly fields?: FieldTable
  /** Headers in place of those of the format that the client did not send, by names in lower case. Default: none. */
  readonly usualHeaders?: Readonly<Record<string, string>>
  /**
   * Throws Problem for a call that this kind of provider would bill in a way that the gateway can't follow, or would
   * not run. Default: nothing is refused.
   */
  refuse?(input: Pick<RewriteInput, 'call' | 'body' | 'offer' | 'vouched'>): void
  /** The spans of the client's body that are replaced before it goes upstream. */
  rewrites(input: RewriteInput): readonly JsonEdit[]
  /** The answer's generation id, by which it can be looked up; null if its headers have none. */
  generationIdOf(headers: IncomingHttpHeaders): string | null
  /** Reads a whole answer: its usage, its cost as the provider reports it, its error. */
  readAnswer(answer: JsonBody): AnswerReading
  /** Reads the body of an error; null for an unreadable body, and for no status. */
  readError(root: JsonObject | null, httpStatus: number | null): ProviderError
  /** A fresh observer for the stream of a call. */
  observeStream(call: Pick<Call, 'asksForUsage'>): StreamObserver
}

/** The data that rewrites are made from. */
export interface RewriteInput {
  readonly call: Call
  readonly body: JsonBody
  readonly offer: Offer
  /** The output cap to send; null: leave the body's own. */
  readonly outputCapTokens: number | null
  /** The value of `user` on endpoints that replace it. */
  readonly accountTag: string
  readonly publicNames: PublicNames
  /** Fields that pass although no row of the dialect lists them. Default: none. */
  readonly vouched?: VouchedFields
  /** Whether the account's tag keeps its prompts apart in the server's cache. Default: no. */
  readonly saltsCache?: boolean
  /** Fields of the gateway's own that the server refuses, and gets from no client either. Default: none. */
  readonly leavesOut?: ReadonlySet<OwnField>
}

/** A whole answer: a success, or an error with status 200. */
export type AnswerReading =
  | { readonly kind: 'success'; readonly reported: Reported }
  | { readonly kind: 'error'; readonly error: ProviderError; readonly reported: Reported }

/**
 * Reads a stream's complete events as they pass, and changes none. `data` is in latin-1, one character for each
 * byte, which is enough for everything that is read from it.
 */
export interface StreamObserver {
  onEvent(event: StreamEvent): StreamEventReading
  /**
   * Takes events that are relayed unchanged, without parsing them: from `start`, one after the other, each that
   * differs from an earlier event only in its text. The end of the last one; `start` if there is none.
   */
  takeAlike(chunk: Buffer, start: number): number
  /** The report of all events so far. */
  reported(): Reported
  /** Estimated output tokens of the text since the provider's last count. */
  relayedTokens(): number
  /** Estimated output tokens of all text so far. */
  textTokens(): number
}

/** The reading of an event, which decides how the relay handles it. */
export type StreamEventReading =
  /** Relay it; the answer continues. */
  | { readonly kind: 'relay' }
  /** Relay this data, in latin-1, in its place; the answer continues. Only for events without names. */
  | { readonly kind: 'replaced'; readonly data: string }
  /** Relay it; the answer is complete with it. */
  | { readonly kind: 'terminal' }
  /** An error, which is rebuilt without the provider's text. */
  | { readonly kind: 'error'; readonly error: ProviderError }
  /** An error that ends the answer; it is rebuilt too. */
  | { readonly kind: 'terminalError'; readonly error: ProviderError }
  /** Drop it: it comes after the terminal event. */
  | { readonly kind: 'drop' }

/** The result of a look-up. */
export type GenerationAnswer =
  | {
      readonly kind: 'found'
      /** In dollars, exactly as sent. */
      readonly costUsd: Decimal
      /** As billed, without cache writes and searches; null if the record has no counts. */
      readonly usage: TokenUsage | null
    }
  /** The record does not exist, or not yet, or has no cost. */
  | { readonly kind: 'unknown' }
  /** The record is that of another generation. */
  | { readonly kind: 'otherGeneration' }
  /** The upstream has no look-ups. */
  | { readonly kind: 'noEndpoint' }
  /** No answer; worth another try. */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

/** The usage of our key so far. */
export type KeyUsageAnswer =
  | {
      readonly kind: 'found'
      /** In dollars since the key was made, exactly as sent. */
      readonly usageUsd: Decimal
      /** The rest of the key's limit, in dollars; null: it has no limit, or the upstream does not report it. */
      readonly leftUsd: Decimal | null
    }
  /** The upstream does not know the key, does not allow it, or has no credit behind it. */
  | { readonly kind: 'refused'; readonly cause: UpstreamRefusesAccount }
  /** The upstream has no such figure. */
  | { readonly kind: 'noFigure' }
  /** No answer; worth another try. */
  | { readonly kind: 'unavailable'; readonly cause: unknown }

export interface FetchGenerationInput {
  readonly generationId: string
  /** Aborts the look-up, which then is `unavailable`. */
  readonly signal?: AbortSignal
}

/** The upstream refuses our account: the key is wrong, or the credit is used up. */
export class UpstreamRefusesAccount extends Error {
  override readonly name = 'UpstreamRefusesAccount'
  readonly refusedFor: RefusedFor

  constructor(httpStatus: number) {
    super(`the upstream answers ${httpStatus}: ${REFUSALS[httpStatus] ?? UNKNOWN_KEY}`)
    this.refusedFor = refusedForOf(httpStatus)
  }
}

const UNKNOWN_KEY = 'it does not know the API key'
const REFUSALS: Readonly<Record<number, string>> = {
  402: "the provider's account has no credit left",
  403: 'the provider does not allow this key',
}

/** Headers of a fetched document. */
interface FetchHeaders {
  /** Headers in addition to those of every request: name and value in turn. Default: none. */
  readonly headers?: readonly string[]
}

// A larger body goes out in slices with back-pressure, so that "written in full" is true to within one slice,
// and does not only mean "in the socket's buffer".
const BODY_SLICE_BYTES = 64 * 1024

// Of all upstreams: the system's threads are those of the process.
const lookup = sharedLookup()

/** The formats that may be sent to an upstream. By position: those of its settings, if they name any; its dialect. */
export function answeredFormats(
  formats: UpstreamSettings['formats'],
  { usualFormats, wires }: Dialect,
): ReadonlySet<string> {
  return new Set(formats ?? usualFormats ?? wires.keys())
}

/** A provider's API: one account, one origin, HTTP/1.1, one request a socket at a time. */
export class Upstream {
  readonly settings: UpstreamSettings
  readonly dialect: Dialect
  /** The wire of each format that may be sent to it, by the format's name. */
  readonly wires: ReadonlyMap<string, Wire>
  /** The calls that it may have at once; null: no limit. */
  readonly inFlight: FairQueue | null
  /** Whether a stream that its client has left is read on, since it is billed anyway; if not, it is cancelled. */
  readonly readsOn: boolean
  /** How its operator has bodies checked and rewritten. */
  readonly bodyRules: Required<Pick<RewriteInput, 'vouched' | 'saltsCache' | 'leavesOut'>>
  readonly #pool: Pool
  readonly #basePath: string
  readonly #ownHeaders: readonly string[]

  /** By position: its settings, and its dialect. */
  constructor(settings: UpstreamSettings, dialect: Dialect) {
    this.settings = settings
    this.dialect = dialect
    const formats = answeredFormats(settings.formats, dialect)
    this.wires = new Map([...dialect.wires].filter(([format]) => formats.has(format)))
    this.readsOn = dialect.billsLeftCalls || settings.readOn
    const { inFlightMax, timeouts } = settings
    const { queueTimeoutMs } = timeouts
    const { allowFields = [], leavesOut = [], saltsCache = false } = settings
    this.bodyRules = {
      vouched: new Set(allowFields),
      leavesOut: new Set(leavesOut),
      saltsCache,
    }
    this.inFlight = inFlightMax === null ? null : openInFlight({ inFlightMax, queueTimeoutMs })
    const url = new URL(settings.baseUrl)
    this.#basePath = url.pathname.replace(/\/$/, '')
    this.#pool = new Pool(url.origin, {
      allowH2: false,
      pipelining: 1,
      connections: null,
      connect: ignoringContinue(
        buildConnector({ allowH2: false, timeout: timeouts.connectTimeoutMs, lookup }),
      ),
      // The attempt has its own deadlines: undici's do not run while a stream is paused.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Idle sockets are closed before a server with a limit of five seconds closes them: of a request that is
      // written into a closing socket, nothing shows whether it was received.
      keepAliveTimeout: 3_000,
    })
    this.#ownHeaders = [
      ...dialect.headers(settings.apiKey),
      ...settings.headers,
      'content-type',
      'application/json',
      'accept-encoding',
      'identity',
    ]
  }

  /** The models that it may list, and in which formats. */
  get claimant(): Claimant {
    return {
      name: this.settings.name,
      models: this.settings.models,
      formats: new Set(this.wires.keys()),
    }
  }

  /** The formats in which it answers a model. By position: the model, and the formats that clients may use. */
  endpointsOf(offer: Offer, formats: readonly WireFormat[]): readonly string[] {
    if (offer.billsPerSearch) return []
    const run = this.dialect.formatsOf?.(offer.upstreamModelId) ?? null
    return formats
      .filter(
        (format) =>
          this.wires.has(format.endpoint) &&
          format.fitsOutputs(offer.outputModalities) &&
          (run === null || run.includes(format.endpoint)),
      )
      .map(({ endpoint }) => endpoint)
  }

  /** Sends one inference call. It is never repeated. */
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
   * Fetches a JSON document, such as the catalog. Rejects if a 200 is not JSON, or the answer not complete within the
   * bounds. Any other status counts without a JSON body too: `json` is then undefined.
   */
  async getJson(
    pathAndQuery: string,
    bounds: ResponseBounds & FetchHeaders,
  ): Promise<{ readonly httpStatus: number; readonly json: JsonValue | undefined }> {
    const { httpStatus, bytes } = await this.getBytes(pathAndQuery, bounds)
    const json = parseUpstreamJson(bytes)
    if (json === undefined && httpStatus === 200) {
      throw new Error(`the upstream answers ${httpStatus} with a body that is not JSON`)
    }
    return { httpStatus, json }
  }

  /** Fetches a document's bytes. Rejects if the answer is not complete within the bounds. */
  getBytes(
    pathAndQuery: string,
    { headers = [], ...bounds }: ResponseBounds & FetchHeaders,
  ): Promise<BufferedResponse> {
    const request = new BufferedRequest(bounds)
    this.#pool.dispatch(
      {
        method: 'GET',
        path: this.#basePath + pathAndQuery,
        headers: [...this.#ownHeaders, ...headers],
      },
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

// Drops each part once it is sent: this generator lives as long as the answer takes.
function* slices(unsent: Buffer[]): Generator<Buffer> {
  for (let part = unsent.shift(); part !== undefined; part = unsent.shift()) {
    for (let start = 0; start < part.length; start += BODY_SLICE_BYTES) {
      yield part.subarray(start, start + BODY_SLICE_BYTES)
    }
  }
}
