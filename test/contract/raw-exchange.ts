import { connect } from 'node:net'

/** One HTTP request, as it is written to a socket. */
interface RawRequest {
  /** The address of the server: `http://127.0.0.1:8787`. */
  readonly origin: string
  readonly path: string
  readonly apiKey: string
  readonly body: object
}

/** Every byte that a server answers to a request until it closes the connection, in latin-1. */
export function rawAnswer({ origin, path, apiKey, body }: RawRequest): Promise<string> {
  const { hostname, port } = new URL(origin)
  const json = JSON.stringify(body)
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: ${hostname}`,
    `authorization: Bearer ${apiKey}`,
    `content-length: ${Buffer.byteLength(json)}`,
    'connection: close',
  ]
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect(Number(port), hostname)
  let bytes = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => {
    bytes += String(chunk)
  })
  // A provider that resets its connection has said all that it will.
  socket.on('error', () => {})
  socket.on('close', () => resolve(bytes))
  socket.write(`${head.join('\r\n')}\r\n\r\n${json}`)
  return promise
}
