import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Probe, Target } from './target.ts'

const PROBER_THREAD = new URL('./prober-thread.ts', import.meta.url)

/** The input of a prober's thread. */
export interface ProberInput {
  readonly address: string
  readonly probe: Probe
}

/** Asks a target something small over and over, from a thread that nothing else keeps busy. */
export class Prober {
  readonly #worker: Worker

  private constructor(worker: Worker) {
    this.#worker = worker
  }

  /** Starts asking, and resolves at the first answer. */
  static async start({ address, probe }: Target): Promise<Prober> {
    const input: ProberInput = { address, probe }
    const worker = new Worker(PROBER_THREAD, { workerData: input })
    await once(worker, 'message')
    return new Prober(worker)
  }

  /** Stops asking; resolves with the longest that an answer took. */
  async stop(): Promise<number> {
    const longest = once(this.#worker, 'message')
    this.#worker.postMessage('stop')
    const [longestMs] = await longest
    await this.#worker.terminate()
    return Number(longestMs)
  }
}
