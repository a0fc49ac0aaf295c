import { connect, createServer, type Socket } from 'node:net'

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
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
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
        client.destroy()
        server.end()
      })
    }
    server.pipe(client)
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
  })
  proxy.listen(0, '127.0.0.1')
  await new Promise((resolve) => proxy.once('listening', resolve))
  const bound = proxy.address()
  const url = new URL(databaseUrl)
  url.port = String(bound !== null && typeof bound !== 'string' ? bound.port : 0)
  return {
    url: url.href,
    severAfter: (text) => {
      severing = { text, when: 'after' }
    },
    severBefore: (text) => {
      severing = { text, when: 'before' }
    },
    stallAfter: (text, onStalled) => {
      severing = { text, when: 'stall', onStalled }
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
