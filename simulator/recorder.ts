import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { type JsonObject, parseObject } from './json-value.ts'

/**
 * How an exchange ended: answered whole, left by the client before its end, or cut by a fault of the
 * simulator's own.
 */
export type Ending = 'finished' | 'clientGone' | 'cut'

/** One request as it came in, and how its exchange ended. */
export class RecordedRequest {
  readonly method: string
  /** Without `/v1` and without the query. */
  readonly path: string
  readonly query: string
  readonly headers: IncomingHttpHeaders
  /** The exact bytes. */
  readonly body: Buffer
  readonly isInference: boolean
  /** Resolves when the exchange is over. */
  readonly ended: Promise<Ending>
  #ending: Ending | null = null
  #generationId: string | null = null
  readonly #end: (ending: Ending) => void

  constructor(input: {
    readonly request: IncomingMessage
    readonly path: string
    readonly query: string
    readonly body: Buffer
    readonly isInference: boolean
  }) {
    const { request } = input
    this.method = request.method ?? ''
    this.path = input.path
    this.query = input.query
    this.headers = request.headers
    this.body = input.body
    this.isInference = input.isInference
    const { promise, resolve } = Promise.withResolvers<Ending>()
    this.ended = promise
    this.#end = resolve
  }

  /** The body as a JSON object; null where it is none. */
  get json(): JsonObject | null {
    return parseObject(this.body.toString())
  }

  /** How it ended; null while it is running. */
  get ending(): Ending | null {
    return this.#ending
  }

  /** The `gen-…` id of its answer; null where none ran. */
  get generationId(): string | null {
    return this.#generationId
  }

  /** Notes which generation answered it. Called by the simulator alone. */
  noteGeneration(id: string): void {
    this.#generationId = id
  }

  /** Notes how it ended. Called by the simulator alone. */
  noteEnding(ending: Ending): void {
    this.#ending = ending
    this.#end(ending)
  }
}

/** All requests that came, and those who wait for one to come. */
export class Recorder {
  readonly requests: RecordedRequest[] = []
  #taken = 0
  #watchers: (() => void)[] = []

  record(request: RecordedRequest): void {
    this.requests.push(request)
    const watchers = this.#watchers
    this.#watchers = []
    for (const watcher of watchers) watcher()
  }

  /** The next inference request that no earlier call took; waits for it where it is still to come. */
  async next(): Promise<RecordedRequest> {
    for (;;) {
      while (this.#taken < this.requests.length) {
        const request = this.requests[this.#taken]
        this.#taken += 1
        if (request?.isInference === true) return request
      }
      await this.#arrival()
    }
  }

  /** The first request, whenever it came or comes, that the predicate accepts. */
  async waitFor(predicate: (request: RecordedRequest) => boolean): Promise<RecordedRequest> {
    for (let at = 0; ; at += 1) {
      while (at >= this.requests.length) await this.#arrival()
      const request = this.requests[at]
      if (request !== undefined && predicate(request)) return request
    }
  }

  clear(): void {
    this.requests.length = 0
    this.#taken = 0
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => this.#watchers.push(resolve))
  }
}
