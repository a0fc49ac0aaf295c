import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

const ATTACKER_THREAD = new URL('./attacker-thread.ts', import.meta.url)

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

/** Attacks a gateway from a thread of its own, so that it does not slow down the measurement. */
export class Attackers {
  readonly #worker: Worker

  private constructor(worker: Worker) {
    this.#worker = worker
  }

  /** Resolves when all that is sent was made, and the attack begins. */
  static async start(input: AttackerInput): Promise<Attackers> {
    const worker = new Worker(ATTACKER_THREAD, { workerData: input })
    await once(worker, 'message')
    return new Attackers(worker)
  }

  /** Hangs up; resolves with what was answered until then. */
  async stop(): Promise<Answers> {
    const message = once(this.#worker, 'message')
    this.#worker.postMessage('stop')
    const [answers] = await message
    await this.#worker.terminate()
    return answers
  }
}
