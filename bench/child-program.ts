import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { ProcessTree } from './process-tree.ts'

interface StartProgramInput {
  readonly command: string
  readonly args: readonly string[]
  /** Working directory. */
  readonly folder: string
  /** The whole environment, apart from `PATH`. */
  readonly env?: Readonly<Record<string, string>>
  /** The cores, in the syntax of `taskset -c`; absent: those of this process. */
  readonly cores?: string | undefined
  /** The file that its output goes to, so that its pipes need no reader. */
  readonly logFile: string
  /** Finds its address in its output so far; null: not there yet. */
  readonly findAddress: (written: string) => string | null | Promise<string | null>
}

/** A program that listens, in a process of its own. */
export interface ChildProgram {
  readonly address: string
  readonly tree: ProcessTree
  /** Asks it to end and resolves when it has. Rejects where it ends otherwise than asked. */
  stop(): Promise<void>
}

const START_TIMEOUT_MS = 600_000
const LOOK_AGAIN_MS = 20
const LOG_TAIL_CHARS = 2_000

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts a program and resolves when it has written its address. Rejects with its output if it ends. */
export async function startProgram(input: StartProgramInput): Promise<ChildProgram> {
  const { PATH = '' } = process.env
  const output = openSync(input.logFile, 'w')
  const [command = '', ...args] = [
    ...(input.cores === undefined ? [] : ['taskset', '-c', input.cores]),
    input.command,
    ...input.args,
  ]
  const child = spawn(command, args, {
    cwd: input.folder,
    env: { PATH, ...input.env },
    stdio: ['ignore', output, output],
  })
  closeSync(output)
  running.add(child)
  const ended = once(child, 'exit').finally(() => running.delete(child))
  const address = await addressOf(child, input)
  if (child.pid === undefined) throw new Error(`${input.command} has no process`)
  return {
    address,
    tree: new ProcessTree(child.pid),
    async stop() {
      const signalled = child.kill('SIGTERM')
      await ended
      const isAsAsked = child.exitCode === 0 || child.signalCode === 'SIGTERM'
      if (signalled && isAsAsked) return
      const how = child.signalCode ?? `code ${child.exitCode}`
      throw new Error(`${describe(input)} ended with ${how}: ${await tailOf(input.logFile)}`)
    },
  }
}

async function addressOf(child: ChildProcess, input: StartProgramInput): Promise<string> {
  const { logFile, findAddress } = input
  const startedAtMs = performance.now()
  while (child.exitCode === null && child.signalCode === null) {
    const address = await findAddress(await readAll(logFile))
    if (address !== null) return address
    if (performance.now() - startedAtMs > START_TIMEOUT_MS) break
    await delay(LOOK_AGAIN_MS)
  }
  child.kill('SIGKILL')
  throw new Error(`${describe(input)} does not serve: ${await tailOf(logFile)}`)
}

async function readAll(path: string): Promise<string> {
  const file = await open(path)
  try {
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

async function tailOf(path: string): Promise<string> {
  return (await readAll(path)).slice(-LOG_TAIL_CHARS)
}

function describe({ command, args }: StartProgramInput): string {
  return [command, ...args].join(' ')
}
