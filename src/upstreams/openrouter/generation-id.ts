import type { IncomingHttpHeaders } from 'node:http'

// Long enough for any real id, short enough to store and to ask for again.
const GENERATION_ID = /^[\x21-\x7e]{1,200}$/

/** An answer's `id` as a generation id; null for what can't be one. */
export function readGenerationId(answerId: unknown): string | null {
  return typeof answerId === 'string' && GENERATION_ID.test(answerId) ? answerId : null
}

/**
 * An answer's `id` where it is the aggregator's own. Null for the ids that messages and responses give
 * to their answers, by which no generation can be looked up.
 */
export function readAggregatorId(answerId: unknown): string | null {
  const generationId = readGenerationId(answerId)
  return generationId?.startsWith('gen-') ? generationId : null
}

/** The id in the headers; the id in the body may differ, and is not read here. */
export function generationIdOf(headers: IncomingHttpHeaders): string | null {
  return readGenerationId(headers['x-generation-id'])
}
