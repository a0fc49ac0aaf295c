import { createClient, http, rpcSchema } from 'viem'

/** A question to a node, as JSON-RPC has it. */
export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/** A node of the chain. It may be away, behind, or lie. */
export interface ChainNode {
  /** Its host, for logs and metrics: its whole address may hold a key. */
  readonly name: string
  /**
   * Asks everything in one HTTP request, because behind a balancer another request may reach another node.
   * Answers in the order of the calls; rejects if one of them failed.
   */
  ask(calls: readonly RpcCall[]): Promise<readonly unknown[]>
}

/** A node did not answer a question, or its answer is impossible. */
export class NodeFailure extends Error {
  override readonly name = 'NodeFailure'
}

type AnyCall = [{ Method: string; Parameters: readonly unknown[]; ReturnType: unknown }]

const BATCH_CALLS_MAX = 10_000
const ASK_MS_MAX = 10_000
const ANSWER_BYTES_MAX = 32 * 1024 * 1024
const CAUSE_CHARS_MAX = 200

/** A node behind an HTTP address. No question is repeated: the watch looks again. */
export function httpNode({ url }: { readonly url: string }): ChainNode {
  const name = new URL(url).host
  const client = createClient({
    rpcSchema: rpcSchema<AnyCall>(),
    transport: http(url, {
      batch: { wait: 0, batchSize: BATCH_CALLS_MAX },
      retryCount: 0,
      timeout: ASK_MS_MAX,
      fetchFn: fetchBounded,
    }),
  })
  return {
    name,
    async ask(calls) {
      try {
        return await Promise.all(
          calls.map(({ method, params }) => client.request({ method, params })),
        )
      } catch (cause) {
        // Messages of the client name the whole address, and so the key in it.
        // biome-ignore lint/style/useErrorCause: a cause would be logged with the address.
        throw new NodeFailure(
          `${name}: ${causeOf(cause).replaceAll(url, name).slice(0, CAUSE_CHARS_MAX)}`,
        )
      }
    },
  }
}

/** The cause of a failure, without the address, the question and the node's own words, which may repeat its key. */
function causeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'failed'
  // The client adds these two fields.
  const { name, details, code }: Error & { details?: unknown; code?: unknown } = cause
  if (typeof code === 'number') return `${name}, code ${code}`
  // An error of JSON names the text that it met.
  if (cause.cause instanceof SyntaxError) return `${name}, the answer is not JSON`
  // These two come from `fetchBounded` or the connection.
  const isOwn = name === 'HttpRequestError' || name === 'TimeoutError'
  return isOwn && typeof details === 'string' ? `${name}, ${details}` : name
}

/** Reads a good answer whole, and gives up on one that would fill the memory. */
async function fetchBounded(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: 'error' })
  const { ok, status, headers } = response
  if (!ok) {
    await response.body?.cancel()
    throw new Error(`status ${status}`)
  }
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    if (bytes > ANSWER_BYTES_MAX) throw new Error('the answer is too large')
    parts.push(part)
  }
  return new Response(Buffer.concat(parts), { status, headers })
}
