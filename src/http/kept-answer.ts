import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The bytes of an answer that is the same for every client, with the tag that names them. */
export interface KeptAnswer {
  readonly bytes: Buffer
  /** As in `ETag`, quotes included: two answers have the same tag only where they have the same bytes. */
  readonly etag: string
  readonly contentType: string
}

/** Keeps the bytes of an answer. They must not be written to any more. */
export function keptAnswer(bytes: Buffer, contentType = 'application/json'): KeptAnswer {
  // 128 bits of a digest: enough that no two answers ever share them.
  const etag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`
  return { bytes, etag, contentType }
}

/** A client's request, and the reply to it. */
interface KeptExchange {
  readonly request: Pick<FastifyRequest, 'id' | 'headers'>
  readonly reply: FastifyReply
}

/**
 * Sends an answer as it is kept, or 304 to a client that has it already. Clients may keep it too, if
 * they ask each time whether it is still the same.
 */
export function sendKept({ request, reply }: KeptExchange, kept: KeptAnswer): void {
  const { bytes, etag, contentType } = kept
  reply.header('x-request-id', request.id).header('etag', etag).header('cache-control', 'no-cache')
  if (isNamed(etag, request.headers['if-none-match'])) reply.code(304).send()
  else reply.type(contentType).send(bytes)
}

/** Whether `If-None-Match` names a tag. A weak tag counts as its strong one, as RFC 9110 has it for GET. */
function isNamed(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((part) => part.trim().replace(/^W\//, '') === etag)
}
