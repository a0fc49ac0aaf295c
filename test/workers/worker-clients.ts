import { Client } from 'undici'
import { getRequest } from '../../src/ledger/activity/activity.ts'
import type { World } from '../world.ts'

/** Clients of one worker, each with a connection of its own to it. */
export interface WorkerClients {
  /** Whose holds the worker's are. */
  readonly instanceId: string
  readonly clients: readonly [Client, ...Client[]]
}

const PROBE = '{"model":"sim/text","max_tokens":16,"messages":[{"role":"user","content":"Hi"}]}'

/**
 * Connects until each worker has so many connections: the system gives each to whichever it likes, and
 * only a request tells to which. The workers are in no order. Closes with `closing`.
 */
export async function connectToEach(
  world: World,
  { clients: wanted, closing }: { readonly clients: number; readonly closing: DisposableStack },
): Promise<[WorkerClients, WorkerClients]> {
  const { apiKey } = await world.account()
  const byInstance = new Map<string, Client[]>()
  for (;;) {
    const [one, two] = [...byInstance].flatMap(([instanceId, [first, ...rest]]) =>
      first === undefined || rest.length + 1 < wanted
        ? []
        : [{ instanceId, clients: [first, ...rest] as const }],
    )
    if (one !== undefined && two !== undefined) return [one, two]
    const client = new Client(world.gateway.address, { pipelining: 1 })
    closing.defer(() => void client.destroy())
    const instanceId = await probe(world, { client, apiKey })
    byInstance.set(instanceId, [...(byInstance.get(instanceId) ?? []), client])
  }
}

/** Which instance a connection leads to. */
async function probe(
  world: World,
  { client, apiKey }: { readonly client: Client; readonly apiKey: string },
): Promise<string> {
  const answer = await post(client, { apiKey, body: PROBE })
  if (answer.httpStatus !== 200) throw new Error(answer.text)
  const row = await getRequest(world.gateway.store.db, answer.requestId)
  if (row === null) throw new Error(`no request ${answer.requestId}`)
  return row.instanceId
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

/** Asks for something else on a connection. */
export async function ask(
  client: Client,
  input: {
    readonly path: string
    readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH'
    readonly bearer?: string
    readonly body?: string
  },
): Promise<{ readonly httpStatus: number; readonly text: string }> {
  const { path, method = 'GET', bearer, body = null } = input
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
  const answer = await client.request({ path, method, headers, body })
  return { httpStatus: answer.statusCode, text: await answer.body.text() }
}
