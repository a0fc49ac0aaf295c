import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { listen } from '../../vocabulary/testing/listen.ts'
import { httpNode, NodeFailure } from './node.ts'

const KEY = 'k3y-of-the-operator'

/** A node that answers every request so, at an address with a key. */
async function nodeAnswering(httpStatus: number, body: string) {
  const server = createServer((_, response) => {
    response.writeHead(httpStatus, { 'content-type': 'application/json' }).end(body)
  })
  const port = await listen(server)
  return {
    node: httpNode({ url: `http://127.0.0.1:${port}/v2/${KEY}` }),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

test.each([
  ['an HTTP error', 401, `unknown key ${KEY}`, 'status 401'],
  ['an error of JSON-RPC', 200, rpcError(`${KEY} is over its limit`), 'code -32005'],
  ['text', 200, `<html>${KEY}</html>`, 'not JSON'],
])(
  "the message of a failure by %s has neither the key nor the node's own text",
  async (_, status, body, said) => {
    await using answering = await nodeAnswering(status, body)
    const failure = await answering.node
      .ask([{ method: 'eth_chainId', params: [] }])
      .catch((cause: unknown) => cause)
    expect(failure).toBeInstanceOf(NodeFailure)
    expect(String(failure)).toContain(said)
    expect(String(failure)).not.toContain(KEY)
  },
)

function rpcError(message: string): string {
  return JSON.stringify([{ jsonrpc: '2.0', id: 0, error: { code: -32005, message } }])
}
