import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { RecordedRequest } from '../../simulator/recorder.ts'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import type { Finished } from '../tollgate-process.ts'
import { startWorld, type TestAccount, type World, type WorldInput } from '../world.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The script that starts the agent. */
    agentProgram: string
    /** Whether sessions of sixty turns are played, in place of short ones. */
    hasLongSessions: boolean
  }
}

/** The surroundings of an agent: a gateway, an account, an empty home, and no network beyond. */
export interface Room {
  readonly world: World
  readonly account: TestAccount
  /** The credit of the account at the start. */
  readonly creditMicros: number
  readonly home: string
  /** The folder that the agent works in. */
  readonly work: string
  /** Addresses other than the gateway's that it tried to reach, as `host:port`. */
  readonly elsewhere: readonly string[]
  /** The hold of each forwarded request, newest first. */
  holdsMicros(): Promise<readonly number[]>
  /** The bodies that the gateway forwarded to an inference path, parsed. */
  forwarded(path: string): readonly ReturnType<typeof JSON.parse>[]
  run(
    argv: readonly [string, ...string[]],
    env: Readonly<Record<string, string>>,
  ): Promise<Finished>
  close(): Promise<void>
}

interface RoomInput {
  readonly creditMicros?: number
  /** The gateway's upstreams, and who plays them. Default: the simulator as OpenRouter. */
  readonly world?: WorldInput
}

/** Opens a room; its account has $10 unless `creditMicros` says otherwise. */
export async function openRoom(input: RoomInput = {}): Promise<Room> {
  const { creditMicros = 10_000_000 } = input
  const world = await startWorld(input.world)
  const account = await world.account({ creditMicros })
  // Where agents expect one: they run programs there, and some write nowhere else.
  const place = mkdtempSync(join(tmpdir(), 'tollgate-room-'))
  const [home, work] = [join(place, 'home'), join(place, 'work')]
  for (const folder of [home, work]) mkdirSync(folder)
  const elsewhere: string[] = []
  const deadEnd = await listenForCalls((host) => elsewhere.push(host))
  const proxy = `http://127.0.0.1:${portOf(deadEnd)}`
  return {
    world,
    account,
    creditMicros,
    home,
    work,
    elsewhere,
    forwarded: (path) => world.simulator.requests.filter(isTo(path)).map(bodyOf),
    async holdsMicros() {
      const { requests } = await listRequests(world.gateway.store.db, { limit: 100 })
      return requests.map(({ backedGrantedMicros }) => backedGrantedMicros)
    },
    run([program, ...args], env) {
      const { PATH = '' } = process.env
      const proxies = { HTTPS_PROXY: proxy, HTTP_PROXY: proxy, NO_PROXY: '127.0.0.1' }
      return finish(program, { args, cwd: work, env: { PATH, HOME: home, ...proxies, ...env } })
    },
    async close() {
      deadEnd.close()
      await world.close()
      rmSync(place, { recursive: true, force: true })
    },
  }
}

/** Every request is settled, nothing is left open, and the charges equal the missing credit of the account. */
export async function expectExactLedger({ world, account, creditMicros }: Room): Promise<void> {
  await world.expectExactLedger()
  const { requests } = await listRequests(world.gateway.store.db, { limit: 100 })
  const charges = requests.map(({ backedChargeMicros }) => backedChargeMicros)
  expect(charges.every((charge) => charge > 0)).toBe(true)
  const spentMicros = charges.reduce<number>((sum, charge) => sum + charge, 0)
  expect(await world.backedBalanceMicros(account.id)).toBe(creditMicros - spentMicros)
}

function isTo(path: string): (request: RecordedRequest) => boolean {
  return (request) => request.path === path
}

function bodyOf({ body }: RecordedRequest): ReturnType<typeof JSON.parse> {
  return JSON.parse(String(body))
}

/** A proxy that notes where it should connect to, and hangs up. */
async function listenForCalls(note: (host: string) => void): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (head) => {
      note(String(head).split(' ')[1] ?? '')
      socket.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function finish(
  program: string,
  { args, cwd, env }: { args: readonly string[]; cwd: string; env: Record<string, string> },
): Promise<Finished> {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let notes = ''
  child.stdout.on('data', (chunk) => {
    out += String(chunk)
  })
  child.stderr.on('data', (chunk) => {
    notes += String(chunk)
  })
  await once(child, 'close')
  return { code: child.exitCode, out, notes }
}
