import { once } from 'node:events'
import type { Server } from 'node:net'

/** Has a server listen on a port of this machine that is free. Resolves with the port. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const bound = server.address()
  if (typeof bound !== 'object' || bound === null) throw new Error('a server without a port')
  return bound.port
}
