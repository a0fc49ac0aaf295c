import type { IncomingHttpHeaders } from 'node:http'

// Long enough for any real id, short enough to store and to ask for again.
const GENERATION_ID = /^[\x21-\x7e]{1,200}$/

/** The generation id that the upstream gives in a header, whatever the body calls the answer. */
export function generationIdOf(headers: IncomingHttpHeaders): string | null {
  const value = headers['x-generation-id']
  return typeof value === 'string' && GENERATION_ID.test(value) ? value : null
}
