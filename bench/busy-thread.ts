import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Probe } from './target.ts'

/** The input of an attacker's thread. */
export interface AttackerInput {
  readonly address: string
  /** Names of attacks, each with the key that it is sent with. */
  readonly attacks: readonly { readonly name: string; readonly apiKey: string }[]
  /** The most connections of one attack. */
  readonly connectionsMax: number
}

/** How often each attack was answered how: by a status, or by how the connection ended without one. */
export type Answers = Record<string, Record<string, number>>

/** The input of a prober's thread. */
export interface ProberInput {
  readonly address: string
  readonly probe: Probe
}

/**
 * Work that continues until it is stopped, in a separate thread, so that it and the measurement don't wait for each
 * other.
 */
export class BusyThread<Result> {
  readonly #worker: Worker

  private constructor(worker: Worker) {
    this.#worker = worker
  }

  /** Attacks a gateway. Resolves when all that is sent was made, and the attack begins. */
  static attack(input: AttackerInput): Promise<BusyThread<Answers>> {
    return BusyThread.#start(new URL('./attacker-thread.ts', import.meta.url), input)
  }

  /** Asks a target something small over and over, and resolves at the first answer. The result: the longest that one took. */
  static probe({ address, probe }: ProberInput): Promise<BusyThread<number>> {
    return BusyThread.#start(new URL('./prober-thread.ts', import.meta.url), { address, probe })
  }

  static async #start<Result>(file: URL, workerData: unknown): Promise<BusyThread<Result>> {
    const worker = new Worker(file, { workerData })
    await once(worker, 'message')
    return new BusyThread<Result>(worker)
  }

  /** Stops it; resolves with its result until then. */
  async stop(): Promise<Result> {
    const message = once(this.#worker, 'message')
    this.#worker.postMessage('stop')
    const [result] = await message
    await this.#worker.terminate()
    return result
  }
}
