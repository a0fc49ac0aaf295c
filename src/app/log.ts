import { type Logger, pino } from 'pino'
import { providerWords } from '../formats/provider-error.ts'
import type { EndedRequest } from '../http/inference.ts'
import type { OperationFailure } from '../http/server.ts'
import { CLIENT_LEFT } from '../journey/client-answer.ts'
import { StoreUnavailable } from '../store/store-failure.ts'
import { showMicros } from '../vocabulary/money.ts'
import { PROBLEMS, type Problem } from '../vocabulary/problem.ts'

// One write for each line took an eighth of a request's time on the event loop; one for each batch takes none.
// A killed process loses the lines of at most this time.
const FLUSH_INTERVAL_MS = 100
const BATCH_CHARS = 15 * 1024
// Lines beyond this that standard output does not take are lost: waiting, they would fill the memory.
const WAITING_BYTES_MAX = 16 * 1024 * 1024

/**
 * Opens the process's log, on standard output: one JSON object a line, or text where a person reads it, as
 * on a terminal. Lines reach standard output within a tenth of a second. Call `close` last: it writes the lines
 * that are still in memory, unless standard output takes none.
 */
export function openLog({
  level,
  isForPeople = false,
}: {
  readonly level: string
  readonly isForPeople?: boolean
}) {
  // Without a least length its `flush` would wait for nothing.
  const destination = pino.destination({
    fd: 1,
    sync: false,
    minLength: 1,
    maxLength: WAITING_BYTES_MAX,
  })
  let isTaken = true
  const { flushSync } = destination
  const flushNothing = (): void => {}
  // A reader that has gone, or a full disk: neither ends a server with requests in flight. The next batch is tried again.
  destination.on('error', () => {
    isTaken = false
    // At the end of the process it would try without end.
    destination.flushSync = flushNothing
  })
  // When the destination is full of waiting lines, it accepts no more, and does not retry on its own.
  destination.on('drop', () => destination.flush())
  destination.on('write', () => {
    isTaken = true
    destination.flushSync = flushSync
  })
  // Batched here: the destination would copy all waiting lines for each new one, to count their bytes.
  let batch = ''
  const writeBatch = (): void => {
    if (batch !== '') destination.write(batch)
    batch = ''
  }
  const write = (lines: string): void => {
    batch += isForPeople ? linesForPeople(lines) : lines
    if (batch.length >= BATCH_CHARS) writeBatch()
  }
  const timer = setInterval(writeBatch, FLUSH_INTERVAL_MS)
  timer.unref()
  // Runs before the destination's own listener, which writes the waiting lines.
  process.prependListener('exit', writeBatch)
  return {
    log: pino({ level }, { write }),
    async close(): Promise<void> {
      clearInterval(timer)
      process.off('exit', writeBatch)
      writeBatch()
      if (!isTaken) return
      const { promise: flushed, resolve } = Promise.withResolvers<void>()
      destination.flush(() => resolve())
      await flushed
    },
  }
}

// These fields are of no use on a terminal, or already at the beginning of the line.
const LEFT_OUT = new Set(['level', 'time', 'pid', 'hostname', 'msg'])

/** Lines of JSON as text for a person: time, level, message, then the fields with a value. */
export function linesForPeople(lines: string): string {
  return lines.replace(/[^\n]+/g, (line) => {
    const entry: Readonly<Record<string, unknown>> = JSON.parse(line)
    const { level, time, msg } = entry
    const values = Object.entries(entry)
      .filter(([name, value]) => !LEFT_OUT.has(name) && value !== null)
      .map(([name, value]) => ` ${name}=${shown(value)}`)
    const clock = new Date(Number(time)).toISOString().slice(11, 19)
    if (isRequest(entry)) return `${clock} ${requestForPeople(entry)}`
    return `${clock} ${(pino.levels.labels[Number(level)] ?? '').padEnd(5)} ${String(msg)}${values.join('')}`
  })
}

/** Whether it is the short line of a request. A request that failed for a fault of ours is shown in full. */
function isRequest({ msg, endpoint }: Readonly<Record<string, unknown>>): boolean {
  return msg === 'request' && endpoint !== undefined
}

/** One line a request: `chat sim/text 200 $0.000095 41 ms req_…`. */
function requestForPeople(entry: Readonly<Record<string, unknown>>): string {
  const { endpoint, modelId, httpStatus, errorCode, cause, chargeMicros, durationMs, requestId } =
    entry
  const words = [endpoint, modelId, httpStatus, errorCode, cause]
  const first = words.filter((word) => word !== null && word !== undefined).map(shown)
  const charge = typeof chargeMicros === 'number' ? [showMicros(chargeMicros)] : []
  return [...first, ...charge, `${shown(durationMs)} ms`, shown(requestId)].join(' ')
}

/** Escapes characters that could control the terminal. */
function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)) return value
  return JSON.stringify(value).replace(
    /[\x7f-\x9f]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const UNCOUNTED =
  'the upstream counted no tokens of this answer, by which it is charged, or more than the model can have: check that it counts those of this model, also in streams, and that its `context` and `max_output` are right'
const ABOVE_HOLD =
  'the charge is above the hold: check that the prices, `context` and `max_output` of this model are right'

/** Makes a function that logs a request in one line: account, model, state, charge; never content. */
export function requestLogger(log: Logger): (ended: EndedRequest) => void {
  return ({ requestId, format, record, problem, httpStatus, startedAtMs, endedAtMs }) => {
    const line = {
      requestId,
      endpoint: format.endpoint,
      httpStatus,
      accountId: record.accountId,
      apiKeyId: record.apiKeyId,
      modelId: record.modelId,
      upstream: record.upstream,
      stream: record.stream,
      state: record.state,
      holdMicros: record.holdMicros,
      chargeMicros: record.chargeMicros,
      generationId: record.generationId,
      // For a stream that failed after its 200, why; otherwise the code that the client received.
      errorCode: httpStatus === CLIENT_LEFT ? 'client_gone' : (problem?.code ?? record.errorCode),
      firstByteMs: record.firstByteAtMs === null ? null : record.firstByteAtMs - startedAtMs,
      durationMs: endedAtMs - startedAtMs,
    }
    if (record.fault !== null)
      log.error({ ...line, cause: faultOf(record.fault) }, 'request failed')
    else if (record.isUncounted) log.warn(line, UNCOUNTED)
    else if (problem === null) {
      const isAbove = isAboveHold(record) && format.rules.heldBy === 'tokens'
      if (isAbove) log.warn(line, ABOVE_HOLD)
      else log.info(line, 'request')
    } else if (problem.code === 'internal_error') {
      log.error({ ...line, cause: reasonOf(problem) }, 'request failed')
    } else if (PROBLEMS[problem.code].owner === 'platform') {
      log.warn({ ...line, cause: reasonOf(problem) }, 'request failed')
    } else {
      const cause = systemCodeOf(problem.cause) ?? providerWords(problem.cause)
      log.info(cause === null ? line : { ...line, cause }, 'request')
    }
  }
}

function isAboveHold({ chargeMicros, holdMicros }: EndedRequest['record']): boolean {
  return (chargeMicros ?? 0) > (holdMicros ?? 0)
}

/**
 * Why a connection failed, such as `ECONNREFUSED`: the code of the system or the HTTP client, in which nothing is quoted.
 * Null: the cause has none.
 */
function systemCodeOf(cause: unknown): string | null {
  if (!(cause instanceof Error)) return null
  const code = 'code' in cause ? cause.code : null
  return typeof code === 'string' && /^[A-Z_0-9]+$/.test(code) ? code : systemCodeOf(cause.cause)
}

/**
 * Makes a function that logs a failure of any other call. A refusal that the gateway decided on itself, such as that of
 * a range too wide to be read in time, is no warning.
 */
export function failureLogger(log: Logger): (failure: OperationFailure) => void {
  return ({ requestId, method, route, problem }) => {
    const line = {
      requestId,
      method,
      route,
      httpStatus: problem.httpStatus,
      errorCode: problem.code,
      cause: reasonOf(problem),
    }
    if (problem.code === 'internal_error') log.error(line, 'request failed')
    else if (problem.cause instanceof StoreUnavailable) log.warn(line, 'request failed')
    else log.info(line, 'request failed')
  }
}

/** The log's field for why the gateway failed: the fields of the problem's cause, or else the message of the answer. */
function reasonOf({ cause, message }: Problem): object | string {
  return faultOf(cause) ?? message
}

/**
 * The log's fields of a cause: its name and stack frames. Its message is left out, because it may quote what
 * a client or a provider sent, unless the store failed. Null if it is no error.
 */
function faultOf(cause: unknown): object | null {
  if (!(cause instanceof Error)) return null
  const { stack = '', message } = cause
  // The message precedes the frames and may have lines that look like frames. If the stack does not have this
  // message, nothing shows where the frames begin.
  const messageAt = stack.indexOf(message)
  const trace = messageAt < 0 ? '' : stack.slice(messageAt + message.length)
  const frames = trace.split('\n').filter((line) => line.startsWith('    at '))
  const said = cause instanceof StoreUnavailable ? { message } : {}
  return { name: cause.name, ...said, frames: frames.slice(0, 8).map((line) => line.trim()) }
}
