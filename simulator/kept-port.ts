import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'

/** The port of a server that will listen there again. */
interface KeptPortInput {
  readonly host: string
  readonly port: number
}

/**
 * Keeps a port at which nothing listens: clients that connect are refused, and the system gives the port to no other
 * server, as it else does with one that it has named itself. The returned function lets go of it.
 */
export async function keepPort({ host, port }: KeptPortInput): Promise<() => void> {
  // A connection has the port at its own end. It goes to a server that is there for nothing else.
  const peer = createServer((socket) => socket.on('error', () => {}))
  await once(peer.listen(0, host), 'listening')
  // The address is that of a server that listens at a port.
  const { port: peerPort } = peer.address() as AddressInfo
  const keeping = connect({ host, port: peerPort, localAddress: host, localPort: port })
  await once(keeping, 'connect')
  keeping.on('error', () => {})
  return () => {
    keeping.resetAndDestroy()
    peer.close()
  }
}
