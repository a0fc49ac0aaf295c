import type { ServerResponse } from 'node:http'

interface EndAnswerInput {
  /** The last bytes; null: all was written before. */
  readonly bytes: Buffer | null
  /** A client that takes no byte for this long is gone. */
  readonly stallTimeoutMs: number
}

/**
 * Ends a client's answer. Resolves once the kernel has all of it, or the client is gone: until then it
 * takes memory.
 */
export function endAnswer(
  client: ServerResponse,
  { bytes, stallTimeoutMs }: EndAnswerInput,
): Promise<void> {
  if (bytes === null) client.end()
  else client.end(bytes)
  // What the kernel took at once, as it takes nearly all answers, needs no watch.
  if (client.destroyed || client.writableLength === 0) return Promise.resolve()
  client.setTimeout(stallTimeoutMs, () => client.destroy())
  return clientClosed(client)
}

/** Resolves when the client has been given its whole answer, or has gone. */
export function clientClosed(client: ServerResponse): Promise<void> {
  if (client.closed) return Promise.resolve()
  return new Promise((resolve) => client.once('close', resolve))
}
