import type { Logger } from 'pino'
import { PROBLEMS } from '../vocabulary/problem.ts'
import type { EndedRequest } from './inference.ts'

/** Makes the writer of one log line a request: who, which model, what state, what charge; never content. */
export function requestLogger(log: Logger): (ended: EndedRequest) => void {
  return ({ requestId, endpoint, record, problem, httpStatus, startedAtMs }) => {
    const line = {
      requestId,
      endpoint,
      httpStatus,
      accountId: record.accountId,
      apiKeyId: record.apiKeyId,
      modelId: record.modelId,
      stream: record.stream,
      state: record.state,
      holdMicros: record.holdMicros,
      chargeMicros: record.chargeMicros,
      firstByteMs: record.firstByteAtMs === null ? null : record.firstByteAtMs - startedAtMs,
    }
    if (record.fault !== null)
      log.error({ ...line, cause: faultOf(record.fault) }, 'request failed')
    else if (problem === null) log.info(line, 'request')
    else if (problem.code === 'internal_error') {
      log.error(
        { ...line, errorCode: problem.code, cause: faultOf(problem.cause) },
        'request failed',
      )
    } else if (PROBLEMS[problem.code].owner === 'platform') {
      log.warn(
        { ...line, errorCode: problem.code, cause: faultOf(problem.cause) },
        'request failed',
      )
    } else log.info({ ...line, errorCode: problem.code }, 'request')
  }
}

/**
 * A cause as the log may have it: by name and place alone. Its message may quote what a client or a
 * provider sent. Null where it is no error.
 */
export function faultOf(cause: unknown): object | null {
  if (!(cause instanceof Error)) return null
  const frames = (cause.stack ?? '').split('\n').filter((line) => line.startsWith('    at '))
  return { name: cause.name, frames: frames.slice(0, 8).map((line) => line.trim()) }
}
