import { Readable } from 'node:stream'
import { Pool } from 'undici'
import { parseUpstreamJson } from '../json/body.ts'
import { Attempt, type AttemptObserver } from './attempt.ts'
import { type AnswerBounds, type AnswerBytes, Question } from './question.ts'

export interface UpstreamInput {
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
  readonly #pool: Pool
  readonly #basePath: string
  readonly #ownHeaders: readonly string[]

  constructor({ baseUrl, apiKey, connectTimeoutMs }: UpstreamInput) {
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
      'authorization',
      `Bearer ${apiKey}`,
      'content-type',
      'application/json',
      'accept-encoding',
      'identity',
    ]
  }

  /** Sends one inference call, once; it is never repeated. */
  forward(request: AttemptRequest, observer: AttemptObserver): Attempt {
    const attempt = new Attempt(observer, request.deadlines)
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
    bounds: AnswerBounds,
  ): Promise<{ readonly httpStatus: number; readonly json: unknown }> {
    const { httpStatus, bytes } = await this.getBytes(pathAndQuery, bounds)
    const json = parseUpstreamJson(bytes)
    if (json === undefined) {
      throw new Error(`the upstream answers ${httpStatus} with what is no JSON`)
    }
    return { httpStatus, json }
  }

  /** Asks for a document, as it was written. Rejects where there is no whole answer in time. */
  getBytes(pathAndQuery: string, bounds: AnswerBounds): Promise<AnswerBytes> {
    const question = new Question(bounds)
    this.#pool.dispatch(
      { method: 'GET', path: this.#basePath + pathAndQuery, headers: [...this.#ownHeaders] },
      question,
    )
    return question.answer
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
