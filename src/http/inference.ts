import type { IncomingMessage, ServerResponse } from 'node:http'
import type { WireFormat } from '../formats/format.ts'
import { clientClosed } from '../journey/client-answer.ts'
import { type EstimateInput, estimateHold } from '../journey/estimate-hold.ts'
import { type Caller, CallerRefused } from '../journey/gate/caller.ts'
import { runJourney } from '../journey/journey.ts'
import type { JourneyParts, JourneyRecord, JourneyRequest } from '../journey/journey-parts.ts'
import type { HoldEstimate } from '../ledger/rules/open-hold.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import { Problem } from '../vocabulary/problem.ts'
import { answerProblem, problemOf } from './answer-problem.ts'
import { askForBody } from './connections.ts'
import { pathOf } from './known-routes.ts'
import { readBody } from './read-body.ts'

interface InferenceInput {
  readonly parts: JourneyParts
  readonly ids: IdSource
  readonly bodyTimeoutMs: number
  /** Whether inference is refused for maintenance. Default: never. */
  readonly isInMaintenance?: () => boolean
  /** Called once for each request when its response has ended, for the log. */
  readonly onEnded: (ended: EndedRequest) => void
}

/** The record of one request for the log, the metrics and the traces. */
export interface EndedRequest {
  readonly requestId: string
  readonly format: Pick<WireFormat, 'endpoint' | 'path' | 'rules' | 'telemetry'>
  readonly record: JourneyRecord
  readonly problem: Problem | null
  readonly httpStatus: number
  readonly startedAtMs: number
  readonly endedAtMs: number
  /** The client's `traceparent`, as it came; absent if it sent none. */
  readonly traceparent: string | string[] | undefined
}

/** The inference endpoints, served on Node's own server: every request pays for each microsecond here. */
export interface Inference {
  /** Serves a request, or answers false: it is for another path. */
  serve(clientRequest: IncomingMessage, client: ServerResponse): boolean
  /** Serves a request of another route, which authenticates its sender itself. Nothing else differs. */
  serveAs(arrived: Arrived): void
  /**
   * The hold that a request of another route would need. Nothing is opened, stored, logged or sent. Rejects with a
   * Problem.
   */
  estimate(
    arrived: Omit<EstimateInput, 'readBody'> & {
      readonly clientRequest: IncomingMessage
      /** Called as {@link Sender.bodyHasCome} is. */
      readonly bodyHasCome: () => Promise<void>
    },
  ): Promise<HoldEstimate>
  /** Whether the journey of a request is running: from before its hold can be opened. */
  isUnderWay(requestId: string): boolean
  /** Requests whose answers have not ended. */
  readonly inFlight: number
  /** Whether new requests are refused, because the server is stopping. */
  readonly isDraining: boolean
  /** Resolves when no request is in flight. */
  idle(): Promise<void>
  /**
   * Refuses new requests and resolves when those in flight have ended; at the timeout they are cut off:
   * streams are charged as if their clients had left, calls without an answer yet stay unresolved.
   */
  drain(input: {
    readonly timeoutMs: number
    /** Ends every call upstream. */
    readonly cutOff: () => void
  }): Promise<void>
}

interface Arrived {
  readonly clientRequest: IncomingMessage
  readonly client: ServerResponse
  readonly requestId: string
  readonly format: WireFormat
  /** Null: it is sent by an API key. */
  readonly sender: Sender | null
}

/** The sender of a request that has no API key. */
interface Sender {
  /** The caller that the request counts for. Throws Problem. */
  authenticate(): Promise<Caller>
  /**
   * Called when the body has come, which may take minutes, and before a hold is opened. Throws Problem if the
   * sender may no longer call.
   */
  bodyHasCome(): Promise<void>
}

/** Makes the inference endpoints. They share nothing with other routes. */
export function createInference(input: InferenceInput): Inference {
  const inFlight = new Map<ServerResponse, Promise<void>>()
  const underWay = new Set<string>()
  const formats = new Map<string, WireFormat>(
    input.parts.formats.map((format) => [format.path, format]),
  )
  let draining = false
  const idle = async (): Promise<void> => {
    while (inFlight.size > 0) await Promise.all(inFlight.values())
  }
  const begin = (arrived: Arrived): void => {
    const { client } = arrived
    const answered = serve(input, { ...arrived, draining, underWay })
    // A refused request does not keep the server from stopping, however many come.
    if (draining) return
    const ended = answered.then(() => clientClosed(client))
    inFlight.set(client, ended)
    void ended.finally(() => inFlight.delete(client))
  }
  return {
    isUnderWay: (requestId) => underWay.has(requestId),
    get inFlight() {
      return inFlight.size
    },
    get isDraining() {
      return draining
    },
    idle,
    serve(clientRequest, client) {
      if (clientRequest.method !== 'POST') return false
      const format = formats.get(pathOf(clientRequest.url ?? ''))
      if (format === undefined) return false
      const requestId = input.ids.next('req')
      begin({ clientRequest, client, requestId, format, sender: null })
      return true
    },
    serveAs: begin,
    estimate({ clientRequest, bodyHasCome, ...asked }) {
      const { client, format } = asked
      const reading = { clientRequest, client, format, bodyHasCome }
      return estimateHold(input.parts, { ...asked, readBody: bodyReader(input, reading) })
    },
    async drain({ timeoutMs, cutOff }) {
      draining = true
      const timer = setTimeout(() => {
        for (const client of inFlight.keys()) client.destroy()
        cutOff()
      }, timeoutMs)
      await idle()
      clearTimeout(timer)
    },
  }
}

interface Exchange extends Arrived {
  readonly draining: boolean
  /** The requests whose journeys are running. */
  readonly underWay: Set<string>
}

/** Never rejects. */
async function serve(input: InferenceInput, exchange: Exchange): Promise<void> {
  const { clientRequest, client, requestId, format, sender } = exchange
  exchange.underWay.add(requestId)
  const startedAtMs = input.parts.clock.nowMs()
  const record = emptyRecord()
  let problem: Problem | null = null
  // Without a listener a connection error of this one client would end the process.
  client.on('error', () => {})
  clientRequest.on('error', () => {})
  try {
    if (exchange.draining) {
      client.setHeader('connection', 'close')
      throw new Problem('service_unavailable', {
        message: 'This server is stopping. Try again in a few seconds.',
        retryAfterSeconds: 1,
      })
    }
    if (input.isInMaintenance?.() === true) {
      throw new Problem('service_unavailable', {
        message: 'Inference is off for maintenance. Try again later.',
      })
    }
    await runJourney(input.parts, {
      format,
      requestId,
      headers: clientRequest.headers,
      peerAddress: clientRequest.socket.remoteAddress,
      authenticate: sender === null ? null : () => sender.authenticate(),
      client,
      readBody: bodyReader(input, {
        clientRequest,
        client,
        format,
        bodyHasCome: async () => sender?.bodyHasCome(),
      }),
      record,
    })
  } catch (thrown) {
    problem = problemOf(thrown)
    if (thrown instanceof CallerRefused) {
      record.accountId = thrown.caller.accountId
      record.apiKeyId = thrown.caller.apiKeyId
    }
    const { rateLimits } = record
    answerProblem({ clientRequest, client, problem, family: format.family, requestId, rateLimits })
  } finally {
    exchange.underWay.delete(requestId)
  }
  input.onEnded({
    requestId,
    format,
    record,
    problem,
    httpStatus: problem?.httpStatus ?? client.statusCode,
    startedAtMs,
    endedAtMs: input.parts.clock.nowMs(),
    traceparent: clientRequest.headers['traceparent'],
  })
}

/** Reads a body within the limits of its format and its account. By position: the settings, and the request. */
function bodyReader(
  { bodyTimeoutMs }: Pick<InferenceInput, 'bodyTimeoutMs'>,
  {
    clientRequest,
    client,
    format,
    bodyHasCome,
  }: Pick<Arrived, 'clientRequest' | 'client' | 'format'> & Pick<Sender, 'bodyHasCome'>,
): JourneyRequest['readBody'] {
  return async (account) => {
    const bytes = await readBody(clientRequest, {
      bytesMax: format.bodyBytesMax,
      timeoutMs: bodyTimeoutMs,
      account,
      beforeReading: () => askForBody(clientRequest, client),
    })
    await bodyHasCome()
    return bytes
  }
}

function emptyRecord(): JourneyRecord {
  return {
    accountId: null,
    apiKeyId: null,
    modelId: null,
    upstream: null,
    stream: false,
    rateLimits: null,
    holdMicros: null,
    state: null,
    chargeMicros: null,
    holdAskedAtMs: null,
    holdOpenedAtMs: null,
    firstByteAtMs: null,
    outcomeAtMs: null,
    settledAtMs: null,
    usage: null,
    generationId: null,
    isUncounted: false,
    leftEarly: null,
    errorCode: null,
    fault: null,
  }
}
