import { createServer, type Socket } from 'node:net'
import { Client } from 'pg'
import { listen } from '../../vocabulary/testing/listen.ts'

/** A stand-in for a pooler in transaction mode, whose clients all have the same session of the server. */
interface SharingPooler {
  /** The database, by this way. */
  readonly url: string
  close(): Promise<void>
}

// AuthenticationOk, then ReadyForQuery outside of a transaction.
const WELCOME = Buffer.from([...[0x52, 0, 0, 0, 8, 0, 0, 0, 0], ...[0x5a, 0, 0, 0, 5, 0x49]])
const TERMINATE = 0x58

/** Starts one for clients that are never asking at the same time. */
export async function startSharingPooler(databaseUrl: string): Promise<SharingPooler> {
  const session = new Client(databaseUrl)
  session.on('error', () => {})
  await session.connect()
  const server = session.connection.stream
  const clients = new Set<Socket>()
  let asking: Socket | null = null
  server.removeAllListeners('data')
  server.on('data', (bytes: Buffer) => asking?.write(bytes))
  const pooler = createServer((client) => {
    clients.add(client)
    client.on('error', () => {})
    client.once('data', () => {
      client.write(WELCOME)
      client.on('data', (bytes) => {
        asking = client
        // The session stays for the others.
        if (bytes[0] !== TERMINATE) server.write(bytes)
      })
    })
  })
  const url = new URL(databaseUrl)
  url.port = String(await listen(pooler))
  return {
    url: url.href,
    async close() {
      const closed = new Promise((resolve) => pooler.close(resolve))
      for (const client of clients) client.destroy()
      server.destroy()
      await closed
    },
  }
}
