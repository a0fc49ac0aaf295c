import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import errors from 'undici/lib/core/errors.js'
import type { AttemptStage } from '../vocabulary/outcome.ts'

/** One inference call, ready to be sent. */
export interface AttemptRequest {
  /** The path below the base address, such as `/chat/completions`. */
  readonly path: string
  /** The format's own headers, name and value in turn. */
  readonly headers: readonly string[]
  /** The parts of the body, in order. */
  readonly body: readonly Buffer[]
  readonly deadlines: Deadlines
  /**
   * Called when the body was written in full and is dropped, unless the answer came before. Must not throw.
   * Default: nothing.
   */
  readonly onBodySent?: () => void
}

/** The time limits of an attempt. */
export interface Deadlines {
  /** From the start until the answer's headers. */
  readonly headersTimeoutMs: number
  /** Between two pieces of the answer's body. */
  readonly stallTimeoutMs: number
  /** From the start until the end; null: none. */
  readonly totalTimeoutMs: number | null
}

/** Why an attempt has no whole answer. */
export interface AttemptFailure {
  readonly kind: 'neverOpened' | 'lost' | 'timedOut' | 'cancelled'
  readonly stage: AttemptStage
  /** Whether this process closed the connection because it is stopping. */
  readonly cutOff: boolean
  /** Whether a deadline passed on an open connection, also if not all of the request was written. */
  readonly isLate: boolean
  /** The error behind the failure, for the log. */
  readonly cause: unknown
}

/**
 * Gets the events of one attempt. Exactly one of `onResponseEnd` and `onResponseError` is called, and nothing
 * after it. No method may throw: timers call some of them, where no caller would catch it.
 */
export interface AttemptObserver {
  onResponseStart(httpStatus: number, headers: IncomingHttpHeaders): void
  onResponseData(chunk: Buffer): void
  onResponseEnd(): void
  onResponseError(failure: AttemptFailure): void
}

// A deadline for providers that keep the connection open after their last event.
const END_TIMEOUT_MS = 2_000

class DeadlinePassed extends Error {}
class Cancelled extends Error {}

/**
 * One attempt at the provider, from its dispatch to its single end.
 *
 * Its stages are: written in full or not (`onRequestSent`), then before or after headers. Any failure before the
 * request was written in full is `neverOpened`: the provider can't have run it.
 */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly #observer: AttemptObserver
  readonly #onBodySent: (() => void) | undefined
  #controller: Dispatcher.DispatchController | null = null
  #stopReason: Error | null = null
  #written = false
  #stage: AttemptStage = 'beforeHeaders'
  #ended = false
  /** Whether the answer has had its last event. */
  #isOver = false
  #stallTimeoutMs: number
  #silenceTimer: NodeJS.Timeout
  #totalTimer: NodeJS.Timeout | null = null

  constructor(
    observer: AttemptObserver,
    { deadlines, onBodySent }: Pick<AttemptRequest, 'deadlines' | 'onBodySent'>,
  ) {
    this.#observer = observer
    this.#onBodySent = onBodySent
    this.#stallTimeoutMs = deadlines.stallTimeoutMs
    this.#silenceTimer = setTimeout(this.#onDeadline, deadlines.headersTimeoutMs)
    if (deadlines.totalTimeoutMs !== null) {
      this.#totalTimer = setTimeout(this.#onDeadline, deadlines.totalTimeoutMs)
    }
  }

  /** Whether the request was written in full, so that the provider may run it. */
  get isWritten(): boolean {
    return this.#written
  }

  /** Ends the attempt as timed out after this time, even while data arrives. */
  endWithin(timeoutMs: number): void {
    if (this.#ended) return
    if (this.#totalTimer !== null) clearTimeout(this.#totalTimer)
    this.#totalTimer = setTimeout(this.#onDeadline, timeoutMs)
  }

  /** Stops the upstream call; the observer gets `cancelled`, unless the attempt has ended. */
  cancel(): void {
    // No error is made for an ended attempt: every client closes its connection in the end.
    if (!this.#ended) this.#stop(new Cancelled('cancelled'))
  }

  /**
   * Stops reading until `resume`, for a client that takes bytes slower than the provider sends them. The stall
   * timeout is suspended meanwhile. Some data may still arrive.
   */
  pause(): void {
    if (this.#ended) return
    clearTimeout(this.#silenceTimer)
    this.#controller?.pause()
  }

  resume(): void {
    // The socket of an ended attempt may belong to another call.
    if (this.#ended) return
    this.#silenceTimer = setTimeout(this.#onDeadline, this.#stallTimeoutMs)
    this.#controller?.resume()
  }

  /** The answer has had its last event: the end must follow within a short time, even while more data arrives. */
  expectEnd(): void {
    this.#isOver = true
    this.#stallTimeoutMs = Math.min(this.#stallTimeoutMs, END_TIMEOUT_MS)
    if (this.#ended || this.#controller?.paused === true) return
    clearTimeout(this.#silenceTimer)
    this.#silenceTimer = setTimeout(this.#onDeadline, this.#stallTimeoutMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#stopReason !== null) controller.abort(this.#stopReason)
  }

  onRequestSent(): void {
    this.#written = true
    if (this.#stage === 'beforeHeaders') this.#onBodySent?.()
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    httpStatus: number,
    headers: IncomingHttpHeaders,
  ): void {
    // undici would keep the bytes of each header until the end of the answer.
    controller.rawHeaders = null
    // Informational responses, such as 103, are not the answer.
    if (this.#ended || httpStatus < 200) return
    this.#stage = 'afterHeaders'
    this.#written = true
    clearTimeout(this.#silenceTimer)
    this.#silenceTimer = setTimeout(this.#onDeadline, this.#stallTimeoutMs)
    this.#observer.onResponseStart(httpStatus, headers)
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return
    if (!this.#isOver) this.#silenceTimer.refresh()
    this.#observer.onResponseData(chunk)
  }

  onResponseEnd(): void {
    if (this.#ended) return
    this.#end()
    this.#observer.onResponseEnd()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
  }

  readonly #onDeadline = (): void => this.#stop(new DeadlinePassed('deadline passed'))

  #stop(reason: Error): void {
    if (this.#ended || this.#stopReason !== null) return
    this.#stopReason = reason
    // Reported at once: a socket that is still connecting has no controller, and may take long.
    this.#fail(reason)
    this.#controller?.abort(reason)
  }

  #fail(error: Error): void {
    if (this.#ended) return
    this.#end()
    this.#observer.onResponseError({
      kind: this.#kindOf(error),
      stage: this.#stage,
      cutOff: error instanceof errors.ClientDestroyedError,
      isLate: error instanceof DeadlinePassed && this.#controller !== null,
      cause: error,
    })
  }

  #kindOf(error: Error): AttemptFailure['kind'] {
    if (error instanceof Cancelled) return 'cancelled'
    if (!this.#written) return 'neverOpened'
    return error instanceof DeadlinePassed ? 'timedOut' : 'lost'
  }

  #end(): void {
    this.#ended = true
    clearTimeout(this.#silenceTimer)
    if (this.#totalTimer !== null) clearTimeout(this.#totalTimer)
  }
}
