import { once } from 'node:events'
import type { Server } from 'node:http'

/** Listens on a free port of the loopback; the address. */
export async function listenOnLoopback(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const at = server.address()
  if (typeof at !== 'object' || at === null) throw new Error('the server has no address')
  return `http://127.0.0.1:${at.port}`
}
