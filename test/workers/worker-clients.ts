import { Client } from 'undici'
import type { ServeProcess } from '../tollgate-process.ts'

/** Clients of one worker, each with a connection of its own to it. */
export interface WorkerClients {
  /** The process that answers them. */
  readonly pid: number
  readonly clients: readonly [Client, ...Client[]]
}

export interface ConnectInput {
  /** Of an account with credit that the test does not count. */
  readonly apiKey: string
  /** How many connections to each worker. */
  readonly clients: number
  readonly closing: AsyncDisposableStack
}

const PROBE = '{"model":"sim/text","max_tokens":16,"messages":[{"role":"user","content":"Hi"}]}'

/**
 * Connects until each of two workers has so many connections: the system decides which worker has a
 * connection, and the log line of a request says which one that was. The workers are in no order.
 */
export async function connectToEach(
  server: ServeProcess,
  { apiKey, clients: wanted, closing }: ConnectInput,
): Promise<[WorkerClients, WorkerClients]> {
  const byPid = new Map<number, Client[]>()
  for (;;) {
    const [one, two] = [...byPid].flatMap(([pid, [first, ...rest]]) =>
      first === undefined || rest.length + 1 < wanted
        ? []
        : [{ pid, clients: [first, ...rest] as const }],
    )
    if (one !== undefined && two !== undefined) return [one, two]
    const client = new Client(server.address, { pipelining: 1 })
    closing.defer(() => client.destroy())
    const { httpStatus, requestId, text } = await post(client, { apiKey, body: PROBE })
    if (httpStatus !== 200) throw new Error(text)
    const { pid }: { pid: number } = JSON.parse(await server.logged(`"requestId":"${requestId}"`))
    byPid.set(pid, [...(byPid.get(pid) ?? []), client])
  }
}

/** An answer, read whole. */
export interface WholeAnswer {
  readonly httpStatus: number
  readonly requestId: string
  readonly text: string
}

export interface PostInput {
  readonly apiKey: string
  readonly body: string
}

/** Sends a chat request on a connection, and reads its answer. */
export async function post(client: Client, { apiKey, body }: PostInput): Promise<WholeAnswer> {
  const answer = await client.request({
    path: '/v1/chat/completions',
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body,
  })
  return {
    httpStatus: answer.statusCode,
    requestId: String(answer.headers['x-request-id']),
    text: await answer.body.text(),
  }
}

/** Reads a page on a connection. */
export async function read(
  client: Client,
  { path, bearer }: { readonly path: string; readonly bearer?: string },
): Promise<Omit<WholeAnswer, 'requestId'>> {
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
  const answer = await client.request({ path, method: 'GET', headers })
  return { httpStatus: answer.statusCode, text: await answer.body.text() }
}

/** What the series of a metrics page whose names begin so add up to. */
export function sumOf(page: string, beginning: string): number {
  const lines = page.split('\n').filter((line) => line.startsWith(beginning))
  if (lines.length === 0) throw new Error(`no series ${beginning}`)
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}
