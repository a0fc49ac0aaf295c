import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { HANG_LIMITS } from '../../../test/hang-limits.ts'
import { type RawServer, startRawServer } from '../../../test/raw-server.ts'
import type { Attempt, AttemptFailure, AttemptObserver, Deadlines } from '../attempt.ts'
import { openrouter } from '../openrouter/openrouter.ts'
import { Upstream } from '../upstream.ts'
import { PATIENT_TIMEOUTS, upstreamSettings } from './upstream-settings.ts'

/** A body that is sent in one write. */
export const SMALL_BODY = Buffer.from('{"model":"acme/some-model"}')

/** Deadlines that no test waits for. */
export const PATIENT: Deadlines = {
  headersTimeoutMs: HANG_LIMITS.testTimeout,
  stallTimeoutMs: HANG_LIMITS.testTimeout,
  totalTimeoutMs: null,
}

/** A deadline that tests wait for. */
export const SHORT_MS = 20

const opened: { close(): Promise<void> }[] = []

/** Closes all servers and upstreams of a test, the last first. */
export async function closeOpened(): Promise<void> {
  for (const each of opened.splice(0).reverse()) await each.close()
}

/** A server that does this with each connection. */
export async function serverThat(act: (socket: Socket) => unknown): Promise<RawServer> {
  const server = await startRawServer((socket) => void act(socket))
  opened.push(server)
  return server
}

/** An upstream at this address. */
export function upstreamAt(baseUrl: string, connectTimeoutMs = HANG_LIMITS.testTimeout): Upstream {
  const timeouts = { ...PATIENT_TIMEOUTS, connectTimeoutMs }
  const upstream = new Upstream(upstreamSettings({ baseUrl, timeouts }), openrouter)
  opened.push({ close: () => upstream.destroy() })
  return upstream
}

/** Records all events of an attempt, in order. */
export class Diary implements AttemptObserver {
  readonly lines: string[] = []
  readonly ended: Promise<AttemptFailure | null>
  failure: AttemptFailure | null = null
  body = ''
  onStart: () => void = () => {}
  onData: () => void = () => {}
  readonly #end: (failure: AttemptFailure | null) => void
  #written: () => void = () => {}

  constructor() {
    const { promise, resolve } = Promise.withResolvers<AttemptFailure | null>()
    this.ended = promise
    this.#end = resolve
  }

  /** Resolves once it has this many lines. */
  async toHave(lines: number): Promise<void> {
    while (this.lines.length < lines) {
      await new Promise<void>((resolve) => {
        this.#written = resolve
      })
    }
  }

  onResponseStart(httpStatus: number, _headers: IncomingHttpHeaders): void {
    this.lines.push(`start ${httpStatus}`)
    this.#written()
    this.onStart()
  }

  onResponseData(chunk: Buffer): void {
    if (this.lines.at(-1) !== 'data') this.lines.push('data')
    this.#written()
    this.body += chunk.toString('latin1')
    this.onData()
  }

  onResponseEnd(): void {
    this.lines.push('end')
    this.#end(null)
  }

  onResponseError(failure: AttemptFailure): void {
    this.failure = failure
    this.lines.push(`${failure.kind} ${failure.stage}`)
    this.#end(failure)
  }
}

export interface SendInput {
  readonly body?: Buffer
  readonly deadlines?: Partial<Deadlines>
  readonly onBodySent?: () => void
}

/** Sends one call and records its events. */
export function send(
  upstream: Upstream,
  { body = SMALL_BODY, deadlines = {}, onBodySent }: SendInput = {},
): { readonly diary: Diary; readonly attempt: Attempt } {
  const diary = new Diary()
  const attempt = upstream.forward(
    {
      path: '/chat/completions',
      headers: [],
      body: [body],
      deadlines: { ...PATIENT, ...deadlines },
      ...(onBodySent === undefined ? {} : { onBodySent }),
    },
    diary,
  )
  return { diary, attempt }
}

/** The events of an attempt until everything that could add one is closed. */
export async function reportedLines(
  upstream: Upstream,
  { diary }: { diary: Diary },
): Promise<string[]> {
  await diary.ended
  await upstream.destroy()
  return diary.lines
}
