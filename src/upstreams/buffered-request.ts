import type { Dispatcher } from 'undici'
import { GrowingBytes } from '../vocabulary/growing-bytes.ts'

/** The bounds within which a response must arrive whole. */
export interface ResponseBounds {
  readonly timeoutMs: number
  readonly bytesMax: number
  /** Aborting it cancels the request. */
  readonly signal?: AbortSignal
}

/** A whole response, as the upstream wrote it. */
export interface BufferedResponse {
  readonly httpStatus: number
  readonly bytes: Buffer
}

/** A request of the gateway itself, such as for the catalog, whose response is read whole. */
export class BufferedRequest implements Dispatcher.DispatchHandler {
  /** Rejects if no whole response arrives within the bounds. */
  readonly response: Promise<BufferedResponse>
  readonly #bytesMax: number
  readonly #signal: AbortSignal | undefined
  readonly #timer: NodeJS.Timeout
  readonly #settle: PromiseWithResolvers<BufferedResponse>
  #controller: Dispatcher.DispatchController | null = null
  #stopReason: Error | null = null
  #httpStatus = 0
  readonly #bytes = new GrowingBytes()

  constructor({ timeoutMs, bytesMax, signal }: ResponseBounds) {
    this.#settle = Promise.withResolvers()
    this.response = this.#settle.promise
    this.#bytesMax = bytesMax
    this.#signal = signal
    this.#timer = setTimeout(
      () => this.#stop(new Error(`the upstream did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    )
    if (signal?.aborted === true) this.#onAbort()
    else signal?.addEventListener('abort', this.#onAbort)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#stopReason !== null) controller.abort(this.#stopReason)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, httpStatus: number): void {
    this.#httpStatus = httpStatus
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#bytes.length + chunk.length > this.#bytesMax) {
      this.#stop(new Error(`the upstream's answer is over ${this.#bytesMax} bytes`))
    } else {
      this.#bytes.add(chunk)
    }
  }

  onResponseEnd(): void {
    this.#leave()
    this.#settle.resolve({ httpStatus: this.#httpStatus, bytes: this.#bytes.take() })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#leave()
    this.#settle.reject(error)
  }

  readonly #onAbort = (): void => this.#stop(new Error('the request was given up'))

  #stop(reason: Error): void {
    if (this.#stopReason !== null) return
    this.#stopReason = reason
    this.#bytes.clear()
    this.#leave()
    // Reported at once: a socket that is still connecting has no controller, and may take long.
    this.#settle.reject(reason)
    this.#controller?.abort(reason)
  }

  #leave(): void {
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#onAbort)
  }
}
