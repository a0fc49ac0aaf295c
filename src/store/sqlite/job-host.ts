import { fork } from 'node:child_process'
import { flushCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import {
  MessageChannel,
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  Worker,
  workerData,
} from 'node:worker_threads'

interface HostInput {
  /** The file that the host runs. */
  readonly entry: URL
  /** The value that the host begins with, at {@link serveHost}. For a process it must be JSON. */
  readonly startWith: unknown
  readonly onMessage: (message: unknown) => void
  /** Called once, after the last message. `cause`: the error that ended it; null: it ended on its own. */
  readonly onExit: (cause: string | null) => void
}

/** A thread or process that does the work of one connection. */
export interface JobHost {
  post(message: unknown): void
  /**
   * Hands over the messages that have arrived from a thread. A busy event loop would deliver them only in its next turn.
   * Does nothing for a process, whose messages come only through the event loop.
   */
  takeMessages(): void
  /** Ends it: a thread between two statements, a process at once. */
  kill(): void
}

/** The value that a thread of this process begins with, and whether the thread stays for another line. */
interface ThreadStart {
  readonly startWith: unknown
  readonly isKept: boolean
  /** The thread's end of the line. */
  readonly port: MessagePort
}

/** A thread, with this side's end of its line. */
interface LinedThread {
  readonly worker: Worker
  readonly port: MessagePort
}

// The last message of a line of jobs whose thread stays.
const THREAD_IS_IDLE = 'idle'

const idleThreads = new Map<string, LinedThread[]>()
let idleThreadsMax = 0

/**
 * Lets threads that have closed their connection stay and begin with the next one of their file, so many of each file:
 * starting a thread and loading its code costs as much as hundreds of statements. Default none, which is right for a
 * server: it opens its connections once.
 */
export function keepThreads(threadsMax: number): void {
  idleThreadsMax = threadsMax
}

/** Starts a thread of this process, or lets one that has stayed begin again. */
export function startThread({ entry, startWith, onMessage, onExit }: HostInput): JobHost {
  const thread = takeIdleThread(entry, startWith) ?? newThread(entry, startWith)
  const { worker, port } = thread
  let cause: string | null = null
  const fail = (error: Error): void => {
    cause = error.message
  }
  const takeMessages = (): void => {
    for (;;) {
      const taken = receiveMessageOnPort(port)
      if (taken === undefined) return
      hear(taken.message)
    }
  }
  const end = (): void => {
    port.off('message', hear)
    worker.off('error', fail).off('exit', exit)
    onExit(cause)
  }
  const exit = (): void => {
    // The last messages of the thread can be behind the news of its end.
    takeMessages()
    end()
  }
  const hear = (message: unknown): void => {
    if (message === THREAD_IS_IDLE) {
      end()
      keepThread(entry, thread)
    } else onMessage(message)
  }
  worker.on('error', fail).on('exit', exit)
  port.on('message', hear)
  return {
    post: (message) => port.postMessage(message),
    takeMessages,
    kill: () => void worker.terminate(),
  }
}

function newThread(entry: URL, startWith: unknown): LinedThread {
  const { port1, port2 } = new MessageChannel()
  const worker = new Worker(entry, {
    workerData: { startWith, isKept: idleThreadsMax > 0, port: port2 } satisfies ThreadStart,
    transferList: [port2],
    execArgv: [],
    // The objects of a job are garbage when it is done: a larger young generation would only stay resident.
    resourceLimits: { maxYoungGenerationSizeMb: 12 },
  })
  return { worker, port: port1 }
}

function takeIdleThread(entry: URL, startWith: unknown): LinedThread | undefined {
  const thread = idleThreads.get(entry.href)?.pop()
  thread?.worker.ref()
  thread?.port.postMessage(startWith)
  return thread
}

function keepThread(entry: URL, thread: LinedThread): void {
  const idle = idleThreads.get(entry.href) ?? []
  idleThreads.set(entry.href, idle)
  if (idle.length >= idleThreadsMax) {
    void thread.worker.terminate()
    return
  }
  thread.worker.unref()
  idle.push(thread)
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
    takeMessages() {},
    kill: () => void child.kill('SIGKILL'),
  }
}

/** The line, in the host, to the process or thread that started it. */
interface HostLine {
  onMessage(listener: (message: unknown) => void): void
  post(message: unknown): void
  /** Closes the line, after which nothing is posted. A host without one ends on its own. */
  close(): void
}

/**
 * The host's side. Begins with the value that the host was started with; a thread that stays begins again, with
 * another value and another line. Throws in a process that is not a host.
 */
export function serveHost(begin: (startWith: unknown, line: HostLine) => void): void {
  if (parentPort === null) serveInProcess(begin)
  else serveInThread(begin)
}

function serveInThread(begin: (startWith: unknown, line: HostLine) => void): void {
  const { startWith, isKept, port }: ThreadStart = workerData
  let listen: ((message: unknown) => void) | null = null
  const line: HostLine = {
    onMessage: (listener) => {
      listen = listener
    },
    post: (message) => port.postMessage(message),
    close() {
      listen = null
      if (!isKept) {
        port.close()
        return
      }
      // It ends with its process, too suddenly to keep its compiled code.
      flushCompileCache()
      port.postMessage(THREAD_IS_IDLE)
    },
  }
  port.on('message', (message) => {
    if (listen === null) begin(message, line)
    else listen(message)
  })
  begin(startWith, line)
}

function serveInProcess(begin: (startWith: unknown, line: HostLine) => void): void {
  if (process.send === undefined) throw new Error('a store host is started by its server')
  // The server gets the same signals, and ends its hosts once it no longer needs them.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
  process.on('disconnect', () => process.exit())
  begin(JSON.parse(process.argv[2] ?? 'null'), {
    onMessage: (listener) =>
      void process.on('message', (sent: { readonly message: unknown }) => listener(sent.message)),
    post: (message) => void process.send?.(message),
    close: () => process.disconnect(),
  })
}
