import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import type { Catalog } from './catalog.ts'
import { control } from './control.ts'
import { exchange } from './exchange.ts'
import type { Fault } from './faults.ts'
import { DEFAULT_GATE, type Gate } from './gates.ts'
import type { Generations } from './generations.ts'
import type { RecordedRequest } from './recorder.ts'
import { VENDORS, type VendorName } from './vendors.ts'
import { World } from './world.ts'

interface SimulatorInput {
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 0: any free port. */
  readonly port?: number
  /** Whether requests are kept for `requests`, `nextRequest` and `waitFor`. Default true. */
  readonly record?: boolean
  /** Whether `/simulator/…` answers on the port. Default true. */
  readonly control?: boolean
  /** The pace of `sim/paced` if its prompt does not set one. Default 20 events, 50 ms apart. */
  readonly pace?: { readonly events: number; readonly intervalMs: number }
  /** The vendor to play. Default: OpenRouter. */
  readonly vendor?: VendorName
  /** The clock of ids, timestamps and time-of-day prices. Default: the machine's. */
  readonly nowMs?: () => number
}

/** A running stand-in for the upstream. */
export interface Simulator {
  /** Ends in `/v1`. */
  readonly baseUrl: string
  readonly port: number
  /** The rows on sale, which can be replaced or changed. */
  readonly catalog: Catalog
  /** The inferences that ran, for look-ups, and how long they stay unknown. */
  readonly generations: Generations
  /** Every request so far, in the order in which their bodies were read. Empty if not recording. */
  readonly requests: readonly RecordedRequest[]
  /** Adds faults to the script. Throws TypeError for one that is malformed. */
  script(faults: Fault | readonly Fault[]): void
  /** Whether every scripted fault has struck as often as it should; those of `always` never have. */
  readonly isScriptDone: boolean
  /** The gate of this name, at which `hold` faults wait. Default `gate`. */
  gate(name?: string): Gate
  /** The next inference request that no earlier call took. Throws if requests are not recorded. */
  nextRequest(): Promise<RecordedRequest>
  /** The first request, past or to come, that fits. Throws if requests are not recorded. */
  waitFor(predicate: (request: RecordedRequest) => boolean): Promise<RecordedRequest>
  /** Stops listening and drops every connection, so that new ones are refused. */
  refuseConnections(): Promise<void>
  /** Listens again, on the same port. */
  acceptConnections(): Promise<void>
  /** Forgets script, requests, gates, generations and catalog changes. */
  reset(): void
  /** Drops every connection and stops. */
  close(): Promise<void>
}

const DEFAULT_PACE = { events: 20, intervalMs: 50 }

/** Starts a simulator and resolves once it listens. */
export async function startSimulator(input: SimulatorInput = {}): Promise<Simulator> {
  const { host = '127.0.0.1', record = true } = input
  const world = new World({
    isRecording: record,
    pace: input.pace ?? DEFAULT_PACE,
    nowMs: input.nowMs ?? Date.now,
    vendor: input.vendor === undefined ? null : VENDORS[input.vendor],
  })
  const server = serverOf(world, input.control ?? true)
  const port = await listen(server, host, input.port ?? 0)
  const authority = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  const mustRecord = (): void => {
    if (!record) throw new Error('this simulator does not record requests')
  }
  let letGoOfPort = (): void => {}
  return {
    baseUrl: `http://${authority}/v1`,
    port,
    catalog: world.catalog,
    generations: world.generations,
    requests: world.recorder.requests,
    script: (faults) => world.script.add(faults),
    get isScriptDone() {
      return world.script.isEmpty
    },
    gate: (name = DEFAULT_GATE) => world.gates.gate(name),
    async nextRequest() {
      mustRecord()
      return world.recorder.next()
    },
    async waitFor(predicate) {
      mustRecord()
      return world.recorder.waitFor(predicate)
    },
    async refuseConnections() {
      await stop(server)
      letGoOfPort()
      letGoOfPort = await keepPort({ host, port })
    },
    async acceptConnections() {
      await listen(server, host, port)
      letGoOfPort()
    },
    reset: () => world.reset(),
    async close() {
      await stop(server)
      letGoOfPort()
    },
  }
}

function serverOf(world: World, hasControl: boolean): Server {
  const server = createServer((request, response) => {
    const answer = hasControl && request.url?.startsWith('/simulator/') ? control : exchange
    answer(world, request, response).catch((error: unknown) => {
      console.error('simulator:', error)
      response.destroy()
    })
  })
  // A benchmark's idle sockets must not be closed under it, and a stalled request is wanted.
  server.keepAliveTimeout = 0
  server.requestTimeout = 0
  server.headersTimeout = 0
  return server
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: 4096 }, () => {
      server.off('error', reject)
      resolve(portOf(server.address()))
    })
  })
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/**
 * Keeps a port at which nothing listens: clients that connect are refused, and the system gives the port to no other
 * server, as it else does with one that it has named itself. The returned function lets go of it.
 */
async function keepPort({
  host,
  port,
}: {
  readonly host: string
  readonly port: number
}): Promise<() => void> {
  // A connection has the port at its own end. It goes to a server that is there for nothing else.
  const peer = createTcpServer((socket) => socket.on('error', () => {}))
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
