import { existsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { startProgram } from './child-program.ts'
import { type RunningTarget, targetOf } from './systems.ts'

/** How another gateway is started, and what it wants of a client. */
export interface Peer {
  readonly name: string
  /** A command line for the shell; in it, and in the headers, {@link UPSTREAM} stands for the provider. */
  readonly command: string
  /** Where it will listen. */
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
}

/** Stands for the provider's base address, which ends in `/v1`. */
const UPSTREAM = '{upstream}'

const PORTKEY = join(
  import.meta.dirname,
  'node_modules',
  '@portkey-ai',
  'gateway',
  'build',
  'start-server.js',
)

/** The gateway of bench/package.json; null where it was not installed. */
export async function portkey(): Promise<Peer | null> {
  if (!existsSync(PORTKEY)) return null
  const port = await freePort()
  return {
    name: 'Portkey',
    command: `exec '${process.execPath}' '${PORTKEY}' --headless --port=${port}`,
    address: `http://127.0.0.1:${port}`,
    headers: {
      authorization: 'Bearer bench',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': UPSTREAM,
    },
  }
}

export interface StartPeerInput {
  readonly peer: Peer
  readonly folder: string
  /** Of the simulator, without `/v1`. */
  readonly upstreamAddress: string
}

/** Starts another gateway, and resolves once it takes connections. */
export async function startPeer(input: StartPeerInput): Promise<RunningTarget> {
  const { peer, folder, upstreamAddress } = input
  const filled = (text: string): string => text.replaceAll(UPSTREAM, `${upstreamAddress}/v1`)
  const program = await startProgram({
    command: '/bin/sh',
    args: ['-c', filled(peer.command)],
    folder,
    logFile: join(folder, 'peer.log'),
    findAddress: async () => ((await takesConnections(peer.address)) ? peer.address : null),
  })
  const headers = Object.fromEntries(
    Object.entries(peer.headers).map(([name, value]) => [name, filled(value)]),
  )
  return targetOf({ name: peer.name, program, callers: [headers] })
}

function takesConnections(address: string): Promise<boolean> {
  const { hostname, port } = new URL(address)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const bound = probe.address()
      probe.close(() => resolve(typeof bound === 'object' && bound !== null ? bound.port : 0))
    })
  })
}
