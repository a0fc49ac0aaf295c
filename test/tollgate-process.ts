import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { MemoryLog } from './memory-log.ts'

const ROOT = join(import.meta.dirname, '..')
const LAUNCHER = join(ROOT, 'bin', 'tollgate.js')

// Half of what a start costs is compiling the same files as the start before.
const CHECKOUT_CACHE = join(ROOT, 'node_modules', '.cache', 'tollgate-tests')

export interface RunInput {
  readonly folder: string
  /** Over an environment that says nothing of tollgate. */
  readonly env?: Readonly<Record<string, string>>
  /** The file that Node runs, in its own folder; default: the launcher of the checkout. */
  readonly program?: string
  /** Ends the process when it is aborted. */
  readonly signal?: AbortSignal
  /** The signal that ends it then. Default SIGKILL. */
  readonly endsBy?: NodeJS.Signals
  /** Off: a server starts without the page, with a fifth less work. Default: the setting's. */
  readonly page?: 'off'
  /** Whether the pipe of its standard error ends at once: a server has no greeting then. Default: no. */
  readonly endsNotes?: boolean
}

/** The result of a finished command. */
export interface Finished {
  readonly code: number | null
  readonly out: string
  readonly notes: string
}

/** A `tollgate serve` in its own process. */
export interface ServeProcess {
  readonly address: string
  readonly pid: number
  /** Everything it wrote to standard error until it served. */
  readonly greeting: string
  /** Resolves with the first log line that has a text in it, from the start or to come. */
  logged(text: string): Promise<string>
  /** Stops reading its log, like a pipe that ends. */
  closeOutput(): void
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
  input.signal?.addEventListener('abort', () => child.kill(input.endsBy ?? 'SIGKILL'))
  await once(child, 'close')
  return { code: child.exitCode, out, notes }
}

/** Starts `tollgate serve` and resolves when it serves. Rejects with its output if it ends before. */
export async function serve(input: RunInput): Promise<ServeProcess> {
  const child = start(['serve'], { ...input, env: { PORT: '0', ...input.env } })
  const ended = once(child, 'exit')
  let greeting = ''
  child.stderr?.on('data', (chunk) => {
    greeting += String(chunk)
  })
  if (input.endsNotes === true) child.stderr?.destroy()
  const log = new MemoryLog()
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => log.write(line))
  }
  const closed = once(child, 'close').then(() => null)
  const served = await Promise.race([log.logged('"msg":"serving"'), closed])
  if (served === null) throw new Error(`tollgate serve ended: ${greeting}`)
  // The greeting was written before that line, to another pipe. The first turn may end before that pipe is looked at.
  for (const _ of [1, 2]) await new Promise((resolve) => setImmediate(resolve))
  return {
    address: JSON.parse(served).address,
    pid: child.pid ?? 0,
    get greeting() {
      return greeting
    },
    logged: (text) => log.logged(text),
    closeOutput: () => void child.stdout?.destroy(),
    signal: (signal) => void child.kill(signal),
    async stop(signal) {
      child.kill(signal)
      await ended
      return { code: child.exitCode, signal: child.signalCode }
    },
  }
}

/** Sends a short chat to a gateway by a key, with these fields of its body. */
export function chatAt(
  { address }: Pick<ServeProcess, 'address'>,
  apiKey: string,
  fields: object = {},
): Promise<Response> {
  return fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sim/text',
      messages: [{ role: 'user', content: 'Hi' }],
      ...fields,
    }),
  })
}

/** The key that a server made at its first start, from its greeting. */
export function firstKey({ greeting }: Pick<ServeProcess, 'greeting'>): string {
  return /sk-tollgate-[A-Za-z0-9]+/.exec(greeting)?.[0] ?? ''
}

/** Whether there is a process of this id. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function start(
  args: readonly string[],
  { folder, program = LAUNCHER, page, env = {} }: RunInput,
): ChildProcess {
  const { PATH = '' } = process.env
  return spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: {
      PATH,
      NODE_COMPILE_CACHE: compileCacheOf(program),
      ...(page === undefined ? {} : { TOLLGATE_PAGE: page }),
      ...env,
    },
  })
}

/** The compiled code of a program that a test deletes is deleted with it. */
function compileCacheOf(program: string): string {
  return program === LAUNCHER ? CHECKOUT_CACHE : join(dirname(program), 'compiled')
}
