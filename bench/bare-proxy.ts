import { createServer } from 'node:http'
import { type Dispatcher, Pool } from 'undici'

/*
 * The smallest proxy between a client and its provider, which everything is compared with:
 * read the body, parse it, send the same bytes on, relay the answer. No keys, no money, no checks, no
 * back-pressure. `node bench/bare-proxy.ts <base URL ending in /v1>` prints its address when it listens.
 */
const upstream = new URL(process.argv[2] ?? '')
const pool = new Pool(upstream.origin, { connections: null, pipelining: 1 })

const server = createServer((clientRequest, clientResponse) => {
  const chunks: Buffer[] = []
  clientRequest.on('data', (chunk: Buffer) => chunks.push(chunk))
  clientRequest.on('end', () => {
    const body = Buffer.concat(chunks)
    const parsed: unknown = JSON.parse(body.toString())
    if (typeof parsed !== 'object' || parsed === null || !('model' in parsed)) {
      clientResponse.writeHead(400).end()
      return
    }
    const relay: Dispatcher.DispatchHandler = {
      onRequestStart() {},
      onResponseStart(_, httpStatus, headers) {
        clientResponse.writeHead(httpStatus, relayed(headers))
      },
      onResponseData(_, chunk) {
        clientResponse.write(chunk)
      },
      onResponseEnd() {
        clientResponse.end()
      },
      onResponseError() {
        clientResponse.destroy()
      },
    }
    pool.dispatch(
      {
        method: 'POST',
        path: clientRequest.url ?? '/',
        headers: ['authorization', 'Bearer bare', 'content-type', 'application/json'],
        body,
      },
      relay,
    )
  })
})
server.keepAliveTimeout = 0
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  const bound = server.address()
  if (typeof bound === 'object' && bound !== null) console.log(`http://127.0.0.1:${bound.port}`)
})

function relayed(headers: Readonly<Record<string, string | string[] | undefined>>) {
  const { 'content-type': type, 'content-length': length } = headers
  return {
    ...(typeof type === 'string' && { 'content-type': type }),
    ...(typeof length === 'string' && { 'content-length': length }),
  }
}
