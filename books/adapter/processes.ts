import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readdirSync, readFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { listen } from '../provider/provider.ts'

/** A shell command that runs, as the leader of a process group. */
export type Running = ReturnType<typeof launch>

const STOP_MS = 30_000
const running = new Set<number>()
process.on('exit', () => {
  for (const pid of running) killGroup(pid, 'SIGKILL')
})

/** The file of a folder that has what its commands print. */
export const LOG = 'gateway.log'

/** Starts a command in a folder. */
export function launch(command: string, cwd: string, more: NodeJS.ProcessEnv) {
  const env = { ...process.env, ...more }
  const log = openSync(join(cwd, LOG), 'a')
  const child = spawn(command, {
    shell: true,
    cwd,
    env,
    detached: true,
    stdio: ['ignore', log, log],
  })
  const { pid = 0 } = child
  running.add(pid)
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null
  return {
    pid,
    /** Whether it has ended. */
    isOver,
    /** Sends a signal to the group, and resolves when it has ended. */
    async stop(signal: NodeJS.Signals): Promise<void> {
      killGroup(pid, signal)
      const startedAt = Date.now()
      while (groupOf(pid).length > 0 || !isOver()) {
        if (Date.now() - startedAt > STOP_MS) killGroup(pid, 'SIGKILL')
        await sleep(20)
      }
      running.delete(pid)
    },
  }
}

/** Runs a command to its end and returns what it prints. Rejects with its words where it fails. */
export async function runCommand(command: string, dir: string): Promise<string> {
  // Not at once: the command may talk to a database through the relay of this process.
  const ran = promisify(execFile)('/bin/sh', ['-c', command], { cwd: dir, maxBuffer: 1e9 })
  return (await ran).stdout
}

function killGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal)
  } catch {
    // It has ended.
  }
}

/** The CPU time, in ticks, of each process of a group that has not ended. */
function groupOf(leader: number): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const isMember = Number(fields[2]) === leader && fields[0] !== 'Z'
      return isMember ? [Number(fields[11]) + Number(fields[12])] : []
    } catch {
      // It ended between the two looks.
      return []
    }
  })
}

/** The CPU time that the processes of a group have used, in microseconds; Linux counts it in ticks of 10,000. */
export const cpuMicrosOf = (leader: number): number =>
  groupOf(leader).reduce((sum, ticks) => sum + ticks * 10_000, 0)

/** A port that no program listens on. */
export async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listen(server)
  await once(server.close(), 'close')
  return port
}

/** A database as a gateway sees it: behind a relay that can be cut. */
export type Store = Awaited<ReturnType<typeof openStore>>

/** Opens a database for one run; of PostgreSQL, a new one on the server of the URL. */
export async function openStore(url: string) {
  const address = new URL(url)
  const isPostgres = address.protocol.startsWith('postgres')
  const port = Number(address.port) || (isPostgres ? 5432 : 6379)
  const target = { host: address.hostname, port }
  const database = `books_${process.pid}_${Date.now()}`
  const tell = async (command: string): Promise<unknown> =>
    isPostgres && runCommand(`psql '${url}' -qc '${command}'`, '.')
  await tell(`create database ${database}`)
  if (isPostgres) address.pathname = `/${database}`
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    pipeline(socket, connect(target), socket, () => open.delete(socket))
  })
  const cut = async (): Promise<void> => {
    const closed = once(server.close(), 'close')
    for (const socket of open) socket.destroy()
    await closed
  }
  const at = await listen(server)
  address.host = `127.0.0.1:${at}`
  return {
    url: address.href,
    /** While it is away, its connections are broken and new ones refused. */
    setAway: (isAway: boolean): Promise<unknown> => (isAway ? cut() : listen(server, at)),
    async close(): Promise<void> {
      if (server.listening) await cut()
      await tell(`drop database ${database} with (force)`)
    },
  }
}
