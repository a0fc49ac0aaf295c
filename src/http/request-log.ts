import type { Logger } from 'pino'
import { PROBLEMS } from '../vocabulary/problem.ts'
import type { EndedRequest } from './inference.ts'

/** Makes the writer of one log line a request: who, which model, what state, what charge; never content. */
export function requestLogger(log: Logger): (ended: EndedRequest) => void {
  return ({ requestId, format, record, problem, httpStatus, startedAtMs, endedAtMs }) => {
    const line = {
      requestId,
      endpoint: format.endpoint,
      httpStatus,
      accountId: record.accountId,
      apiKeyId: record.apiKeyId,
      modelId: record.modelId,
      stream: record.stream,
      state: record.state,
      holdMicros: record.holdMicros,
      chargeMicros: record.chargeMicros,
      generationId: record.generationId,
      // Of a stream that failed after its 200, why; of all else, what the client was told.
      errorCode: problem?.code ?? record.errorCode,
      firstByteMs: record.firstByteAtMs === null ? null : record.firstByteAtMs - startedAtMs,
      durationMs: endedAtMs - startedAtMs,
    }
    if (record.fault !== null)
      log.error({ ...line, cause: faultOf(record.fault) }, 'request failed')
    else if (problem === null) log.info(line, 'request')
    else if (problem.code === 'internal_error') {
      log.error({ ...line, cause: faultOf(problem.cause) }, 'request failed')
    } else if (PROBLEMS[problem.code].owner === 'platform') {
      log.warn({ ...line, cause: faultOf(problem.cause) }, 'request failed')
    } else log.info(line, 'request')
  }
}

/**
 * A cause as the log may have it: by name and place alone. Its message may quote what a client or a
 * provider sent. Null where it is no error.
 */
export function faultOf(cause: unknown): object | null {
  if (!(cause instanceof Error)) return null
  const { stack = '', message } = cause
  // The message stands before the frames, and may have lines that look like them. Where it is another
  // than the stack has, nothing says where the frames begin.
  const messageAt = stack.indexOf(message)
  const trace = messageAt < 0 ? '' : stack.slice(messageAt + message.length)
  const frames = trace.split('\n').filter((line) => line.startsWith('    at '))
  return { name: cause.name, frames: frames.slice(0, 8).map((line) => line.trim()) }
}
