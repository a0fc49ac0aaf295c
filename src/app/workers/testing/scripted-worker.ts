import { parentPort, workerData } from 'node:worker_threads'
import { Line, type LineMessage } from '../line.ts'
import type { AskedOfMain, AskedOfWorker } from '../messages.ts'

/** What a scripted worker is to do wrong. */
export interface Script {
  /** `never`: it ends before it serves. */
  readonly serves: 'well' | 'never'
}

// A worker that serves nobody and does what its script says.
const script: Script = workerData
const port = parentPort
if (port === null || script.serves === 'never') throw new Error('it can not serve')
const line = new Line<AskedOfMain, AskedOfWorker>({
  post: (message, ports) => port.postMessage(message, ports),
  answers: {
    catalog: () => undefined,
    // The news that it crashes at.
    forgetCallers: () => {
      setImmediate(() => {
        throw new Error('it has crashed')
      })
    },
    alive: () => undefined,
    // The news at which its event loop stands still.
    askMaintenance: () => {
      for (;;);
    },
    faults: () => undefined,
    ledgerPort: () => undefined,
    metrics: () => [],
    settled: () => new Promise(() => {}),
    lookForForgotten: () => 1,
    stop: () => undefined,
  },
})
port.on('message', (message: LineMessage<AskedOfMain, AskedOfWorker>) => line.received(message))
line.tell('serving', 'http://127.0.0.1:1')
