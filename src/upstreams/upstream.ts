import { Readable } from 'node:stream'
import Pool from 'undici/lib/dispatcher/pool.js'
import type { WireFormat } from '../formats/format.ts'
import { parseUpstreamJson } from '../json/body.ts'
import type { JsonValue } from '../json/walk.ts'
import { FairQueue } from '../vocabulary/fair-queue.ts'
import type { Picos } from '../vocabulary/money.ts'
import type { Offer, PriceTable } from '../vocabulary/offer.ts'
import { Problem } from '../vocabulary/problem.ts'
import { Attempt, type AttemptObserver, type AttemptRequest } from './attempt.ts'
import { BufferedRequest, type BufferedResponse, type ResponseBounds } from './buffered-request.ts'
import { connectorWithin } from './connector.ts'
import type { ListingSettings, ParsedCatalog } from './listing/listing.ts'
import type { FetchGenerationInput, GenerationAnswer, KeyUsageAnswer } from './provider-records.ts'
import type { Claimant, UpstreamSettings } from './upstream-settings.ts'
import type { RewriteInput, Wire } from './wire.ts'

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

/** Headers of a fetched document. */
interface FetchHeaders {
  /** Headers in addition to those of every request: name and value in turn. Default: none. */
  readonly headers?: readonly string[]
}

// A larger body goes out in slices with back-pressure, so that "written in full" is true to within one slice,
// and does not only mean "in the socket's buffer".
const BODY_SLICE_BYTES = 64 * 1024

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
  readonly bodyRules: Pick<RewriteInput, 'vouched' | 'saltsCache' | 'leavesOut'>
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
    const { allowFields = [], leavesOut = [], saltsCache = false } = settings
    this.bodyRules = {
      vouched: new Set(allowFields),
      leavesOut: new Set(leavesOut),
      saltsCache,
    }
    this.inFlight = queueOf(settings)
    const url = new URL(settings.baseUrl)
    this.#basePath = url.pathname.replace(/\/$/, '')
    this.#pool = new Pool(url.origin, {
      allowH2: false,
      pipelining: 1,
      connections: null,
      connect: connectorWithin(settings.timeouts.connectTimeoutMs),
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
          ? joined(request.body, length)
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

// The parts in one buffer, by position with its length. undici keeps it until the answer has ended, and would keep 64 KB
// of Node's pool with it.
function joined(parts: readonly Buffer[], length: number): Buffer {
  const whole = Buffer.allocUnsafeSlow(length)
  let end = 0
  for (const part of parts) end += part.copy(whole, end)
  return whole
}

// Drops each part once it is sent: this generator lives as long as the answer takes.
function* slices(unsent: Buffer[]): Generator<Buffer> {
  for (let part = unsent.shift(); part !== undefined; part = unsent.shift()) {
    for (let start = 0; start < part.length; start += BODY_SLICE_BYTES) {
      yield part.subarray(start, start + BODY_SLICE_BYTES)
    }
  }
}

const WAITING_MAX = 256
// One key leaves most of the queue to others, even if its own limit of requests in flight is higher.
const WAITING_OF_KEY_MAX = 64
const RETRY_AFTER_SECONDS = 1

/** The calls that an upstream has at once, and those that wait for a place; null: no limit. API keys take turns. */
function queueOf({ inFlightMax, timeouts }: UpstreamSettings): FairQueue | null {
  if (inFlightMax === null) return null
  return new FairQueue({
    placesMax: inFlightMax,
    lanes: [{ waitingMax: WAITING_MAX, waitingOfOwnerMax: WAITING_OF_KEY_MAX }],
    waitTimeoutMs: timeouts.queueTimeoutMs,
    refusal: () =>
      new Problem('service_unavailable', {
        message: 'This model has too many requests at once. Try again in a moment.',
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      }),
  })
}
