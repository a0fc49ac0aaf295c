import { connect, createServer, type Server, type Socket } from 'node:net'
import { listen } from '../../vocabulary/testing/listen.ts'

/** A proxy to a PostgreSQL server that breaks connections on demand. */
export interface SeveringProxy {
  /** The database, by this way. */
  readonly url: string
  /** Lets the next bytes with this text in them through to the server, and nothing back: it hangs up. */
  severAfter(text: string): void
  /** Hangs up on both when the next bytes with this text in them come, and lets none of them through. */
  severBefore(text: string): void
  /** Lets the next bytes with this text in them through, and nothing back on that connection: silence. */
  stallAfter(text: string, onStalled?: () => void): void
  /** Closes all connections, and leads new ones to the server of this database. */
  to(databaseUrl: string): void
  /** Lets no more bytes through on any connection, old or new, and closes none; until `speak`. */
  silence(): void
  speak(): void
  /** Closes all connections, and new ones until it is open again. */
  shut(): void
  open(): void
  close(): Promise<void>
}

interface Severing {
  readonly text: string
  readonly when: 'before' | 'after' | 'stall'
  readonly onStalled?: (() => void) | undefined
}

/** Starts a proxy in front of the server of a database. */
export async function startSeveringProxy(databaseUrl: string): Promise<SeveringProxy> {
  let target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  /** From the client's side to the server's. */
  const pairs = new Map<Socket, Socket>()
  let isSilent = false
  let severing: Severing | null = null
  let isOpen = true
  const proxy = createServer((client) => {
    if (!isOpen) {
      client.destroy()
      return
    }
    const server = connect(Number(target.port), target.hostname)
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        pairs.delete(client)
        client.destroy()
        server.end()
      })
    }
    pairs.set(client, server)
    if (!isSilent) server.pipe(client)
    client.on('data', (bytes) => {
      if (severing === null || !bytes.includes(severing.text)) {
        server.write(bytes)
        return
      }
      const { when, onStalled } = severing
      severing = null
      if (when === 'stall') {
        server.unpipe(client)
        server.write(bytes)
        onStalled?.()
        return
      }
      if (when === 'after') server.end(bytes)
      client.destroy()
    })
    if (isSilent) client.pause()
  })
  return {
    url: await listening(proxy, databaseUrl),
    severAfter: (text) => {
      severing = { text, when: 'after' }
    },
    severBefore: (text) => {
      severing = { text, when: 'before' }
    },
    stallAfter: (text, onStalled) => {
      severing = { text, when: 'stall', onStalled }
    },
    to(nextUrl) {
      target = new URL(nextUrl)
      for (const socket of sockets) socket.destroy()
    },
    silence() {
      isSilent = true
      for (const [client, server] of pairs) {
        client.pause()
        server.unpipe(client)
      }
    },
    speak() {
      isSilent = false
      for (const [client, server] of pairs) {
        server.pipe(client)
        client.resume()
      }
    },
    shut() {
      isOpen = false
      for (const socket of sockets) socket.destroy()
    },
    open() {
      isOpen = true
    },
    async close() {
      const closed = new Promise((resolve) => proxy.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** By position: listens, and resolves with the database's address by this way. */
async function listening(proxy: Server, databaseUrl: string): Promise<string> {
  const url = new URL(databaseUrl)
  url.port = String(await listen(proxy))
  return url.href
}
