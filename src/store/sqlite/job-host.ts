import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

interface HostInput {
  /** The file that the host runs. */
  readonly entry: URL
  /** The value that the host gets from `startedWith`. For a process it must be JSON. */
  readonly startWith: unknown
  readonly onMessage: (message: unknown) => void
  /** Called once, after the last message. `cause`: the error that ended it; null: it ended by itself. */
  readonly onExit: (cause: string | null) => void
}

/** A thread or process that does the work of one connection. */
export interface JobHost {
  post(message: unknown): void
  /** Ends it: a thread between two statements, a process at once. */
  kill(): void
}

/** Starts a thread of this process. */
export function startThread({ entry, startWith, onMessage, onExit }: HostInput): JobHost {
  const worker = new Worker(entry, {
    workerData: startWith,
    execArgv: [],
    // The objects of a job are garbage when it is done: a larger young generation would only stay resident.
    resourceLimits: { maxYoungGenerationSizeMb: 12 },
  })
  let cause: string | null = null
  worker.on('message', onMessage)
  worker.on('error', (error: Error) => {
    cause = error.message
  })
  worker.on('exit', () => onExit(cause))
  return {
    post: (message) => worker.postMessage(message),
    kill: () => void worker.terminate(),
  }
}

/** Starts a process: a statement of SQLite that runs in a thread cannot be ended. */
export function startProcess({ entry, startWith, onMessage, onExit }: HostInput): JobHost {
  const child = fork(fileURLToPath(entry), [JSON.stringify(startWith)], {
    execArgv: [],
    // No secret of the server's is another process's to have.
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  let isOver = false
  const end = (cause: string | null): void => {
    if (isOver) return
    isOver = true
    onExit(cause)
  }
  child.on('message', onMessage)
  child.on('error', (error) => end(error.message))
  child.on('exit', () => end(null))
  return {
    // A message that can't be sent is one to a process that has ended.
    post: (message) => void child.send({ message }, () => {}),
    kill: () => void child.kill('SIGKILL'),
  }
}

/** The value that a host was started with, in the host. */
export function startedWith(): unknown {
  return isMainThread ? JSON.parse(process.argv[2] ?? 'null') : workerData
}

/** The line, in the host, to the process or thread that started it. */
interface HostLine {
  onMessage(listener: (message: unknown) => void): void
  post(message: unknown): void
  /** Closes the line; a host without one ends by itself. */
  close(): void
}

/** Opens the line of a host. Throws in a process that is not a host. */
export function openHostLine(): HostLine {
  const thread = parentPort
  if (thread !== null) {
    return {
      onMessage: (listener) => void thread.on('message', listener),
      post: (message) => thread.postMessage(message),
      close: () => thread.close(),
    }
  }
  if (process.send === undefined) throw new Error('a store host is started by its server')
  // The server gets the same signals, and ends its hosts once it no longer needs them.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
  process.on('disconnect', () => process.exit())
  return {
    onMessage: (listener) =>
      void process.on('message', (sent: { readonly message: unknown }) => listener(sent.message)),
    post: (message) => void process.send?.(message),
    close: () => process.disconnect(),
  }
}
