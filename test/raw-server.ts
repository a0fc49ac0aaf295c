import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { listen } from '../src/vocabulary/testing/listen.ts'

/** A TCP server that a test writes every byte of. */
export interface RawServer {
  readonly port: number
  /** `http://127.0.0.1:<port>/v1`. */
  readonly baseUrl: string
  /** How many connections came so far. */
  readonly connections: number
  /** Drops every connection and stops. */
  close(): Promise<void>
}

/** Starts a server that gives each connection to the test. */
export async function startRawServer(onConnection: (socket: Socket) => void): Promise<RawServer> {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    // A peer that resets is what many tests are about.
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    connections++
    onConnection(socket)
  })
  const port = await listen(server)
  return {
    port,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    get connections() {
      return connections
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Resolves when the peer has closed its side, or the whole connection. Drops what still comes. */
export function peerLeft(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readableEnded || socket.closed) resolve()
    socket.once('end', resolve)
    socket.once('close', () => resolve())
    socket.resume()
  })
}

/** A port that refuses connections. */
export async function refusingPort(): Promise<number> {
  const server = await startRawServer(() => {})
  await server.close()
  return server.port
}

/**
 * Resolves with the first whole request that comes on a connection: its head, and as many bytes of body
 * as it declares. What comes after it is left to others.
 */
export function wholeRequest(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    let lengthWanted: number | null = null
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk)
      length += chunk.length
      lengthWanted ??= wantedBytes(Buffer.concat(chunks))
      if (lengthWanted === null || length < lengthWanted) return
      socket.off('data', onData)
      resolve(Buffer.concat(chunks).toString('latin1'))
    }
    socket.on('data', onData)
  })
}

/** A request of a client for a chat. */
export function posted(body: string): string {
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** A connection that has sent this, until the end of the test. Resets are ignored. */
export function dial({ port }: { readonly port: number }, sent: string | Buffer): Socket {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(sent)
  return socket
}

/** The beginning of an answer that is a stream of chunks. */
export const CHUNKED_STREAM =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'

/** A chunk of such a stream. */
export function chunked(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

/** The beginning of an answer that is a stream until its connection ends. */
export const CLOSED_STREAM =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n'

/** An answer with this body. */
export function answerOf(body: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

/** A provider that answers every request with this and closes. */
export function answering(answer: string | Buffer) {
  return async (socket: Socket): Promise<void> => {
    await wholeRequest(socket)
    socket.end(answer)
  }
}

/** A provider that begins its answer with this, and then leaves the connection to the test. */
export function beginning(...written: readonly (string | Buffer)[]) {
  const { promise: provider, resolve } = Promise.withResolvers<Socket>()
  const upstream = async (socket: Socket): Promise<void> => {
    await wholeRequest(socket)
    for (const part of written) socket.write(part)
    resolve(socket)
  }
  return { upstream, provider }
}

/** How long a request is whose beginning is here; null until its head is whole. */
function wantedBytes(beginning: Buffer): number | null {
  const headEnd = beginning.indexOf('\r\n\r\n')
  if (headEnd === -1) return null
  const head = beginning.toString('latin1', 0, headEnd)
  return headEnd + 4 + Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
}
