import { parentPort, workerData } from 'node:worker_threads'
import { Problem } from '../../vocabulary/problem.ts'
import { parseJsonBody } from '../body.ts'

// The program of a thread whose heap is limited: bytes are not on it, a tree would be.
try {
  parseJsonBody(Buffer.from(workerData))
  parentPort?.postMessage('parsed')
} catch (error) {
  parentPort?.postMessage(error instanceof Problem ? `${error.code}: ${error.message}` : 'a fault')
}
