import { parentPort, workerData } from 'node:worker_threads'
import { runWorker } from './run-worker.ts'

// The entry file of a worker thread.
if (parentPort === null) throw new Error('a worker is started by the main thread')
await runWorker(parentPort, workerData)
