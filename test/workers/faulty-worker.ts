import { parentPort, workerData } from 'node:worker_threads'
import { runWorker } from '../../src/app/run-worker.ts'
import { CRASHES } from './crashes.ts'

// A worker with a bug, which shows when the test says so.
if (parentPort !== null) {
  const crashes = new BroadcastChannel(CRASHES)
  crashes.onmessage = ({ data }) => {
    if (data === workerData.instanceId) throw new Error('a bug of the test')
  }
  await runWorker(parentPort, workerData)
}
