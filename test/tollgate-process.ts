import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const ROOT = join(import.meta.dirname, '..')
const LAUNCHER = join(ROOT, 'bin', 'tollgate.js')

// Half of what a start costs is compiling the same files as the start before.
const NODE_COMPILE_CACHE = join(ROOT, 'node_modules', '.cache', 'tollgate-tests')

export interface RunInput {
  readonly folder: string
  /** Over an environment that says nothing of tollgate. */
  readonly env?: Readonly<Record<string, string>>
  /** Kills the process when it is aborted. */
  readonly signal?: AbortSignal
}

/** What a finished command left behind. */
export interface Finished {
  readonly code: number | null
  readonly out: string
  readonly notes: string
}

/** A `tollgate serve` in a process of its own. */
export interface ServeProcess {
  readonly address: string
  /** Everything it wrote to standard error until it served. */
  readonly greeting: string
  /** Sends a signal that does not end it. */
  signal(signal: NodeJS.Signals): void
  /** Sends a signal and resolves with how the process ended. */
  stop(
    signal: NodeJS.Signals,
  ): Promise<{ readonly code: number | null; readonly signal: string | null }>
}

/** Runs one command to its end. */
export async function tollgate(args: readonly string[], input: RunInput): Promise<Finished> {
  const child = start(args, input)
  let out = ''
  let notes = ''
  child.stdout?.on('data', (chunk) => {
    out += String(chunk)
  })
  child.stderr?.on('data', (chunk) => {
    notes += String(chunk)
  })
  input.signal?.addEventListener('abort', () => child.kill('SIGKILL'))
  await once(child, 'close')
  return { code: child.exitCode, out, notes }
}

/** Starts `tollgate serve` and resolves when it serves. Rejects with what it said if it ends before. */
export async function serve(input: RunInput): Promise<ServeProcess> {
  const child = start(['serve'], { ...input, env: { PORT: '0', ...input.env } })
  const ended = once(child, 'exit')
  let greeting = ''
  child.stderr?.on('data', (chunk) => {
    greeting += String(chunk)
  })
  const address = await addressServed(child)
  if (address === null) throw new Error(`tollgate serve ended: ${greeting}`)
  return {
    address,
    get greeting() {
      return greeting
    },
    signal: (signal) => void child.kill(signal),
    async stop(signal) {
      child.kill(signal)
      await ended
      return { code: child.exitCode, signal: child.signalCode }
    },
  }
}

function start(args: readonly string[], { folder, env = {} }: RunInput): ChildProcess {
  const { PATH = '' } = process.env
  return spawn(process.execPath, [LAUNCHER, ...args], {
    cwd: folder,
    env: { PATH, NODE_COMPILE_CACHE, ...env },
  })
}

/** The address in the log line that says it serves; null where the log ends without one. */
async function addressServed(child: ChildProcess): Promise<string | null> {
  if (child.stdout === null) return null
  const lines = createInterface({ input: child.stdout })
  for await (const line of lines) {
    const entry: unknown = JSON.parse(line)
    if (typeof entry !== 'object' || entry === null || !('address' in entry)) continue
    // What it logs from now on is read and dropped, so that its pipe never fills.
    child.stdout.resume()
    return String(entry.address)
  }
  return null
}
