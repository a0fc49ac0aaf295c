import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { openSync, readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A shell command that runs, as the leader of a process group. */
export interface Running {
  readonly pid: number
  /** Whether it has ended. */
  isOver(): boolean
  /** Sends a signal to the group, and resolves when it has ended. */
  stop(signal: NodeJS.Signals): Promise<void>
}

const STOP_MS = 30_000
const running = new Set<number>()
process.on('exit', () => {
  for (const pid of running) killGroup(pid, 'SIGKILL')
})

/** Starts a command in a folder; what it prints is added to a file. */
export function launch(
  command: string,
  where: { dir: string; log: string; env?: NodeJS.ProcessEnv },
): Running {
  const log = openSync(where.log, 'a')
  const child: ChildProcess = spawn('/bin/sh', ['-c', command], {
    cwd: where.dir,
    env: { ...process.env, ...where.env },
    detached: true,
    stdio: ['ignore', log, log],
  })
  const pid = child.pid ?? 0
  running.add(pid)
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null
  return {
    pid,
    isOver,
    async stop(signal) {
      killGroup(pid, signal)
      const startedAt = Date.now()
      while (groupOf(pid).length > 0) {
        if (Date.now() - startedAt > STOP_MS) killGroup(pid, 'SIGKILL')
        await sleep(20)
      }
      while (!isOver()) await sleep(5)
      running.delete(pid)
    },
  }
}

/** Runs a command to its end and returns what it prints. Throws with its words where it fails. */
export function runCommand(command: string, dir: string, env: NodeJS.ProcessEnv = {}): string {
  const options = { cwd: dir, env: { ...process.env, ...env }, maxBuffer: 1e9 }
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', command], options)
  if (status !== 0)
    throw new Error(`\`${command}\` ended with ${status}: ${String(stderr).slice(-2_000)}`)
  return String(stdout)
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}

interface Member {
  readonly pid: number
  readonly cpuTicks: number
}

/** The processes of a group that have not ended. Where there is no /proc: none, after the leader's end. */
function groupOf(leader: number): readonly Member[] {
  const members: Member[] = []
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (Number(fields[2]) !== leader || fields[0] === 'Z') continue
      members.push({ pid: Number(name), cpuTicks: Number(fields[11]) + Number(fields[12]) })
    } catch {
      // It ended between the two looks.
    }
  }
  return members
}

const MICROS_PER_TICK = 10_000

/** The CPU time that the processes of a group have used, in microseconds. */
export function cpuMicrosOf(leader: number): number {
  return groupOf(leader).reduce((sum, { cpuTicks }) => sum + cpuTicks * MICROS_PER_TICK, 0)
}

/** A port that no program listens on. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** A database as a gateway sees it: behind a relay that can be cut. */
export interface Store {
  readonly url: string
  /** While it is away, its connections are broken and new ones refused. */
  setAway(isAway: boolean): Promise<void>
  close(): Promise<void>
}

const PORTS: Readonly<Record<string, number>> = {
  'postgres:': 5432,
  'postgresql:': 5432,
  'redis:': 6379,
}

/** Opens a database for one run; of PostgreSQL, a new one on the server of the URL. */
export async function openStore(url: string): Promise<Store> {
  const address = new URL(url)
  const target = {
    host: address.hostname,
    port: Number(address.port) || (PORTS[address.protocol] ?? 0),
  }
  const isPostgres = address.protocol.startsWith('postgres')
  const database = `books_${process.pid}_${Date.now()}`
  if (isPostgres) {
    runCommand(`psql '${url}' -qc 'create database ${database}'`, '.')
    address.pathname = `/${database}`
  }
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    const other = connect(target)
    for (const [one, another] of [
      [socket, other],
      [other, socket],
    ] as const) {
      open.add(one)
      one.on('error', () => another.destroy())
      one.on('close', () => another.destroy() && open.delete(one))
      one.pipe(another)
    }
  })
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))
  const cut = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of open) socket.destroy()
    })
  await listen(0)
  const { port } = server.address() as AddressInfo
  address.host = `127.0.0.1:${port}`
  return {
    url: address.href,
    setAway: (isAway) => (isAway ? cut() : listen(port)),
    async close() {
      if (server.listening) await cut()
      if (isPostgres) runCommand(`psql '${url}' -qc 'drop database ${database} with (force)'`, '.')
    },
  }
}
