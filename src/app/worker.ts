import type { ReadinessCheck } from '../http/health.ts'
import { type Gateway, type Siblings, startGateway } from './gateway.ts'
import { openLog } from './log.ts'
import { startFailureOf } from './start-failure.ts'
import { stopSignal } from './wiring.ts'
import type { FromWorker, ToWorker, WorkerStart } from './worker-processes.ts'

// The entry file of a worker process: an ordinary gateway, on a port that it shares with its siblings.

/** The connection of this worker to its parent, and through it to its siblings. */
class Parent implements Siblings {
  readonly #started = Promise.withResolvers<WorkerStart>()
  readonly #stopAsked = Promise.withResolvers<void>()
  #gateway: Gateway | null = null
  #faultsElsewhere: readonly ReadinessCheck[] = []
  #page: PromiseWithResolvers<string> | null = null

  constructor() {
    process.on('message', (message: ToWorker) => void this.#received(message))
    process.on('disconnect', end)
    if (!process.connected) end()
  }

  /** Resolves with what to serve. */
  get started(): Promise<WorkerStart> {
    return this.#started.promise
  }

  /** Resolves when the parent asks for a stop. */
  get stopAsked(): Promise<void> {
    return this.#stopAsked.promise
  }

  /** Says that a gateway listens. */
  serves(gateway: Gateway): void {
    this.#gateway = gateway
    this.#send({ kind: 'serving', address: gateway.address })
  }

  /** Says why no gateway listens. */
  failed(message: string): void {
    this.#send({ kind: 'failed', message })
  }

  /** Lets the process end although its parent is still connected. */
  leave(): void {
    process.channel?.unref()
  }

  metricsPage(): Promise<string> {
    // Concurrent calls share one message to the parent.
    if (this.#page === null) {
      this.#page = Promise.withResolvers<string>()
      this.#send({ kind: 'pageWanted' })
    }
    return this.#page.promise
  }

  faults(): readonly ReadinessCheck[] {
    return this.#faultsElsewhere
  }

  async #received(message: ToWorker): Promise<void> {
    switch (message.kind) {
      case 'start':
        this.#started.resolve(message)
        return
      case 'stop':
        this.#stopAsked.resolve()
        return
      case 'look': {
        this.#faultsElsewhere = message.faults
        const checks = this.#gateway?.ownChecks() ?? []
        this.#send({ kind: 'seen', faults: checks.filter(({ fault }) => fault !== null) })
        return
      }
      case 'metrics': {
        const snapshot = (await this.#gateway?.metrics?.snapshot()) ?? []
        this.#send({ kind: 'metrics', snapshot })
        return
      }
      case 'page':
        this.#page?.resolve(message.page)
        this.#page = null
        return
    }
  }

  #send(message: FromWorker): void {
    // If the parent is gone, its `disconnect` event ends this process; the message does not matter then.
    process.send?.(message, undefined, undefined, () => {})
  }
}

/**
 * Ends this process at once when its parent is gone: nothing would replace it, and the next server would find
 * its port taken. It ends by a signal, since an orderly exit would wait for a log that has no reader any more.
 */
function end(): void {
  process.kill(process.pid, 'SIGKILL')
}

const parent = new Parent()
const { config, configured } = await parent.started
const { log, close } = openLog({ level: config.LOG_LEVEL })
// The parent kills a worker that must end at once. Signals that repeat a stop do not: the first may have been
// sent by hand, and a later one by a service manager to every process of the server.
const stopping = Promise.race([parent.stopAsked, stopSignal(log, 'firstOnly')])
const gateway = await start()
if (gateway !== null) {
  await stopping
  await gateway.close()
}
await close()
parent.leave()

async function start(): Promise<Gateway | null> {
  try {
    const started = await startGateway({ config, configured, log, siblings: parent })
    parent.serves(started)
    return started
  } catch (error) {
    const known = startFailureOf(error, config)
    const stack = error instanceof Error ? error.stack : undefined
    parent.failed(known?.message ?? stack ?? String(error))
    process.exitCode = 1
    return null
  }
}
