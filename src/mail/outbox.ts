import type { Clock } from '../vocabulary/clock.ts'
import type { Letter } from './letter.ts'
import { type MailServer, refusedBy } from './mail-server.ts'

/** Letters at one time; a server that hangs keeps no more sockets open. */
const LANES = 2

/** Letters that wait; more are dropped, so that a server that is away fills no memory. */
const WAITING_MAX = 500

/** The wait after each failed try. After the last one, or at its deadline, a letter is given up. */
const RETRY_WAITS_MS: readonly number[] = [2_000, 10_000, 60_000, 300_000]

/** How long a letter waits at least. A call with a letter must not take longer than one without, which would reveal the letter. */
const START_DELAY_MS = 250

/** The end of a letter: the server accepted it, it was given up, or the outbox was full. */
export type LetterEnd =
  | { readonly kind: 'taken'; readonly answer: string }
  | { readonly kind: 'given_up'; readonly reason: string }
  | { readonly kind: 'dropped' }

interface OutboxInput {
  readonly server: Pick<MailServer, 'send'>
  readonly clock: Clock
  /** Default 250. */
  readonly startDelayMs?: number
  /** Default: 2 s, 10 s, a minute, five minutes. */
  readonly retryWaitsMs?: readonly number[]
  readonly onEnd: (end: LetterEnd) => void
}

interface Waiting {
  readonly letter: Letter
  readonly untilMs: number
  readonly tries: number
}

/**
 * Sends letters behind the calls that ask for them: `post` takes no time, with any mail server. They are only in memory,
 * because most have a link, whose text must not be in the store; a person whose letter was lost asks again.
 */
export class Outbox {
  readonly #input: OutboxInput
  readonly #ready: Waiting[] = []
  readonly #stopping = new AbortController()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #sending = new Set<Promise<void>>()
  #held = 0
  #failure: string | null = null

  constructor(input: OutboxInput) {
    this.#input = input
  }

  /** Why the last try to send a letter failed; null: it succeeded, or none was made yet. */
  get failure(): string | null {
    return this.#failure
  }

  /** Sends a letter soon, unless 500 wait. After `untilMs` it is useless, and is given up. */
  post(letter: Letter, untilMs: number): void {
    if (this.#stopping.signal.aborted || this.#held >= WAITING_MAX) {
      this.#input.onEnd({ kind: 'dropped' })
      return
    }
    this.#held++
    const { startDelayMs = START_DELAY_MS } = this.#input
    this.#later({ letter, untilMs, tries: 0 }, startDelayMs)
  }

  /** Aborts letters that are being sent. Letters that wait are lost. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const timer of this.#timers) clearTimeout(timer)
    await Promise.all(this.#sending)
  }

  #fill(): void {
    while (this.#sending.size < LANES && !this.#stopping.signal.aborted) {
      const next = this.#ready.shift()
      if (next === undefined) return
      const sending = this.#send(next).finally(() => {
        this.#sending.delete(sending)
        this.#fill()
      })
      this.#sending.add(sending)
    }
  }

  async #send({ letter, untilMs, tries }: Waiting): Promise<void> {
    const { server, clock, retryWaitsMs = RETRY_WAITS_MS } = this.#input
    if (clock.nowMs() >= untilMs)
      return this.#end({ kind: 'given_up', reason: 'its link expired before it could be sent' })
    try {
      const answer = await server.send(letter, this.#stopping.signal)
      this.#failure = null
      this.#end({ kind: 'taken', answer })
    } catch (error) {
      const { message: reason, isTemporary } = refusedBy(error)
      this.#failure = reason
      const waitMs = isTemporary ? retryWaitsMs[tries] : undefined
      if (waitMs === undefined || this.#stopping.signal.aborted) {
        this.#end({ kind: 'given_up', reason })
        return
      }
      this.#later({ letter, untilMs, tries: tries + 1 }, waitMs)
    }
  }

  #later(waiting: Waiting, waitMs: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#ready.push(waiting)
      this.#fill()
    }, waitMs)
    timer.unref()
    this.#timers.add(timer)
  }

  #end(end: LetterEnd): void {
    this.#held--
    this.#input.onEnd(end)
  }
}
