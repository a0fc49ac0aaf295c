import { spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { sumOf } from '../json.ts'
import { listen } from '../provider/provider.ts'

const STOP_MS = 30_000
const undoings = new Set<() => void>()
process.on('exit', () => {
  for (const undo of [...undoings].reverse()) undo()
})

/** Has something undone when this process ends, the last first, or before by what is returned. Throws nothing. */
export function undoAtEnd(undo: () => void): () => void {
  undoings.add(undo)
  return () => void (undoings.delete(undo) && undo())
}

/** The file of a folder that has what its commands print. */
export const LOG = 'gateway.log'

const GROUP = { shell: true, detached: true } as const

/** Starts a shell command in a folder, as the leader of a process group. */
export function launch(command: string, cwd: string, more: NodeJS.ProcessEnv) {
  const log = openSync(join(cwd, LOG), 'a')
  const env = { ...process.env, ...more }
  const child = spawn(command, { ...GROUP, cwd, env, stdio: ['ignore', log, log] })
  closeSync(log)
  const { pid = 0 } = child
  const kill = undoAtEnd(() => killGroup(pid, 'SIGKILL'))
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null
  return {
    pid,
    isOver,
    /** Sends a signal to the group, and resolves when it has ended. */
    async stop(signal: NodeJS.Signals): Promise<void> {
      killGroup(pid, signal)
      const startedAt = Date.now()
      while (groupOf(pid).length > 0 || !isOver()) {
        if (Date.now() - startedAt > STOP_MS) killGroup(pid, 'SIGKILL')
        await sleep(20)
      }
      kill()
    },
  }
}

/** Runs a command to its end and returns what it prints. Rejects with its words where it fails. */
export async function runCommand(command: string, cwd: string): Promise<string> {
  const child = spawn(command, { ...GROUP, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = undoAtEnd(() => killGroup(child.pid ?? 0, 'SIGKILL'))
  const printed = [text(child.stdout), text(child.stderr)]
  const [code] = await once(child, 'close')
  kill()
  const [out = '', words = ''] = await Promise.all(printed)
  if (code === 0) return out
  throw new Error(`${command} ended with ${code}: ${words.slice(-2_000)}`)
}

function killGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    // 0, where it could not be started, is the group of this process.
    if (leader > 0) process.kill(-leader, signal)
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
export const cpuMicrosOf = (leader: number): number => 10_000 * sumOf(groupOf(leader))

/**
 * A port that no program listens on. Systems give it to none that asks for any, so it stays free until its gateway takes
 * it, and while that is stopped.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer()
    const port = await listen(server, randomInt(20_000, 32_000)).catch(() => null)
    if (port === null) continue
    await once(server.close(), 'close')
    return port
  }
}

/** Opens a database for one run, behind a relay that can be cut; of PostgreSQL, a new one on the server of the URL. */
export async function openStore(url: string) {
  const address = new URL(url)
  const isPostgres = address.protocol.startsWith('postgres')
  const port = Number(address.port) || (isPostgres ? 5432 : 6379)
  const target = { host: address.hostname, port }
  const database = `books_${process.pid}_${Date.now()}`
  const told = (words: string): string => `psql '${url}' -qc '${words}'`
  if (isPostgres) await runCommand(told(`create database ${database}`), '.')
  const drop = undoAtEnd(() => {
    const words = `drop database ${database} with (force)`
    if (isPostgres) spawnSync(told(words), { shell: true, stdio: 'inherit' })
  })
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
  const at = await listen(server, await freePort())
  address.host = `127.0.0.1:${at}`
  return {
    url: address.href,
    /** While it is away, its connections are broken and new ones refused. */
    setAway: (isAway: boolean): Promise<unknown> => (isAway ? cut() : listen(server, at)),
    async close(): Promise<void> {
      if (server.listening) await cut()
      drop()
    },
  }
}
