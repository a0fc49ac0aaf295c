import type { JsonBody, JsonObject } from '../../json/walk.ts'
import type { StreamEventReading } from '../upstream.ts'
import { readProviderError } from './provider-error.ts'

/** The object beside its bytes, for the digits of its numbers. */
export function eventBody(data: string, root: JsonObject): JsonBody {
  return { bytes: Buffer.from(data, 'latin1'), root }
}

/** What an event is whose data is no JSON object: an error of which nothing can be told. */
export const UNREADABLE_EVENT: StreamEventReading = {
  kind: 'error',
  error: readProviderError(null, null),
}
